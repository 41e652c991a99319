"""Python containers turned into arrays and back, or searched by hand, at every step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.arrays.conversion_cost import (
    computes_beside,
    costs_nothing,
    is_surely_large,
)
from rlprof.detectors.recognisers.arrays.conversions import (
    Conversion,
    ConversionKind,
    find_conversions,
)
from rlprof.detectors.recognisers.arrays.history_sums import HistorySums
from rlprof.detectors.recognisers.line_time import SteadySearch
from rlprof.libraries.questions import is_policy_file
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import Line, added_up, heaviest_line, last_name, short_place
from rlprof.source.replay import replay_lines_by_file
from rlprof.source.tensor_lists import seen_tensor_lines
from rlprof.source.tensor_loops import tensor_loops
from rlprof.syntax.module import Function, called_name
from rlprof.syntax.origin import Origin, installed_package, origin
from rlprof.units import of_each_step, percent

MIN_SHARE: Final = 0.07
"""Least share of the critical time. Healthy training builds an array here and there (a batch for each update,
an observation for each step, one of the actions of all agents); under this it is not what makes it slow."""

MOST_OF_FUNCTION: Final = 0.6
"""Part of a function's time on conversion lines from which the whole function is one."""

LEAST_CONVERTED: Final = 0.1
"""Part of the time on such lines that conversions and searches have to have: what is done with lists around them goes with them."""

SMALL_FUNCTION_LINES: Final = 25
"""A longer function does something else too, and keeps it after the fix."""

REPLACEMENT_US: Final = calibrated(
    Range(0.2, 1.0),
    unit="µs",
    source="Python 3.11: a.argmax() of ten values takes 0.2, int(a.argmax()) 0.3",
    date="2026-11-21",
)
"""Cost of what takes the place of one conversion or search; the rest is for ties and for slower machines."""

SEARCH_REPLACEMENT_US: Final = calibrated(
    Range(0.2, 5.0),
    unit="µs",
    source="Python 3.11: among ten values of a list such a search takes 1 to 3, and what takes its place may be slower (14 for choice(flatnonzero(a == a.max())))",
    date="2026-11-21",
)
"""As ``REPLACEMENT_US`` where a search by hand is all there is: only one that takes much longer is sure to
gain."""

GATHERED_REPLACEMENT_US: Final = calibrated(
    Range(1.0, 5.0),
    unit="µs",
    source="Python 3.11, numpy 2.4: to move a window of 17 to 64 arrays of 4 to 64 numbers in place and to copy it takes 0.9 to 4, one array of 36 numbers of five lists 2 to 5",
    date="2026-11-29",
)
"""The same of a window of arrays that was joined anew, and of lists that became arrays one by one."""

SHORTEST_SEARCH_US: Final = 2.0
"""A search by hand that takes less is one of a few values, and may be as quick as what takes its place."""

REMOVABLE_UNCOUNTED: Final = Range(0.4, 0.97)
"""Without counted steps it is not known how often a line runs, hence what a run of it costs."""

SEARCH_REMOVABLE_UNCOUNTED: Final = Range(0.0, 0.97)

MOST_REMOVABLE_LOW: Final = calibrated(
    0.75,
    unit="part of a line's time",
    source="Python 3.11: max(range(10), key=q.__getitem__) takes 0.9 µs, and an argmax in its place leaves a quarter",
    date="2026-11-21",
)
"""A line may run more than once in a step, so that more of the replacement is needed than that."""

_OF_VALUES: Final = "Keep the values in one numpy array (or tensor) for the whole run, change it in place, and use its own methods: values.argmax(), values.max(), values[i] += x."
_FIXES_OF_GATHERED: Final = {
    ConversionKind.WINDOW: "Keep the window in one array: window[:-1] = window[1:], window[-1] = frame; and hand out window.copy(): what was handed out stays as it was.",
    ConversionKind.PARTS: "Put the numbers of all of them into one list, and make one array of it: np.array([*position, *speed], np.float32). "
    "Better still, have what makes the lists do so.",
}

