"""Results that are computed again and again: from inputs that stay as they are, or that were given before."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import LineTime, calls_time
from rlprof.detectors.recognisers.turn_invariants import Invariant, TurnInvariants
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import Line, UserLines, heaviest_line, last_name, short_place
from rlprof.source.value import Value
from rlprof.source.values import Values
from rlprof.syntax.module import SourceModule, Statement, called_name
from rlprof.syntax.origin import installed_package
from rlprof.syntax.pure import Pure, only_computes_at, pure_at
from rlprof.units import of_each_step, percent

MIN_SHARE: Final = 0.03
"""Least share of the critical time: below it are the small constants that every program makes anew."""

REMOVABLE: Final = Range(0.8, 1.0)
"""Part that goes where the result is kept: all but a read of it, or a copy where somebody writes to the result."""

OF_A_PART: Final = Range(0.3, 1.0)
"""The same of a line that does more."""

AROUND: Final = Range(0.0, 0.5)
"""The same of a line that does nothing but call it."""

OF_TURNS: Final = Range(0.0, 0.98)
"""Part of what is computed anew in each turn of a loop that goes, where nobody knows how many there are: nothing of one turn, nearly all of many."""

LOOKS: Final = 3
"""Comparisons of each input."""

LOOKS_AT_NUMBERS: Final = 5
"""The same of a variable that is a number, a truth value or a text: one of few values is the same now and then by chance."""

ENTERED: Final = 3
"""Windows of the recording in which one process entered or left it: one long call has two."""

CALLS: Final = 8
"""Looks at a function's inputs, from which on those that came again are counted."""

LEAST_AGAIN: Final = 0.3
"""Part of the calls with inputs that were given before, from which on results are worth keeping."""

MOST_IN_A_KEY: Final = 1_000
"""Numbers of an input, from which on to look its result up may take longer than to compute it: ``tobytes`` of 10 000 takes 20 µs, their mean 8."""

LARGER: Final = 20
"""Numbers that the part which is the same works on, for each of the others on its line."""

_KEEP: Final = (
    "Compute it once, before the loop or where its inputs are made, and keep the result; where they change later, "
    "compute it anew then. Hand out a copy to those who write to it."
)
_KEEP_EACH: Final = (
    "Keep each result by its inputs: functools.lru_cache where they can be hashed, or a dictionary (array.tobytes() is a key of an array). "
    "Where the inputs are few, compute all results once, before the loop."
)
_SHOWN: Final = 4
_LONGEST_TITLE: Final = 59
_OF_A_CALL: Final = (ast.Call, ast.Name, ast.Attribute, ast.Constant, ast.Tuple, ast.Starred, ast.keyword, ast.expr_context)  # fmt: skip
_COMPUTING: Final = frozenset(("", "numpy", "scipy", "torch", "rlprof"))
"""Packages whose functions pure work may pass through, besides those of Python: ours is the probe."""


@dataclass(frozen=True, slots=True)
class _PureWork:
    """A pure function, statement or part of a line, with inputs that stay as they are."""

    pure: Pure
    inputs: Mapping[str, Value]
    """By how they are written."""
    enclosing: str
    """The function that it is in."""
    windows: int
    """Those of the recording in which one process entered or left it."""
    again: tuple[int, int] | None = None
    """Calls that had inputs of another one, and calls that were looked at; None where the inputs are the same each time."""


@dataclass
class _Repeated:
    """One function that is pure, or the pure work on lines of one that is not."""

    work: _PureWork
    inputs: dict[str, Value] = field(default_factory=dict)
    nodes: set[int] = field(default_factory=set)


def detect(profile: Profile) -> Iterable[Finding]:
    whole = profile.critical.wall_us
    search = _Search(profile)
    told: set[int] = set()
    for repeated in search.found():
        calls = ((node, search.place(node, repeated.work)) for node in repeated.nodes)
        time = calls_time(profile.steady, calls)
        if whole and time.total_us >= MIN_SHARE * whole:
            told |= repeated.nodes
            yield _finding(profile, search.lines, repeated, time)
    for invariant in TurnInvariants(profile, search.lines, search.is_as_read).found():
        enough = whole and sum(invariant.weights.values()) >= MIN_SHARE * whole
        if enough and told.isdisjoint(invariant.nodes):
            yield _of_turns(profile, search.lines, invariant)


