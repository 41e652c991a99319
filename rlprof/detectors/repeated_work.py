"""Results that are computed again and again: from inputs that stay as they are, or that were given before."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.calls.asked_objects import AskedObject, AskedObjects
from rlprof.detectors.recognisers.calls.same_inputs import (
    PureWork,
    RepeatedWork,
    SameInputs,
    is_a_place,
    is_new_at_times,
)
from rlprof.detectors.recognisers.calls.turn_invariants import Invariant, TurnInvariants
from rlprof.detectors.recognisers.line_time import LineTime, calls_time, own_time
from rlprof.detectors.recognisers.networks.frozen_answers import FrozenAnswers, FrozenSearch
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT
from rlprof.source.lines import Line, UserLines, heaviest_line, last_name, short_place
from rlprof.source.value import Value
from rlprof.syntax.module import Comprehension, Loop, Statement, called_name
from rlprof.syntax.pure_calls import hardly_works
from rlprof.units import of_each_step, percent

MIN_SHARE: Final = 0.03
"""Least share of the critical time: below it are the small constants that every program makes anew."""

REMOVABLE: Final = Range(0.8, 1.0)
"""Part that goes where the result is kept: all but a read of it, or a copy where somebody writes to the result."""

KEPT_FOR_ONE: Final = 0.6
"""Part of the pairs in which a map has to be the same where a search may take as long as the looks of a pair are apart."""

SHORT_US: Final = 500.0
"""Time of a step's searches up to which the calls of a pair are ten apart or more."""

OF_A_PART: Final = Range(0.3, 1.0)
"""The same of a line that does more."""

AROUND: Final = Range(0.0, 0.5)
"""The same of a line that does nothing but call it."""

MOST_OF_TURNS: Final = 0.98
"""Most part of what is computed anew in each turn of a loop that goes, where nobody knows how many there are."""

MOST_OF_A_LINE: Final = 0.5
"""Part of a line's time from which on it is that of what it calls."""

_KEEP: Final = (
    "Compute it once, before the loop or where its inputs are made, and keep the result; where they change later, "
    "compute it anew then. Hand out a copy to those who write to it."
)
_FEW: Final = "Where the inputs are few, compute all results once, before the loop."
_KEEP_EACH: Final = f"Keep each result by its inputs: functools.lru_cache does that. {_FEW}"
_KEEP_BY_CONTENTS: Final = (
    "Keep each result in a dictionary, by what its inputs hold: a tuple of their items, array.tobytes(). functools.lru_cache would know "
    f"objects by their identity, and give old results for those that have changed. {_FEW}"
)
_SEARCH_ONCE: Final = (
    "Search once from the goal, against the direction of the moves, whenever the map changes: keep the distance of each place, or "
    "the move that leads nearer from there, and look it up."
)
_SHOWN: Final = 4
_LONGEST_TITLE: Final = 59
_OF_A_CALL: Final = (ast.Call, ast.Name, ast.Attribute, ast.Constant, ast.Tuple, ast.Starred, ast.keyword, ast.expr_context)  # fmt: skip


def detect(profile: Profile) -> Iterable[Finding]:
    whole = profile.critical.wall_us
    search = SameInputs(profile)
    in_turns = TurnInvariants(profile, search.lines, search.is_as_read)
    turns = in_turns.found()
    told: set[int] = set()
    for repeated in search.found():
        calls = ((node, search.place(node, repeated.work)) for node in repeated.nodes)
        time = calls_time(profile, search.lines, calls)
        is_worth_it = (
            _is_kept(repeated.work, profile, time)
            and not _is_of_turns(time, turns)
            and not _is_quick(repeated, search)
        )
        if time.is_worth(MIN_SHARE) and is_worth_it:
            told |= repeated.nodes
            yield _finding(repeated, time)
    yield from _of_frozen(profile, search.lines)
    for invariant in turns:
        enough = whole and sum(invariant.weights.values()) >= MIN_SHARE * whole
        if enough and told.isdisjoint(invariant.nodes):
            told |= invariant.nodes
            yield _of_turns(profile, search.lines, invariant)
    objects = AskedObjects(profile, search.lines, in_turns.changes, search.is_as_read)
    for asked in objects.found():
        enough = whole and sum(asked.weights.values()) >= MIN_SHARE * whole
        if enough and told.isdisjoint(asked.nodes):
            yield _of_objects(profile, search.lines, asked)


def _is_of_turns(time: LineTime, turns: Iterable[Invariant]) -> bool:
    """Tell whether it is a line that calls what each turn of a loop computes anew, and does little more: the source says why that stays the same."""
    inside = sum(sum(each.weights.values()) for each in turns if each.nodes < time.nodes)
    return inside >= MOST_OF_A_LINE * time.total_us


def _is_quick(repeated: RepeatedWork, search: SameInputs) -> bool:
    """Tell whether to look a result up takes as long as to compute it, as of a few numbers without a loop."""
    if not repeated.work.again or not all(value.is_plain for value in repeated.inputs.values()):
        return False
    frame = search.tree.frame(min(repeated.nodes))
    function = search.lines.function(frame)
    return function is not None and not any(
        isinstance(node, Loop | Comprehension)
        or (isinstance(node, ast.Call) and not hardly_works(node))
        for node in ast.walk(function.node)
    )


