"""Tensors made of Python lists: torch looks at every item of every row by itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.lines import Line, UserLines, heaviest_line, short_place
from rlprof.source.tensor_lists import (
    TensorOfList,
    stacked_list,
    tensor_of_seen_list,
    tensors_of_lists,
)
from rlprof.source.values import Values
from rlprof.units import of_each_step, percent

MIN_SHARE: Final = 0.02
"""Least share of the critical time: twice what a report lists."""

REMOVABLE: Final = calibrated(
    Range(0.75, 0.97),
    unit="part of the line's time",
    source="benchmarks/replacements.py, torch 2.13: of 32 arrays of 4 36 µs and 5.4, of 128 134 "
    "and 16, of 128 arrays of 64 831 and 16; of 128 floats 15 and 3.9, of 2 048 210 and 33",
    date="2026-11-21",
)
"""Part that ``torch.as_tensor(np.array(items))`` saves."""

MIN_SHARE_BESIDE: Final = 0.05
"""Least share of the critical time, of a line that calls something else, too, while the list itself was not seen."""

STACKED: Final = calibrated(
    Range(0.5, 0.98),
    unit="part of the lines' time",
    source="benchmarks/replacements.py, torch 2.13: 2 048 tensors of 4 take 217 µs, which all times but the first go; half of two times, "
    "nearly all of many",
    date="2026-11-25",
)
"""Part of putting a long list of tensors together that goes where it is done once."""

MIN_SHARE_STACKED: Final = 0.06
"""Least share of the critical time: once for each rollout it takes less than the steps that the list is of."""

BESIDE_OTHERS: Final = Range(0.2, 0.97)
"""The same where the line calls something else, too: nobody knows which of them takes how much."""


class _LinesOfKind:
    """The lines of one kind, their time, and what they are given."""

    def __init__(self) -> None:
        self.alone: set[int] = set()
        self.shared: set[int] = set()
        """Nodes of lines that call something else, too."""
        self.weights: dict[Line, float] = defaultdict(float)
        self.seen: dict[Line, TensorOfList] = {}

    def add(self, node: int, us: int, line: Line, made: TensorOfList) -> None:
        (self.alone if made.is_alone else self.shared).add(node)
        self.weights[line] += us
        self.seen[line] = made

    @property
    def wall_us(self) -> float:
        return sum(self.weights.values())


def detect(profile: Profile) -> Iterable[Finding]:
    whole = profile.critical.wall_us
    lines = UserLines(profile.steady, profile.sources, profile.started_package)
    made, stacked = _find(profile, lines)
    if whole and made.wall_us >= MIN_SHARE * whole:
        yield _finding(
            profile,
            lines,
            made,
            title="a tensor is made of a list, item by item",
            removable=REMOVABLE,
            fix="Make one array first, torch.as_tensor(np.array(items)), or write into an array made once "
            "(buffer[t] = observation) and use torch.from_numpy(buffer).",
            confidence=Confidence.MEASURED,
        )
    if whole and stacked.wall_us >= MIN_SHARE_STACKED * whole:
        yield _finding(
            profile,
            lines,
            stacked,
            title="long lists of tensors are put together often",
            removable=STACKED,
            fix="Put each list together once, when it is complete, and index the tensor where a part is needed "
            "(in every minibatch, say). Or write rows into an array made once, buffer[t] = row, and use torch.from_numpy(buffer).",
            confidence=Confidence.BOUNDED,
        )


def _find(profile: Profile, lines: UserLines) -> tuple[_LinesOfKind, _LinesOfKind]:
    """Return the lines that make tensors of lists, and those that put long lists of tensors together."""
    tree, whole, values = profile.steady, profile.critical.wall_us, Values(profile.values)
    known = {
        file: found for file, text in profile.sources.items() if (found := tensors_of_lists(text))
    }
    made, stacked = _LinesOfKind(), _LinesOfKind()
    for node in tree.hot_nodes():
        frame = tree.frame(node)
        # It is done in C: the line's own time.
        us = tree.self_cost(node).wall_us
        if not us or not lines.is_yours(frame):
            continue
        told = known.get(frame.file, {}).get(frame.line)
        statements = lines.statements(frame) if values.has(frame.file) else ()
        for statement in statements:
            at = values.of(frame.file, statement)
            seen = tensor_of_seen_list(statement, at) or stacked_list(statement, at)
            if seen is not None:
                told = seen._replace(is_alone=seen.is_alone and len(statements) == 1)
        if told is None:
            continue
        if not told.is_alone and not told.is_seen and values and us < MIN_SHARE_BESIDE * whole:
            continue
        (stacked if told.is_stacked else made).add(node, us, lines.line(node), told)
    return made, stacked


def _finding(
    profile: Profile,
    lines: UserLines,
    found: _LinesOfKind,
    *,
    title: str,
    removable: Range,
    fix: str,
    confidence: Confidence,
) -> Finding:
    whole, heaviest = profile.critical.wall_us, heaviest_line(found.weights)
    each = of_each_step(found.wall_us, profile.steady_steps)
    beside = Range(min(removable.low, BESIDE_OTHERS.low), BESIDE_OTHERS.high)
    several = "those lines themselves" if len(found.weights) > 1 else "that line itself"
    return Finding(
        title=f"{title} ({short_place(heaviest)})",
        savings=tuple(
            Saving(frozenset(nodes), part)
            for nodes, part in ((found.alone, removable), (found.shared, beside))
            if nodes
        ),
        locations=lines.shown_locations(found.weights, whole),
        evidence=(
            f"{percent(found.wall_us / whole)} of the steady time is spent on {several}{each}",
            f"it is given a list: {found.seen[heaviest].name}",
        ),
        fix=fix,
        confidence=confidence,
    )


DETECTOR: Final = Detector(
    id="tensor-from-list",
    name="tensors made of Python lists, item by item",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
