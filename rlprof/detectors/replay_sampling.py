"""Batches put together from single items: replay buffers of Python objects, and DataLoaders over what lies in memory."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from math import prod
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.calls.searched_places import (
    MIN_SHARE,
    searched_places,
    walked_trees,
)
from rlprof.detectors.recognisers.calls.slow_calls import SlowCalls
from rlprof.detectors.recognisers.line_time import SteadySearch
from rlprof.detectors.recognisers.networks.loaded_batches import LoadedBatches
from rlprof.model.calibration import calibrated
from rlprof.model.counters import BATCHES
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import Frame
from rlprof.profile.components import ENVIRONMENT
from rlprof.source.lines import Line, heaviest_line, last_name, short_place
from rlprof.source.old_generators import shuffles_all
from rlprof.source.replay import (
    ReplayLine,
    SamplingPart,
    replay_lines_by_file,
)
from rlprof.source.tensor_lists import tensor_of_seen_list
from rlprof.units import duration, percent

SMALL: Final = calibrated(
    Range(0.6, 0.95),
    unit="part of the sampling",
    source="Python 3.11, numpy 2.4, batches of 32 to 256 of 4 to 16 floats: 80 to 740 µs drawn and "
    "stacked, 23 to 71 indexed; 0.06 to 0.36 was left",
    date="2026-11-21",
)
"""Removed where the observations are small."""

SMALL_TENSORS: Final = calibrated(
    Range(0.7, 0.98),
    unit="part of the sampling",
    source="335 to 3 100 µs before, 0.01 to 0.08 left; up to 0.28 for images",
    date="2026-11-21",
)
"""The same where each transition holds tensors, put together by ``torch.cat``."""

LARGE: Final = calibrated(
    Range(0.1, 0.55),
    unit="part of the sampling",
    source="images of 84 x 84 floats: 0.48 to 0.9 was left",
    date="2026-11-21",
)
"""The same for images, whose bytes are copied anyhow."""

UNKNOWN_SIZE: Final = Range(0.1, 0.95)

ITEM_BY_ITEM: Final = calibrated(
    Range(0.75, 0.99),
    unit="part of the lines' time",
    source="benchmarks/replacements.py, torch 2.13: made of one array first 0.02 to 0.15 is left of it; indexed, less",
    date="2026-11-25",
)
"""The same where a tensor is made of a list of arrays, item by item."""

LOOPED: Final = calibrated(
    Range(0.85, 0.98),
    unit="part of the loop's time",
    source="benchmarks/replacements.py, numpy 2.4: of 32 rows of 4 numbers 0.12 is left, of 256 of 4 or 64 0.03, of 64 images of "
    "84 x 84 0.88",
    date="2026-11-23",
)
"""Part of a loop over the rows of a batch that goes where all are indexed at once, of rows that are no images."""

LONG_ROW: Final = 2_048
"""Numbers from which on the bytes of a row are copied anyhow."""

PERMUTED: Final = calibrated(
    Range(0.6, 0.99),
    unit="part of the drawing",
    source="choice(n, 64, replace=False): 27 µs for an n of 1 000, 1 470 for 100 000; drawing with "
    "replacement takes 9",
    date="2026-11-21",
)
"""Part that goes where all indices are shuffled for the few that are drawn."""

GATHERED_OVER_DRAWN: Final = calibrated(
    12.0,
    unit="times the drawing",
    source="drawing takes 0.4 µs each; stacking 1 to 8 times that for up to 16 floats, 16 to 130 "
    "times for images",
    date="2026-11-21",
)
"""Time to stack a batch over that of drawing it, up to which its observations are small: drawing takes as
long whatever is drawn, and so is the clock."""

TENSORS_OVER_DRAWN: Final = calibrated(
    40.0,
    unit="times the drawing",
    source="25 to 29 times for small ones, 28 to 160 for images",
    date="2026-11-21",
)
"""As above with tensors."""

_DRAWING: Final = frozenset({"sample", "choices", "randrange", "randint", "choice"})
"""Functions of ``random.py``; one at a time takes 0.2 to 0.6 µs each, as a sample of many does (by hand)."""

_COMPUTES: Final = re.compile(r"[/\\]torch[/\\](nn|optim|autograd|_tensor\.py|_dynamo|utils)")


_DRAW_BY_INDEX: Final = (
    "Keep one preallocated array per field (states[i] = state) and draw by index: "
    "i = rng.integers(size, size=batch_size); states[i], actions[i], rewards[i]."
)

_DRAW_WITHOUT_SHUFFLE: Final = (
    "Make the generator once with np.random.default_rng(seed): its choice(size, batch_size, replace=False) shuffles no more than it "
    "draws; rng.integers(size, size=batch_size) is quicker still, and rarely draws one twice."
)

_ONE_ARRAY_FIRST: Final = (
    " Until then make one array of each list before the tensor, torch.as_tensor(np.array(items))."
)


class _SamplingTime(SteadySearch):
    """Time of each part of sampling, and where it is."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(profile)
        self.nodes: dict[SamplingPart, set[int]] = {part: set() for part in SamplingPart}
        self.weights: dict[Line, float] = defaultdict(float)
        self.drawing_us = 0.0
        """Inside ``random.sample`` and its like."""
        self.of_tensors = False
        self.listed: dict[str, set[int]] = defaultdict(set)
        """Nodes of lines that make a list into a tensor, item by item, by that list in words."""
        self._by_file = replay_lines_by_file(profile.sources)
        self._slow = SlowCalls(profile).nodes() if self._by_file else frozenset[int]()
        for node in self.tree.hot_nodes():
            line = self._line_of(self.tree.frame(node))
            # What an environment draws is no batch.
            if line is not None and not (profile.parts and profile.parts[node] == ENVIRONMENT):
                self._claim(node, line)

    def _line_of(self, frame: Frame) -> ReplayLine | None:
        line = self._by_file.get(frame.file, {}).get(frame.line)
        if line is None and self.values.has(frame.file):
            for statement in self.lines.statements(frame):
                if shuffles_all(statement, self.values.of(frame.file, statement)):
                    return ReplayLine(SamplingPart.PERMUTATION, of_tensors=False)
        return line

    def _claim(self, node: int, line: ReplayLine) -> None:
        us = 0.0
        looped = line.part is SamplingPart.LOOP
        for inner in self._own(node, with_yours=looped):
            if inner not in self.nodes[line.part]:
                self.nodes[line.part].add(inner)
                us += self.tree.self_cost(inner).wall_us
        self.weights[self.lines.line(node)] += us
        self.of_tensors = self.of_tensors or (line.of_tensors and us > 0)
        frame = self.tree.frame(node)
        for statement in self.lines.statements(frame) if us else ():
            made = tensor_of_seen_list(statement, self.values.of(frame.file, statement))
            if made is not None:
                self.listed[made.name].add(node)
        for child in self.tree.children(node):
            if _is_draw(self.tree.frame(child)):
                self.drawing_us += self.tree.total_cost(child).wall_us

    def _own(self, top: int, *, with_yours: bool) -> Iterator[int]:
        """Yield ``top`` and what drawing and stacking call, not what is computed with the batch.

        In a loop over its rows what the user's functions do for each goes, too, but for what would be done to all rows at once as well, as
        decompressing them.
        """
        pending = [top]
        while pending:
            node = pending.pop()
            if node not in self._slow:
                yield node
            for child in self.tree.children(node):
                frame = self.tree.frame(child)
                generated = frame.file.startswith("<")
                yours = self.lines.is_yours(frame) and not with_yours
                if generated or not (yours or _COMPUTES.search(frame.file)):
                    pending.append(child)

    def rows_are_short(self) -> bool:
        """Tell whether looks at the loops over rows saw arrays, and none with long rows."""
        shapes = [
            value.shape
            for file, lines in self._by_file.items()
            for number, line in lines.items()
            if line.part is SamplingPart.LOOP
            for value in self.values.between(file, range(number, number + 1)).values()
            if value.shape
        ]
        return bool(shapes) and all(prod(shape[1:]) < LONG_ROW for shape in shapes)

    def us(self, part: SamplingPart) -> float:
        return self.tree.cost_of(self.nodes[part]).wall_us