def _is_kept(work: PureWork, profile: Profile, time: LineTime) -> bool:
    """Tell whether a map that is searched stays the same for many calls: the looks of a pair are 5 ms of CPU time apart at least, in which a
    short search is made many times.
    """
    if work.searched is None:
        return True
    same, pairs = work.searched
    return same >= KEPT_FOR_ONE * pairs or 0 < time.total_us <= SHORT_US * profile.steady_steps


def _finding(repeated: RepeatedWork, time: LineTime) -> Finding:
    pure, again = repeated.work.pure, repeated.work.again
    is_kept_by_place = again or repeated.work.searched
    callers = frozenset(() if is_kept_by_place else _callers(time.lines, repeated))
    savings = (Saving(time.nodes, _removable(repeated.work)), Saving(callers, AROUND))
    told = [f"{text} ({value.in_words()})" for text, value in repeated.inputs.items()]
    return Finding(
        title=_title(repeated.work, time),
        savings=tuple(saving for saving in savings if saving.nodes),
        locations=time.locations,
        evidence=(
            time.share_spent("on the line" if pure.is_part else "in it"),
            _inputs_in_words(told, repeated.work),
            "it calls nothing that does more than compute",
        ),
        fix=_how_to_keep(repeated),
        confidence=Confidence.BOUNDED if pure.is_part else Confidence.MEASURED,
    )


def _how_to_keep(repeated: RepeatedWork) -> str:
    if repeated.work.searched:
        return _SEARCH_ONCE
    if not repeated.work.again:
        return _KEEP
    # What is an attribute is no argument, by which a cache could know it, and an array has no hash.
    is_told = repeated.work.pure.function and all(
        text.isidentifier() and value.is_plain for text, value in repeated.inputs.items()
    )
    return _KEEP_EACH if is_told else _KEEP_BY_CONTENTS


def _of_turns(profile: Profile, lines: UserLines, invariant: Invariant) -> Finding:
    whole, total = profile.critical.wall_us, sum(invariant.weights.values())
    name, line = _called(invariant.pure.function), heaviest_line(invariant.weights)
    turns = min(invariant.turns)
    least = 1 - 1 / max(1, turns.least)
    removable = Range(least, least if turns.is_exact else max(least, MOST_OF_TURNS))
    each_turn = f"each of {turns.least} turns" if turns.is_exact else "each turn"
    nodes = profile.steady.subtrees(invariant.nodes)
    inputs = ", ".join(sorted(invariant.inputs)[:_SHOWN])
    callers = " and ".join(sorted(invariant.between))
    by, hand = (f"by {callers} ", f", and hand the result to {callers}") if callers else ("", "")
    return Finding(
        title=_with_place([f"{name} is computed anew in each turn"], line),
        savings=(Saving(nodes, removable),),
        locations=lines.shown_locations(invariant.weights, whole),
        evidence=(
            f"{percent(total / whole)} of the steady time is spent in it{of_each_step(total, profile.steady_steps)}",
            f"it is called {by}in {each_turn} of a loop, and no turn changes what it "
            f"depends on: {inputs}",
            "it calls nothing that does more than compute",
        ),
        fix=f"Compute it once before the loop{hand}; or keep it until what it depends on changes.",
        confidence=Confidence.MEASURED if turns.is_exact else Confidence.BOUNDED,
    )


def _of_objects(profile: Profile, lines: UserLines, asked: AskedObject) -> Finding:
    total_us = profile.steady.cost_of(profile.steady.subtrees(asked.nodes)).wall_us
    name, asker = last_name(asked.pure.function), asked.again[0]
    at = " and ".join(map(str, sorted(asked.askers[asker])[:_SHOWN]))
    attributes = ", ".join(sorted(asked.attributes)[:_SHOWN])
    return Finding(
        title=_with_place(
            [f"{name} is computed anew for one object"], heaviest_line(asked.weights)
        ),
        savings=(
            Saving(
                profile.steady.subtrees(asked.nodes),
                Range(REMOVABLE.low * asked.again_us() / total_us, MOST_OF_TURNS),
            ),
        ),
        locations=lines.shown_locations(asked.weights, profile.critical.wall_us),
        evidence=(
            f"{percent(total_us / profile.critical.wall_us)} of the steady time is spent in it{of_each_step(total_us, profile.steady_steps)}",
            f"lines {at} ask {asker.receiver} one after the other, and {len(asked.weights)} lines in all",
            f"what it reads of its object is given where that is made, and stays: {attributes}",
        ),
        fix="Compute it once for each object: where that is made, or at the first call (functools.cached_property; a class with __slots__ keeps it in an attribute).",
        confidence=Confidence.BOUNDED,
    )


