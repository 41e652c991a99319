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
from rlprof.source.tensor_lists import TensorOfList, tensor_of_seen_list, tensors_of_lists
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

BESIDE_OTHERS: Final = Range(0.2, 0.97)
"""The same where the line calls something else, too: nobody knows which of them takes how much."""


def detect(profile: Profile) -> Iterable[Finding]:
    tree, whole = profile.steady, profile.critical.wall_us
    lines = UserLines(tree, profile.sources, profile.started_package)
    known = {
        file: statements
        for file, text in profile.sources.items()
        if (statements := tensors_of_lists(text))
    }
    values = Values(profile.values)
    alone: set[int] = set()
    shared: set[int] = set()
    weights: dict[Line, float] = defaultdict(float)
    seen: dict[Line, TensorOfList] = {}
    for node in tree.hot_nodes():
        frame = tree.frame(node)
        # It is done in C: the line's own time.
        us = tree.self_cost(node).wall_us
        if not us or not lines.is_yours(frame):
            continue
        made = known.get(frame.file, {}).get(frame.line)
        for statement in lines.statements(frame) if values.has(frame.file) else ():
            told = tensor_of_seen_list(statement, values.of(frame.file, statement))
            if told is not None:
                is_alone = told.is_alone and len(lines.statements(frame)) == 1
                made = told._replace(is_alone=is_alone)
        if made is None:
            continue
        if not made.is_alone and not made.is_seen and values and us < MIN_SHARE_BESIDE * whole:
            continue
        (alone if made.is_alone else shared).add(node)
        weights[lines.line(node)] += us
        seen[lines.line(node)] = made
    total = sum(weights.values())
    if not whole or total < MIN_SHARE * whole:
        return
    heaviest = heaviest_line(weights)
    each = of_each_step(total, profile.steady_steps)
    yield Finding(
        title=f"a tensor is made of a list, item by item ({short_place(heaviest)})",
        savings=tuple(
            Saving(frozenset(nodes), removable)
            for nodes, removable in ((alone, REMOVABLE), (shared, BESIDE_OTHERS))
            if nodes
        ),
        locations=lines.shown_locations(weights, whole),
        evidence=(
            f"{percent(total / whole)} of the steady time is spent on that line itself{each}",
            f"it is given a list: {seen[heaviest].name}",
        ),
        fix="Make one array first, torch.as_tensor(np.array(items)), or write into an array made once "
        "(buffer[t] = observation) and use torch.from_numpy(buffer).",
        confidence=Confidence.MEASURED,
    )


DETECTOR: Final = Detector(
    id="tensor-from-list",
    name="tensors made of Python lists, item by item",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