def _is_draw(frame: Frame) -> bool:
    in_random = frame.file.endswith(("/random.py", "\\random.py"))
    return in_random and last_name(frame.function) in _DRAWING


def detect(profile: Profile) -> Iterable[Finding]:
    yield from _drawn(profile)
    yield from searched_places(profile)
    yield from walked_trees(profile)
    yield from _loaded(profile)


def _drawn(profile: Profile) -> Iterable[Finding]:
    found = _SamplingTime(profile)
    whole = profile.critical.wall_us
    drawn, gathered = found.us(SamplingPart.DRAW), found.us(SamplingPart.GATHER)
    shuffled = found.us(SamplingPart.PERMUTATION)
    if not (drawn and gathered) and not found.nodes[SamplingPart.LOOP]:
        # A draw alone may be of anything: tasks, seeds, a population.
        drawn = gathered = 0.0
    looped = found.us(SamplingPart.LOOP)
    total = drawn + gathered + shuffled + looped
    if not whole or total / whole < MIN_SHARE:
        return
    listed = frozenset[int]().union(*found.listed.values())
    nodes = frozenset(found.nodes[SamplingPart.DRAW] | found.nodes[SamplingPart.GATHER]) - listed
    savings = []
    if looped:
        removable = LOOPED if found.rows_are_short() else Range(UNKNOWN_SIZE.low, LOOPED.high)
        savings.append(Saving(frozenset(found.nodes[SamplingPart.LOOP]), removable))
    if gathered:
        savings.append(
            Saving(nodes, _removable(found, gathered - found.tree.cost_of(listed).wall_us))
        )
    if listed:
        savings.append(Saving(listed, ITEM_BY_ITEM))
    if shuffled:
        savings.append(Saving(frozenset(found.nodes[SamplingPart.PERMUTATION]), PERMUTED))
    heaviest = heaviest_line(found.weights)
    yield Finding(
        title=_title(heaviest, drawn=drawn, shuffled=shuffled, looped=looped),
        savings=tuple(savings),
        locations=found.lines.locations(found.weights, whole),
        evidence=tuple(_evidence(found, profile, total)),
        fix=_DRAW_WITHOUT_SHUFFLE
        if total == shuffled
        else _DRAW_BY_INDEX + (_ONE_ARRAY_FIRST if found.listed else ""),
        confidence=Confidence.BOUNDED,
    )