def _of_frozen(profile: Profile, lines: UserLines) -> Iterator[Finding]:
    found = FrozenSearch(profile, lines).found()
    time = own_time(profile, lines, found, MIN_SHARE)
    if time is None:
        return
    most = time.most
    turns = "each turn" if most.epochs is None else f"each of {most.epochs} turns"
    yield Finding(
        title=f"a frozen network answers anew in each epoch ({time.place})",
        savings=tuple(Saving(frozenset(each.nodes), _of_epochs(each)) for each in found),
        locations=time.locations,
        evidence=(
            time.share_spent("in its calls"),
            f"no look found {most.network} changed, and no optimizer moves it",
            f"it is asked in {turns} of the loop at line {most.loop_line} for rows of {', '.join(sorted(most.data)[:_SHOWN])}, which no turn "
            "changes",
        ),
        fix="Ask it once for all rows, under torch.no_grad() and before the loop, and pick rows of its answers as of the data. Where it drops units at "
        "random, or normalizes over a batch, that gives other answers: then leave it.",
        confidence=Confidence.BOUNDED,
    )


def _of_epochs(answers: FrozenAnswers) -> Range:
    """Part of its calls that goes: all but those of one turn."""
    if answers.epochs is None:
        return Range(0.5, MOST_OF_TURNS)
    part = 1 - 1 / answers.epochs
    return Range(REMOVABLE.low * part, part)


def _called(qualname: str) -> str:
    """The name by which it is called: that of its class for ``__call__``."""
    name = last_name(qualname)
    return last_name(qualname.rpartition(".")[0]) if name.startswith("__") else name


def _callers(lines: UserLines, repeated: RepeatedWork) -> Iterator[int]:
    """Yield the callers of a function that do nothing else on their line: what they take themselves is the call."""
    name = last_name(repeated.work.pure.function)
    for node in repeated.nodes if name else ():
        caller = lines.tree.nodes[node].parent
        if caller != NO_PARENT and lines.owner(caller) == caller:
            statements = lines.statements(lines.tree.frame(caller))
            if len(statements) == 1 and _only_calls(statements[0], name):
                yield caller


def _only_calls(statement: Statement, name: str) -> bool:
    nodes = list(statement.walk())
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return (
        isinstance(statement.node, ast.Assign | ast.AnnAssign | ast.Return | ast.Expr)
        and all(isinstance(node, _OF_A_CALL) for node in nodes)
        and len(calls) == 1
        and called_name(calls[0]) == name
    )


def _inputs_in_words(told: Sequence[str], work: PureWork) -> str:
    if work.searched is not None:
        same, pairs = work.searched
        moved = [text for text, value in work.inputs.items() if value.changed and is_a_place(value)]
        return (
            f"of {pairs} pairs of calls soon after each other {same} had the same map; "
            f"what changed is where it begins: {', '.join(moved)}"
        )
    if (again := work.again) is not None:
        return f"{again[0]} of {again[1]} calls that were looked at had the inputs of another one: {', '.join(told[:_SHOWN])}"
    return (
        f"the same at each look: {', '.join(told[:_SHOWN])}"
        if told
        else "it works on constants alone"
    )


def _removable(work: PureWork) -> Range:
    if work.searched is not None:
        # One search of the whole map is left for each change of it. A pair is one call apart at least, and mostly many.
        same, pairs = work.searched
        return Range(REMOVABLE.low * same / pairs, REMOVABLE.high)
    if work.again is None:
        # Windows tell of half as many calls, the first of which stays.
        least = 1 - 1 / ((work.windows + 1) // 2)
        whole = OF_A_PART if work.pure.is_part else REMOVABLE
        return Range(min(whole.low, least), whole.high)
    part = Range.of_share(work.again[0] / work.again[1], work.again[1])
    is_key = all(map(_is_a_key, filter(is_new_at_times, work.inputs.values())))
    # Calls that nobody looked at may have had the same inputs, too.
    return Range(REMOVABLE.low * part.low if is_key else 0.0, REMOVABLE.high)


def _title(work: PureWork, time: LineTime) -> str:
    if work.searched is not None:
        name = last_name(work.pure.function)
        searches = [f"{name} searches anew for each place", "a map is searched anew for each place"]
        return _with_place(searches, time.heaviest)
    how = "again for old inputs" if work.again else "again and again"
    other = "part of a line" if work.pure.is_part else "a value"
    names = [name for name in (last_name(work.pure.function), other) if name]
    return _with_place([f"{name} is computed {how}" for name in names], time.heaviest)


def _with_place(titles: Sequence[str], line: Line) -> str:
    """Return the first that fits, with its place if there is room for it."""
    places = (f" ({short_place(line)})", "")
    told = [f"{title}{place}" for place in places for title in titles]
    return next((title for title in told if len(title) <= _LONGEST_TITLE), told[-1])


def _is_a_key(value: Value) -> bool:
    """Tell whether a result can be looked up by it as it is, or by the bytes of an array; a container has to be made into a tuple first."""
    return value.is_plain or value.is_array or (value.type == "tuple" and not value.holds_objects)


DETECTOR: Final = Detector(
    id="repeated-work",
    name="results computed again from the same inputs",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