def _finding(profile: Profile, lines: UserLines, repeated: _Repeated, time: LineTime) -> Finding:
    whole, pure, again = profile.critical.wall_us, repeated.work.pure, repeated.work.again
    callers = frozenset(() if again else _callers(lines, repeated))
    savings = (Saving(time.nodes, _removable(repeated.work)), Saving(callers, AROUND))
    told = [f"{text} ({value.in_words()})" for text, value in repeated.inputs.items()]
    return Finding(
        title=_title(repeated.work, time),
        savings=tuple(saving for saving in savings if saving.nodes),
        locations=lines.shown_locations(time.weights, whole),
        evidence=(
            f"{percent(time.total_us / whole)} of the steady time is spent {'on the line' if pure.is_part else 'in it'}"
            + of_each_step(time.total_us, profile.steady_steps),
            _inputs_in_words(told, again),
            "it calls nothing that does more than compute",
        ),
        fix=_KEEP_EACH if again else _KEEP,
        confidence=Confidence.BOUNDED if pure.is_part else Confidence.MEASURED,
    )


def _of_turns(profile: Profile, lines: UserLines, invariant: Invariant) -> Finding:
    whole, total = profile.critical.wall_us, sum(invariant.weights.values())
    name, line = _called(invariant.pure.function), heaviest_line(invariant.weights)
    turns = (
        min((number for number in invariant.turns if number), default=0)
        if None not in invariant.turns
        else 0
    )
    nodes = frozenset(below for node in invariant.nodes for below in profile.steady.subtree(node))
    inputs = ", ".join(sorted(invariant.inputs)[:_SHOWN])
    callers = " and ".join(sorted(invariant.between))
    by, hand = (f"by {callers} ", f", and hand the result to {callers}") if callers else ("", "")
    return Finding(
        title=_with_place([f"{name} is computed anew in each turn"], line),
        savings=(Saving(nodes, Range(1 - 1 / turns, 1 - 1 / turns) if turns > 1 else OF_TURNS),),
        locations=lines.shown_locations(invariant.weights, whole),
        evidence=(
            f"{percent(total / whole)} of the steady time is spent in it{of_each_step(total, profile.steady_steps)}",
            f"it is called {by}in each turn of a loop{f' of {turns}' if turns else ''}, and no turn changes what it "
            f"depends on: {inputs}",
            "it calls nothing that does more than compute",
        ),
        fix=f"Compute it once before the loop{hand}; or keep it until what it depends on changes.",
        confidence=Confidence.MEASURED if turns else Confidence.BOUNDED,
    )


def _called(qualname: str) -> str:
    """The name by which it is called: that of its class for ``__call__``."""
    name = last_name(qualname)
    return last_name(qualname.rpartition(".")[0]) if name.startswith("__") else name


def _callers(lines: UserLines, repeated: _Repeated) -> Iterator[int]:
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


def _inputs_in_words(told: Sequence[str], again: tuple[int, int] | None) -> str:
    if again is not None:
        return f"{again[0]} of {again[1]} calls that were looked at had the inputs of another one: {', '.join(told[:_SHOWN])}"
    return (
        f"the same at each look: {', '.join(told[:_SHOWN])}"
        if told
        else "it works on constants alone"
    )


