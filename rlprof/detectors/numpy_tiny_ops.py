"""numpy called on one number or a handful, again and again."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.arrays.item_loops import ItemLoop, item_loops
from rlprof.detectors.recognisers.arrays.seen_sizes import calls_by_size
from rlprof.detectors.recognisers.arrays.small_arrays import SmallCalls, find_small_calls
from rlprof.detectors.recognisers.calls.slow_calls import SlowCalls
from rlprof.detectors.recognisers.line_time import SteadySearch, lines_time
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import Frame
from rlprof.source.lines import Line, UserLines, heaviest_line, last_name, short_place
from rlprof.source.value import Value
from rlprof.source.values import Values
from rlprof.units import count, of_each_step, percent

MIN_SHARE: Final = 0.03
"""Least share of the critical time. A call of numpy here and there takes a microsecond: every environment has some."""

CALL_REMOVABLE: Final = calibrated(
    Range(0.85, 0.99),
    unit="part of the time of a call",
    source="Python 3.11, numpy 2.4: np.clip(x, -1, 1) 5.0 µs and min(max(x, -1), 1) 0.3; np.mean "
    "of three 7.0 and 0.1; np.any of two 4.7 and 0.05; np.linalg.norm 2.1 and math.hypot "
    "0.1. 0.01 to 0.06 was left",
    date="2026-11-21",
)
"""Part of the time inside numpy's own functions."""

LINE_REMOVABLE: Final = calibrated(
    Range(0.5, 0.95),
    unit="part of a line's own time",
    source="Python 3.11, numpy 2.4: np.sqrt of a number takes 0.17 µs and math.sqrt 0.06; "
    "np.random.choice(4) 7.9 and random.randrange(4) 0.3. 0.04 to 0.4 was left",
    date="2026-11-21",
)
"""Part of the line's own time, which holds what numpy does in C. And what numpy gives back is numpy's own
number, slower in all that follows than a float."""

OF_SEVERAL: Final = calibrated(
    Range(0.0, 0.7),
    unit="part of the time",
    source="benchmarks/replacements.py, numpy 2.4: of sums, sines and bounds of eight numbers 0.62 to 1.07 is left, item by item",
    date="2026-11-29",
)
"""Part of either where the result is five to eight numbers: Python takes its time for each of them."""

LOOPED: Final = calibrated(
    Range(0.7, 0.98),
    unit="part of the loop's time",
    source="benchmarks/replacements.py, numpy 2.4: of distances to 32 to 1 000 arrays of 2 to 256 numbers, and of their maxima, 0.09 to 0.28 is "
    "left where the array of all is made anew, 0.02 to 0.17 where it is kept",
    date="2026-11-25",
)
"""Part of a loop over small arrays that goes where numpy is called once for all of them."""

LOOPED_LIGHTLY: Final = calibrated(
    Range(0.4, 0.9),
    unit="part of the loop's time",
    source="benchmarks/replacements.py, numpy 2.4: of one operation in C on 32 to 1 000 arrays of 2 to 64 numbers (a - x, tanh, dot) "
    "0.15 to 0.50 is left where the array of all is made anew",
    date="2026-11-25",
)
"""The same where a turn does no more than an operation or two in C."""

OVERHEAD_SHARE: Final = calibrated(
    0.7,
    unit="part of the time below a call",
    source="for four numbers 0.41 (mean), 0.48 (max), 0.50 (clip) and 0.69 (argmax); for 20 000 "
    "numbers 0.88 (argmax) and 0.90 (clip)",
    date="2026-11-21",
)
"""Part of the time below a call of numpy on its heaviest line, up to which most of it is overhead."""

LEAST_SAMPLES: Final = 10.0
"""Below it the heaviest line of a call is not known well enough."""

_DISPATCHER: Final = re.compile(r"_(?P<name>\w+)_dispatcher")

_INSIDE_NUMPY: Final = re.compile(r"[/\\]numpy[/\\]")


@dataclass(slots=True)
class _CalledNodes:
    """The nodes of one function of numpy below a line."""

    functions: list[int] = field(default_factory=list)
    dispatchers: list[int] = field(default_factory=list)
    """Called first, to see whose arrays they are. The probe comes between two bytecodes, so these have
    what was done in C just before: the arithmetic in the arguments."""