_WRITES: Final = frozenset(
    {"dump", "dumps", "pack", "packb", "put", "send", "send_bytes", "write", "writelines", "writerow", "writerows"}
)  # fmt: skip
"""Calls that hand on what a line converts."""

_OF_ARRAYS: Final = frozenset({"numpy", "torch"})
"""Packages that do no work of their own for what only converts."""


@dataclass(slots=True)
class _ConversionTime:
    """Time found for the conversions of one function."""

    conversions: set[Conversion] = field(default_factory=set)
    nodes: set[int] = field(default_factory=set)
    tops: list[int] = field(default_factory=list)
    """Nodes by which the function is entered."""
    matched_us: int = 0
    converted_us: int = 0
    """The part of it in conversions and searches: lists alone are what Python is for."""
    inclusive_us: int = 0
    weights: dict[Line, float] = field(default_factory=lambda: defaultdict(float))
    whole: bool = False
    """True if the function as a whole is claimed."""

    @property
    def kinds(self) -> set[ConversionKind]:
        return {conversion.kind for conversion in self.conversions} - {ConversionKind.HANDLING}

    @property
    def only_gathers(self) -> bool:
        return bool(self.kinds) and self.kinds <= _FIXES_OF_GATHERED.keys()

    @property
    def only_searches(self) -> bool:
        return self.kinds == {ConversionKind.SEARCH}