def _removable(work: _PureWork) -> Range:
    if work.again is None:
        # Windows tell of half as many calls, the first of which stays.
        least = 1 - 1 / ((work.windows + 1) // 2)
        whole = OF_A_PART if work.pure.is_part else REMOVABLE
        return Range(min(whole.low, least), whole.high)
    part = Range.of_share(work.again[0] / work.again[1], work.again[1])
    is_key = all(map(_is_a_key, filter(_is_new_at_times, work.inputs.values())))
    # Calls that nobody looked at may have had the same inputs, too.
    return Range(REMOVABLE.low * part.low if is_key else 0.0, REMOVABLE.high)


def _title(work: _PureWork, time: LineTime) -> str:
    how = "again for old inputs" if work.again else "again and again"
    other = "part of a line" if work.pure.is_part else "a value"
    names = [name for name in (last_name(work.pure.function), other) if name]
    return _with_place([f"{name} is computed {how}" for name in names], time.heaviest)


def _with_place(titles: Sequence[str], line: Line) -> str:
    """Return the first that fits, with its place if there is room for it."""
    places = (f" ({short_place(line)})", "")
    told = [f"{title}{place}" for place in places for title in titles]
    return next((title for title in told if len(title) <= _LONGEST_TITLE), told[-1])


class _Search:
    """Finds pure work whose inputs were the same at each look."""

    def __init__(self, profile: Profile) -> None:
        self.lines = UserLines(profile.steady, profile.sources, profile.started_package)
        self._values = Values(profile.values)
        self._tree = profile.steady
        self._known: dict[Frame, _PureWork | None] = {}

    def found(self) -> Collection[_Repeated]:
        """Each with the nodes of its calls, none of them below another one's."""
        found: dict[tuple[str, str, bool], _Repeated] = {}
        inside: set[int] = set()
        refused: set[tuple[str, str, bool]] = set()
        for node in self._tree.hot_nodes() if self._values else ():
            if self._tree.nodes[node].parent in inside:
                inside.add(node)
                continue
            frame = self._tree.frame(node)
            work = self._work(frame) if self.lines.is_yours(frame) else None
            if work is None or not self.lines.is_repeated(node):
                continue
            key = (frame.file, work.pure.function or f"in {work.enclosing}", work.pure.is_part)
            if self._does_more(node, work.pure):
                refused.add(key)
                continue
            inside.add(node)
            group = found.setdefault(key, _Repeated(work))
            group.nodes.add(node)
            group.inputs |= work.inputs
        return [group for key, group in found.items() if key not in refused]

    def place(self, node: int, work: _PureWork) -> Line:
        """Where a function is called, if that is a line of the user's; else where the work is."""
        caller = self.lines.owner(self._tree.nodes[node].parent)
        return self.lines.line(caller if work.pure.function and caller != NO_PARENT else node)

    def is_as_read(self, node: int, pure: Pure) -> bool:
        """Tell whether what runs there is what the source says."""
        frame = self._tree.frame(node)
        return not self._is_overridden(frame, pure) and not self._does_more(node, pure)

    def _does_more(self, node: int, pure: Pure) -> bool:
        """Tell whether something was seen to be called that was not read: a method that a class of another file has in place of the one
        that was.
        """
        own = self._tree.frame(node)
        module = self.lines.module(own.file)
        for below in self._tree.subtree(node):
            frame = self._tree.frame(below)
            is_own = frame.file == own.file and (
                frame.line in pure.lines
                or (module is not None and only_computes_at(module, frame.line))
            )
            if self.lines.owner(below) == below and not is_own:
                return True
            if installed_package(frame.file) not in _COMPUTING:
                return True
        return False

    def _work(self, frame: Frame) -> _PureWork | None:
        if frame not in self._known:
            module = self.lines.module(frame.file) if self._values.has(frame.file) else None
            around = [
                (pure, inputs)
                for pure in (pure_at(module, frame) if module else ())
                if (inputs := self._inputs(frame, pure)) is not None
            ]
            read = (self._read(frame, pure, inputs) for pure, inputs in around)
            called = (self._read_calls(frame, pure, inputs) for pure, inputs in around)
            works = (work for work in (*read, *called) if work is not None)
            self._known[frame] = next((work for work in works if work.windows >= ENTERED), None)
        return self._known[frame]

    def _inputs(self, frame: Frame, pure: Pure) -> Mapping[str, Value] | None:
        """Return what pure work was seen to depend on; None where one input was not, or a method may be another one than was read."""
        known = self._values.between(frame.file, pure.lines, frame.function)
        inputs = {
            operand.text: value for operand in pure.inputs if (value := known.get(operand.text))
        }
        is_known = len(inputs) == len(pure.inputs) and not self._is_overridden(frame, pure)
        return inputs if is_known else None

    def _is_overridden(self, frame: Frame, pure: Pure) -> bool:
        """Tell whether methods of its object are called, and that is of a class in another file which has methods of these names, too."""
        own = self._values.within(frame.file, frame.function).get("self")
        module = self.lines.module(frame.file)
        if own is None or module is None or own.file in ("", frame.file):
            return False
        derived = self.lines.module(own.file)
        called = {
            node.func.attr
            for statement in module.statements
            if statement.first_line in pure.lines
            for node in statement.walk()
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        methods = _methods(module)
        if methods.isdisjoint(called):
            return False
        # Any of them: one that is called may call further ones.
        return derived is None or not methods.isdisjoint(_methods(derived))

    def _windows(self, frame: Frame, pure: Pure) -> int:
        field = "entered" if pure.function else "reached"
        known = self._values.between(frame.file, pure.lines, frame.function)
        return max((value.windows(field) for value in known.values()), default=0)

    def _read(self, frame: Frame, pure: Pure, inputs: Mapping[str, Value]) -> _PureWork | None:
        """The work, if its inputs were compared often enough and never changed."""
        is_same = all(
            value.unchanged_looks >= _fewest_looks(text, value)
            and not self._values.changes(frame.file, frame.function, text)
            for text, value in inputs.items()
        )
        around = self._values.between(frame.file, pure.lines)
        if not is_same or (pure.is_part and not _is_most(inputs, around)):
            return None
        return _PureWork(pure, inputs, frame.function, self._windows(frame, pure))

    def _read_calls(
        self, frame: Frame, pure: Pure, inputs: Mapping[str, Value]
    ) -> _PureWork | None:
        """A function that was called with inputs that it had before, if they are short enough to look its result up by them."""
        again, calls = max((value.calls_again for value in inputs.values()), default=(0, 0))
        is_again = calls >= CALLS and again >= LEAST_AGAIN * calls
        if not pure.keeps_arguments or not is_again:
            return None
        if any(value.leaves > MOST_IN_A_KEY for value in filter(_is_new_at_times, inputs.values())):
            return None
        return _PureWork(pure, inputs, frame.function, self._windows(frame, pure), (again, calls))


def _methods(module: SourceModule) -> set[str]:
    return {
        function.node.name
        for function in module.functions
        if function.class_name and not function.node.name.startswith("__")
    }


def _is_new_at_times(value: Value) -> bool:
    return not value.unchanged_looks


def _is_a_key(value: Value) -> bool:
    """Tell whether a result can be looked up by it as it is, or by the bytes of an array; a container has to be made into a tuple first."""
    return value.is_plain or value.is_array or (value.type == "tuple" and not value.holds_objects)


def _fewest_looks(text: str, value: Value) -> int:
    return LOOKS_AT_NUMBERS if text.islower() and text.isidentifier() and value.is_plain else LOOKS


def _is_most(inputs: Mapping[str, Value], known: Mapping[str, Value]) -> bool:
    """Tell whether ``inputs`` have nearly all the numbers that a line works on, as far as looks tell."""
    own = other = 0
    for text, value in known.items():
        if (
            value.is_compiled
            or value.type == "module"
            or (value.function and installed_package(value.file))
        ):
            continue  # The calls on the line were read.
        size = value.numbers or value.length
        if size is None or value.holds_objects or not value.is_on_cpu:
            return False  # A network, a function of the user's, a wait for the GPU: anything may take its time there.
        own, other = (own + size, other) if text in inputs else (own, other + size)
    return own >= LARGER * other


DETECTOR: Final = Detector(
    id="repeated-work",
    name="results computed again from the same inputs",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