def _title(heaviest: Line, *, drawn: float, shuffled: float, looped: float) -> str:
    where = short_place(heaviest)
    if looped > max(drawn, shuffled):
        return f"the rows of a batch are drawn and appended one by one ({where})"
    if drawn > shuffled:
        return f"batches are drawn from Python objects one by one ({where})"
    return f"all indices of the buffer are shuffled for each batch ({where})"


def _loaded(profile: Profile) -> Iterable[Finding]:
    """Yield a DataLoader without workers that reads item after item of what could be indexed at once."""
    whole = profile.critical.wall_us
    loaded = LoadedBatches(profile)
    total = loaded.total_us
    if not whole or total < MIN_SHARE * whole or loaded.removable is None:
        return
    batches = profile.counts.get(BATCHES, 0.0)
    each = f", {duration(total / batches)} for each batch" if batches else ""
    yield Finding(
        title=f"a DataLoader reads and stacks item by item ({short_place(heaviest_line(loaded.weights))})",
        savings=(Saving(frozenset(loaded.nodes), loaded.removable),),
        locations=loaded.lines.shown_locations(loaded.weights, whole),
        evidence=(
            f"{percent(total / whole)} of the steady time is spent in it, without workers{each}",
            f"reading single items: {percent(loaded.items_us / whole)}, stacking them: {percent(loaded.stacked_us / whole)}",
            "the dataset only indexes what it holds",
        ),
        fix="Keep one tensor per field, and index it by a part of a permutation: order = torch.randperm(len(states)); "
        "for i in order.split(batch_size): states[i], actions[i].",
        confidence=Confidence.MEASURED,
    )


def _removable(found: _SamplingTime, gathered_us: float) -> Range:
    """Return what goes, by how large the observations are: told by the time of stacking over drawing."""
    if not found.drawing_us:
        return UNKNOWN_SIZE
    ratio = gathered_us / found.drawing_us
    if found.of_tensors:
        return SMALL_TENSORS if ratio <= TENSORS_OVER_DRAWN else UNKNOWN_SIZE
    return SMALL if ratio <= GATHERED_OVER_DRAWN else LARGE


def _evidence(found: _SamplingTime, profile: Profile, total_us: float) -> Iterable[str]:
    whole = profile.critical.wall_us
    updates = profile.counts.get("updates", 0.0)
    each = f", {duration(total_us / updates)} for each update" if updates else ""
    yield f"{percent(total_us / whole)} of the steady time{each}"
    for part in SamplingPart:
        us = found.us(part)
        if us >= 0.001 * whole:
            yield f"{part.value}: {percent(us / whole)}{_of_lists(found, part, whole)}"


def _of_lists(found: _SamplingTime, part: SamplingPart, whole: float) -> str:
    """The time in which tensors are made of lists, in words that follow the time of the part."""
    if part is not SamplingPart.GATHER or not found.listed:
        return ""
    us = {name: found.tree.cost_of(nodes).wall_us for name, nodes in found.listed.items()}
    dearest = max(us, key=lambda name: us[name])
    return f", {percent(sum(us.values()) / whole)} of it item by item, as of {dearest}"


DETECTOR: Final = Detector(
    id="replay-sampling",
    name="batches drawn one by one from a buffer of Python objects",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