class _Search(SteadySearch):
    """Finds conversions in the source and their time in the call tree."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(profile)
        self._counted = profile.throughput.unit != "none"
        self._by_line: dict[tuple[str, int], Conversion] = {}
        of_batches = replay_lines_by_file(profile.sources)
        of_histories: dict[str, set[int]] = defaultdict(set)
        for history in HistorySums(profile, self.lines).found():
            # An array that is needed all the same is still one that is made each time.
            if not history.statistic.is_kept_too:
                of_histories[history.place.file].add(history.place.line)
        for file, module in self.lines.modules(sorted(profile.sources)).items():
            # They have a fix of their own: `replay-sampling`, `tensor-from-list`, `python-loop-over-tensor`, `history-statistics`.
            of_others = {
                *of_batches.get(file, {}),
                *seen_tensor_lines(module, file, self.values),
                *tensor_loops(profile.sources[file], self.values.tensors(file)),
                *of_histories[file],
            }
            for conversion in find_conversions(module, partial(self.values.of, file)):
                span = range(min(conversion.lines), max(conversion.lines) + 1)
                known = self.values.between(file, span)
                if costs_nothing(conversion, module, known):
                    continue
                is_window = conversion.kind is ConversionKind.WINDOW
                mixed = conversion.beside or (
                    not is_window and computes_beside(conversion, module, known)
                )
                if self.values and mixed and not is_surely_large(conversion, module, known):
                    continue
                for line in conversion.lines:
                    if line not in of_others:
                        self._by_line.setdefault((file, line), conversion)
        self._functions = {
            (file, id(entry.function))
            for (file, _), entry in self._by_line.items()
            if entry.function
        }

    def claims(self) -> list[_ConversionTime]:
        """Return what each function with conversions costs, in order of its first node."""
        found: dict[tuple[str, int], _ConversionTime] = defaultdict(_ConversionTime)
        for node in self.tree.hot_nodes() if self._by_line else ():
            frame = self.tree.frame(node)
            function = self._function(node)
            key = (frame.file, id(function))
            if function is not None and key in self._functions:
                self._enter(found[key], node, function)
            conversion = self._by_line.get((frame.file, frame.line))
            if conversion is not None and self._runs_often(node):
                self._match(found[key], node, conversion)
        for (_, _), claim in found.items():
            self._widen(claim)
        return list(found.values())

    def _function(self, node: int) -> Function | None:
        if node == NO_PARENT:
            return None
        frame = self.tree.frame(node)
        return self.lines.function(frame)

    def _runs_often(self, node: int) -> bool:
        return self._counted or self.lines.is_repeated(node)

    def _enter(self, claim: _ConversionTime, node: int, function: Function) -> None:
        if self._function(self.tree.nodes[node].parent) is not function:
            claim.tops.append(node)
            claim.inclusive_us += self.tree.total_cost(node).wall_us

    def _match(self, claim: _ConversionTime, node: int, conversion: Conversion) -> None:
        """Claim the line's own time and what numpy, torch and the standard library do for it."""
        # What is written in C shows no frame of its own, and takes longer than what it was made of.
        if conversion.other_calls & _WRITES:
            return
        mine = [node]
        for child in self.tree.children(node):
            frame = self.tree.frame(child)
            if not self._is_yours_or_runtime(frame) and not (
                last_name(frame.function) in conversion.other_calls or is_policy_file(frame.file)
            ):
                mine.extend(self.tree.subtree(child, self._is_users))
        us = self.tree.cost_of(mine).wall_us
        claim.nodes.update(mine)
        claim.conversions.add(conversion)
        claim.matched_us += us
        if conversion.kind is not ConversionKind.HANDLING:
            claim.converted_us += us
        claim.weights[self.lines.line(node)] += us

    def _is_yours_or_runtime(self, frame: Frame) -> bool:
        return origin(frame) is Origin.RUNTIME or self.lines.is_yours(frame)

    def _is_users(self, node: int) -> bool:
        return self.lines.is_yours(self.tree.frame(node))

    def _widen(self, claim: _ConversionTime) -> None:
        """Claim the whole function where converting and searching is what it does."""
        function = next(iter(claim.conversions)).function if claim.conversions else None
        if function is None or not claim.kinds:
            return
        if claim.converted_us < LEAST_CONVERTED * claim.matched_us:
            return
        small = function.last_line - function.first_line < SMALL_FUNCTION_LINES
        if not small or claim.matched_us < MOST_OF_FUNCTION * claim.inclusive_us:
            return
        if self._calls_work(claim):
            return
        claim.whole = True
        claim.weights.clear()
        for top in claim.tops:
            claim.nodes.update(self.tree.subtree(top))
            claim.weights[self.lines.line(top)] += self.tree.total_cost(top).wall_us

    def _calls_work(self, claim: _ConversionTime) -> bool:
        """Tell whether it calls functions of the user's, or of libraries, that convert nothing: the loop of a training, for one."""
        return any(map(self._works, self.tree.subtrees(claim.tops) - claim.nodes))

    def _works(self, node: int) -> bool:
        frame = self.tree.frame(node)
        if origin(frame) is Origin.LIBRARY:
            return is_policy_file(frame.file) or installed_package(frame.file) not in _OF_ARRAYS
        return (
            self.lines.is_yours(frame)
            and (function := self._function(node)) is not None
            and (frame.file, id(function)) not in self._functions
        )

    def is_short(self, claim: _ConversionTime, steps: float) -> bool:
        """Tell whether it is nothing but searches of a few values each."""
        searches = self._executions_per_step(claim) * steps
        return claim.only_searches and self._us(claim) < SHORTEST_SEARCH_US * searches

    def _us(self, claim: _ConversionTime) -> int:
        return self.tree.cost_of(claim.nodes).wall_us

    def removable(self, claim: _ConversionTime, steps: float) -> Range:
        """All but what the array operations cost that take the place of the claim's lines."""
        claimed_us = self._us(claim)
        if not steps or not claimed_us:
            return SEARCH_REMOVABLE_UNCOUNTED if claim.only_searches else REMOVABLE_UNCOUNTED
        alone = GATHERED_REPLACEMENT_US if claim.only_gathers else REPLACEMENT_US
        each = SEARCH_REPLACEMENT_US if claim.only_searches else alone
        executions = self._executions_per_step(claim) * steps
        low = 1 - executions * each.high / claimed_us
        high = 1 - executions * each.low / claimed_us
        return Range(min(MOST_REMOVABLE_LOW, max(0.0, low)), max(0.0, high))

    def _executions_per_step(self, claim: _ConversionTime) -> int:
        """Return how many times a step the conversions run, if every place where they are runs once.

        A container that is only made for another function's conversion goes without replacement.
        """
        if not claim.whole:
            return sum(
                conversion.kind is not ConversionKind.HANDLING for conversion in claim.conversions
            )
        parents = {self.tree.nodes[top].parent for top in claim.tops} - {NO_PARENT}
        places = {self.lines.line(parent) for parent in parents}
        # A stack read from outside may show the caller a few lines off: the source knows better.
        calling = {self.lines.line(parent) for parent in parents if self._calls(parent, claim)}
        return len(calling or places) or 1

    def _calls(self, node: int, claim: _ConversionTime) -> bool:
        """Tell whether the statement of ``node`` calls the claim's function by its name."""
        statement = self.lines.statement(self.tree.frame(node))
        names = {
            conversion.function.node.name for conversion in claim.conversions if conversion.function
        }
        return statement is not None and any(
            called_name(part) in names for part in statement.calls()
        )