class _Search(SteadySearch):
    """The time of calls on a few numbers, by what the source and the stacks below say."""

    def __init__(self, profile: Profile, told: frozenset[int]) -> None:
        """``told``: nodes whose time another finding has."""
        super().__init__(profile)
        self._told = told
        self.inside: set[int] = set()
        """Nodes of numpy's own functions."""
        self.on_lines: set[int] = set()
        self.of_several: set[int] = set()
        """Nodes of either whose results are more than a handful of numbers."""
        self.weights: dict[Line, float] = defaultdict(float)
        self.names: dict[str, float] = defaultdict(float)
        self._least_us = LEAST_SAMPLES * profile.critical.sample_interval_us
        self._counted = profile.throughput.unit != "none"
        self._within: dict[tuple[str, str], Mapping[str, Value]] = {}
        self._calls = {
            file: calls
            for file, text in profile.sources.items()
            if (calls := find_small_calls(text))
        }

    def run(self) -> None:
        for node in self.tree.hot_nodes():
            frame = self.tree.frame(node)
            calls = self._calls_on(frame)
            if node in self._told or calls is None or not self.lines.is_yours(frame):
                continue
            if self._counted or self.lines.is_repeated(node):
                self._claim(node, calls)

    def _calls_on(self, frame: Frame) -> SmallCalls | None:
        """Return what the source says of the line, and what was seen there, which knows better."""
        by_text = self._calls.get(frame.file, {}).get(frame.line)
        if not self.values.has(frame.file):
            return by_text
        statements = self.lines.statements(frame)
        known = {
            **self._around(frame),
            **self.values.between(frame.file, range(frame.line, frame.line + 1)),
        }
        seen = calls_by_size(statements, known, self.lines.module(frame.file))
        if by_text is None:
            whole = seen.is_whole
            if not seen.small:
                return None
            return SmallCalls(seen.small, frozenset(), whole, seen.small, seen.several)
        names = (by_text.names | seen.small) - seen.large
        return SmallCalls(
            names,
            by_text.likely - names - seen.large,
            (by_text.is_whole and not seen.large) or seen.is_whole,
            seen.small,
            seen.several,
        )

    def _around(self, frame: Frame) -> Mapping[str, Value]:
        """Return values that were seen anywhere in the function: an item of an array (``x[0]``) is not looked at, and the array is on another line."""
        key = (frame.file, frame.function)
        if key not in self._within:
            self._within[key] = self.values.within(*key)
        return self._within[key]

    def _claim(self, node: int, calls: SmallCalls) -> None:
        us = 0.0
        confirmed = refuted = False
        for name, called in self._called(node).items():
            if name not in calls.names | calls.likely:
                continue
            working = self._below(called.functions)
            # Of what was counted nobody needs to guess: numpy's ``any`` of three numbers is nearly all on one line of numpy's.
            is_counted = name in calls.counted
            if is_counted or self._is_overhead(working, unless_seen=name in calls.names):
                inside = working + self._below(called.dispatchers)
                self.inside.update(inside)
                self.of_several.update(inside if name in calls.several else ())
                call_us = self.tree.cost_of(inside).wall_us
                us += call_us
                self.names[name] += call_us
                confirmed = True
            else:
                refuted = True
        if calls.is_whole and not refuted and (confirmed or not calls.likely):
            own_us = self.tree.self_cost(node).wall_us
            self.on_lines.add(node)
            self.of_several.update([node] if calls.several else ())
            us += own_us
            for name in calls.names or calls.likely:
                self.names[name] += own_us / len(calls.names or calls.likely)
        if us:
            self.weights[self.lines.line(node)] += us

    def _called(self, node: int) -> dict[str, _CalledNodes]:
        """The functions of numpy that a line calls, each on several lines of its own."""
        found: dict[str, _CalledNodes] = defaultdict(_CalledNodes)
        for child in self.tree.children(node):
            frame = self.tree.frame(child)
            if _INSIDE_NUMPY.search(frame.file):
                name = last_name(frame.function)
                dispatched = _DISPATCHER.fullmatch(name)
                if dispatched:
                    found[dispatched["name"]].dispatchers.append(child)
                else:
                    found[name].functions.append(child)
        return found

    def _below(self, nodes: Iterable[int]) -> list[int]:
        return [part for node in nodes for part in self.tree.subtree(node)]

    def _is_overhead(self, nodes: list[int], *, unless_seen: bool) -> bool:
        """Tell whether time spreads over numpy's own lines: of a large array one line has it all.

        ``unless_seen`` is the answer where there are too few samples to tell.
        """
        total = self.tree.cost_of(nodes).wall_us
        if total < self._least_us:
            return unless_seen
        by_line: dict[tuple[str, int], float] = defaultdict(float)
        for node in nodes:
            frame = self.tree.frame(node)
            by_line[frame.file, frame.line] += self.tree.self_cost(node).wall_us
        return max(by_line.values()) <= OVERHEAD_SHARE * total


