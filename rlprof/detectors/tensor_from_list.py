"""Tensors made of Python lists: torch looks at every item of every row by itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import LinesByPart
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range
from rlprof.model.profile import Profile
from rlprof.source.lines import Line, UserLines
from rlprof.source.tensor_lists import (
    TensorOfList,
    stacked_list,
    tensor_of_seen_list,
    tensors_of_lists,
)
from rlprof.source.values import Values

MIN_SHARE: Final = 0.02
"""Least share of the critical time: twice what a report lists."""

REMOVABLE: Final = calibrated(
    Range(0.75, 0.97),
    unit="part of the line's time",
    source="benchmarks/replacements.py, torch 2.13: of 32 arrays of 4 36 µs and 5.4, of 128 134 "
    "and 16, of 128 arrays of 64 831 and 16",
    date="2026-11-21",
)
"""Part that ``torch.as_tensor(np.array(items))`` saves where the list holds arrays."""

FEW_NUMBERS: Final = 64
"""Numbers of Python's in a list, up to which the call itself takes most of what is left."""

OF_FEW_NUMBERS: Final = calibrated(
    Range(0.3, 0.7),
    unit="part of the line's time",
    source="benchmarks/replacements.py, torch 2.13: of 5 floats 4.2 µs and 2.4, of 16 5.7 and 2.8, of 64 12.6 and 4.1; where dtype is given "
    "3.7, 4.4 and 7.0 in place of the first",
    date="2026-11-30",
)
"""The same of up to as many numbers of Python's."""

OF_NUMBERS: Final = calibrated(
    Range(0.55, 0.9),
    unit="part of the line's time",
    source="benchmarks/replacements.py, torch 2.13: of 128 floats 22.5 µs and 5.2, of 2 048 299 and 43; where dtype is given 12.1 and 134 in "
    "place of the first",
    date="2026-11-30",
)
"""The same of more."""

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


class _LinesOfKind(LinesByPart):
    """The time of the lines of one kind, and what they are given."""

    def __init__(self, profile: Profile, lines: UserLines) -> None:
        super().__init__(profile, lines)
        self.seen: dict[Line, TensorOfList] = {}

    def add_line(self, node: int, us: int, made: TensorOfList) -> None:
        line = self.lines.line(node)
        self.add_part(line, us, [node], _removable(made))
        self.seen[line] = made


def _removable(made: TensorOfList) -> Range:
    part = STACKED if made.is_stacked else REMOVABLE
    if made.plain:
        part = OF_FEW_NUMBERS if made.plain <= FEW_NUMBERS else OF_NUMBERS
    if made.is_alone:
        return part
    return Range(min(part.low, BESIDE_OTHERS.low), min(part.high, BESIDE_OTHERS.high))


def detect(profile: Profile) -> Iterable[Finding]:
    made, stacked = _find(profile)
    if made.is_worth(MIN_SHARE):
        yield _finding(
            made,
            title="a tensor is made of a list, item by item",
            fix="Make one array first, torch.as_tensor(np.array(items, np.float32)), of the type that the tensor is to have, or write into "
            "an array made once (buffer[t] = observation) and use torch.from_numpy(buffer).",
            confidence=Confidence.MEASURED,
        )
    if stacked.is_worth(MIN_SHARE_STACKED):
        yield _finding(
            stacked,
            title="long lists of tensors are put together often",
            fix="Put each list together once, when it is complete, and index the tensor where a part is needed "
            "(in every minibatch, say). Or write rows into an array made once, buffer[t] = row, and use torch.from_numpy(buffer).",
            confidence=Confidence.BOUNDED,
        )


def _find(profile: Profile) -> tuple[_LinesOfKind, _LinesOfKind]:
    """Return the lines that make tensors of lists, and those that put long lists of tensors together."""
    tree, whole, values = profile.steady, profile.critical.wall_us, Values(profile.values)
    lines = UserLines.of(profile)
    known = {
        file: found for file, text in profile.sources.items() if (found := tensors_of_lists(text))
    }
    made, stacked = _LinesOfKind(profile, lines), _LinesOfKind(profile, lines)
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
        (stacked if told.is_stacked else made).add_line(node, us, told)
    return made, stacked


def _finding(
    found: _LinesOfKind,
    *,
    title: str,
    fix: str,
    confidence: Confidence,
) -> Finding:
    several = "those lines themselves" if len(found.weights) > 1 else "that line itself"
    return Finding(
        title=f"{title} ({found.place})",
        savings=found.savings,
        locations=found.locations,
        evidence=(
            found.share_spent(f"on {several}"),
            f"it is given a list: {found.seen[found.heaviest].name}",
        ),
        fix=fix,
        confidence=confidence,
    )


DETECTOR: Final = Detector(
    id="tensor-from-list",
    name="tensors made of Python lists, item by item",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