def detect(profile: Profile) -> Iterable[Finding]:
    search = _Search(profile)
    whole, steps = profile.critical.wall_us, profile.steady_steps
    claims = [
        candidate
        for candidate in search.claims()
        if candidate.nodes and not search.is_short(candidate, steps)
    ]
    nodes = frozenset[int]().union(*(claim.nodes for claim in claims))
    total = profile.steady.cost_of(nodes).wall_us
    matched = sum(claim.matched_us for claim in claims)
    if not whole or total / whole < MIN_SHARE:
        return
    if sum(claim.converted_us for claim in claims) < LEAST_CONVERTED * matched:
        return
    weights = added_up(claim.weights for claim in claims)
    yield Finding(
        title=_title(claims, heaviest_line(weights)),
        savings=tuple(
            Saving(frozenset(claim.nodes), search.removable(claim, steps)) for claim in claims
        ),
        locations=search.lines.locations(weights, whole),
        evidence=tuple(_evidence(claims, total / whole, of_each_step(total, steps))),
        fix=_fix(_main(claims)),
        confidence=Confidence.BOUNDED,
    )


def _main(claims: list[_ConversionTime]) -> _ConversionTime:
    return max(claims, key=lambda claim: claim.matched_us)


def _fix(claim: _ConversionTime) -> str:
    gathered = (fix for kind, fix in _FIXES_OF_GATHERED.items() if kind in claim.kinds)
    return " ".join(gathered) if claim.only_gathers else _OF_VALUES


def _title(claims: list[_ConversionTime], heaviest: Line) -> str:
    # Searches here and there are not what it is about.
    kinds = _main(claims).kinds
    where = short_place(heaviest)
    if kinds == {ConversionKind.WINDOW}:
        return f"a window of arrays is joined anew at every step ({where})"
    if kinds == {ConversionKind.SEARCH}:
        return f"a search by hand for the best value runs at every step ({where})"
    if ConversionKind.SEARCH in kinds:
        return f"containers are turned into arrays and searched by hand at every step ({where})"
    return f"containers and arrays are turned into each other at every step ({where})"


def _evidence(claims: list[_ConversionTime], share: float, each: str) -> Iterable[str]:
    yield f"{percent(share)} of the steady time{each}"
    functions = sorted(
        {
            conversion.function.qualname
            for claim in claims
            if claim.whole
            for conversion in claim.conversions
            if conversion.function
        }
    )
    if functions:
        yield f"{', '.join(functions)}: nearly all of its time is conversion or search"
    for kind in ConversionKind:
        count = sum(conversion.kind is kind for claim in claims for conversion in claim.conversions)
        if count:
            yield f"{kind.value} ({count} place{'s' if count > 1 else ''} in the source)"


DETECTOR: Final = Detector(
    id="array-conversion-in-loop",
    name="containers turned into arrays, or searched by hand, at every step",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