def detect(profile: Profile) -> Iterable[Finding]:
    loops = list(_item_by_item(profile))
    yield from loops
    # What goes with a loop is told once, also where its arrays are of a number or two; and what is better not done at all by slow-call.
    told = (saving.nodes for finding in loops for saving in finding.savings)
    yield from _on_numbers(profile, SlowCalls(profile).nodes().union(*told))


def _item_by_item(profile: Profile) -> Iterable[Finding]:
    """Yield loops that give numpy one small array after the other."""
    values = Values(profile.values)
    lines = UserLines.of(profile)
    loops = {
        file: item_loops(module, values, file, lines.module)
        for file in profile.sources
        if values.has(file) and (module := lines.module(file)) is not None
    }

    def calls(line: Frame, below: Frame) -> bool:
        return (below.file, below.function) in loops[line.file][line.line].helpers

    time = lines_time(profile, lines, loops, "numpy", calls)
    if not time.is_worth(MIN_SHARE):
        return
    light = lines_time(profile, lines, _light(loops), "numpy", calls).nodes
    savings = (Saving(time.nodes - light, LOOPED), Saving(light, LOOPED_LIGHTLY))
    heaviest = time.heaviest
    loop = loops[heaviest.file][heaviest.line]
    yield Finding(
        title=f"numpy works on one small array at a time ({time.place})",
        savings=tuple(saving for saving in savings if saving.nodes),
        locations=time.locations,
        evidence=(
            time.share_spent("in that loop"),
            f"it goes through {count(loop.items)} items of {loop.container}",
            f"seen there: {loop.array}",
        ),
        fix="Keep the items as rows of one array, and call numpy once for all of them: np.linalg.norm(rows - x, axis=1), "
        "(rows * weights).sum(axis=1), rows.max(axis=1). In place of min(..., key=...) and sorted(..., key=...) take argmin and argsort of that. "
        "Of very many items take some thousand numbers at a time: what fits a cache.",
        confidence=Confidence.MEASURED,
    )


def _light(loops: Mapping[str, Mapping[int, ItemLoop]]) -> dict[str, list[int]]:
    """The lines of those of them whose turns do little."""
    return {
        file: [line for line, loop in found.items() if loop.is_light]
        for file, found in loops.items()
    }


def _on_numbers(profile: Profile, told: frozenset[int]) -> Iterable[Finding]:
    search = _Search(profile, told)
    search.run()
    whole = profile.critical.wall_us
    inside, on_lines = (
        search.tree.cost_of(search.inside).wall_us,
        search.tree.cost_of(search.on_lines).wall_us,
    )
    total = inside + on_lines
    if not whole or not total or total / whole < MIN_SHARE:
        return
    heaviest = heaviest_line(search.weights)
    yield Finding(
        title=f"numpy works on single numbers at every step ({short_place(heaviest)})",
        savings=tuple(
            Saving(frozenset(nodes), removable)
            for nodes, removable in (
                (search.inside - search.of_several, CALL_REMOVABLE),
                (search.on_lines - search.of_several, LINE_REMOVABLE),
                (search.of_several, OF_SEVERAL),
            )
            if nodes
        ),
        locations=search.lines.locations(search.weights, whole),
        evidence=tuple(_evidence(search, profile, inside, on_lines)),
        fix="Use plain Python for single numbers: min(max(x, low), high) for np.clip, math.sqrt, "
        "math.hypot, random.random(), (a + b + c) / 3. Or do it once, for all environments together.",
        confidence=Confidence.MEASURED if inside else Confidence.BOUNDED,
    )


def _evidence(
    search: _Search, profile: Profile, inside_us: float, on_lines_us: float
) -> Iterable[str]:
    whole = profile.critical.wall_us
    total = inside_us + on_lines_us
    each = of_each_step(total, profile.steady_steps)
    yield f"{percent(total / whole)} of the steady time on {len(search.weights)} lines{each}"
    names = sorted(search.names.items(), key=lambda item: (-item[1], item[0]))[:4]
    yield "the source shows a few numbers each: " + ", ".join(
        f"{name} {percent(us / whole)}" for name, us in names
    )
    if inside_us:
        yield f"{percent(inside_us / whole)} is spread over numpy's own Python lines: it is the calls"


DETECTOR: Final = Detector(
    id="numpy-tiny-ops",
    name="numpy called on single numbers in the hot loop",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
