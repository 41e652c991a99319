"""Results that are computed again and again: from inputs that stay as they are, or that were given before."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import LineTime, calls_time
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import Line, UserLines, last_name, short_place
from rlprof.source.values import Value, Values
from rlprof.syntax.origin import installed_package
from rlprof.syntax.pure import Pure, pure_around
from rlprof.units import of_each_step, percent

MIN_SHARE: Final = 0.03
"""Least share of the critical time: below it are the small constants that every program makes anew."""

REMOVABLE: Final = Range(0.8, 1.0)
"""Part that goes where the result is kept: all but a read of it, or a copy where somebody writes to the result."""

OF_A_PART: Final = Range(0.3, 1.0)
"""The same of a line that does more."""

AROUND: Final = Range(0.0, 0.5)
"""The same of what the line that calls it does itself: much of it is the call."""

LOOKS: Final = 3
"""Comparisons of each input."""

LOOKS_AT_NUMBERS: Final = 5
"""The same of a variable that is a number, a truth value or a text: one of few values is the same now and then by chance."""

ENTERED: Final = 3
"""Windows of the recording in which it was entered or left: one long call has two."""

CALLS: Final = 8
"""Looks at a function's inputs, from which on those that came again are counted."""

LEAST_AGAIN: Final = 0.3
"""Part of the calls with inputs that were given before, from which on results are worth keeping."""

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


@dataclass(frozen=True, slots=True)
class _Work:
    """A pure function, statement or part of a line, with inputs that stay as they are."""

    pure: Pure
    inputs: Mapping[str, Value]
    """By how they are written."""
    enclosing: str
    """The function that it is in."""
    again: tuple[int, int] | None = None
    """Calls that had inputs of another one, and calls that were looked at; None where the inputs are the same each time."""

    @property
    def is_called_again(self) -> bool:
        """True if it was seen to begin or to end often enough; what has no inputs is not looked at."""
        field = "entered" if self.pure.function else "reached"
        seen = [value.windows(field) for value in self.inputs.values()]
        return not seen or max(seen) >= ENTERED


@dataclass
class _Repeated:
    """One function that is pure, or the pure work on lines of one that is not."""

    work: _Work
    inputs: dict[str, Value] = field(default_factory=dict)
    nodes: set[int] = field(default_factory=set)


def detect(profile: Profile) -> Iterable[Finding]:
    whole = profile.critical.wall_us
    search = _Search(profile)
    for repeated in search.found():
        time = calls_time(
            profile.steady, ((it, search.place(it, repeated.work)) for it in repeated.nodes)
        )
        if whole and time.total_us >= MIN_SHARE * whole:
            yield _finding(profile, search.lines, repeated, time)


def _finding(profile: Profile, lines: UserLines, repeated: _Repeated, time: LineTime) -> Finding:
    tree, whole, pure = profile.steady, profile.critical.wall_us, repeated.work.pure
    callers = {tree.nodes[it].parent for it in repeated.nodes if pure.function} - {NO_PARENT}
    again = repeated.work.again
    savings = (
        Saving(time.nodes, _removable(repeated.work)),
        Saving(frozenset(callers if not again else ()), AROUND),
    )
    told = [f"{text} ({value.in_words()})" for text, value in repeated.inputs.items()]
    how = "for inputs that it had before" if again else "again and again"
    return Finding(
        title=f"{_what(repeated.work, time)} is computed {how} ({short_place(time.heaviest)})",
        savings=tuple(it for it in savings if it.nodes),
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


def _inputs_in_words(told: Sequence[str], again: tuple[int, int] | None) -> str:
    if again is not None:
        return f"{again[0]} of {again[1]} calls that were looked at had the inputs of another one: {', '.join(told[:_SHOWN])}"
    return (
        f"the same at each look: {', '.join(told[:_SHOWN])}"
        if told
        else "it works on constants alone"
    )


def _removable(work: _Work) -> Range:
    if work.again is None:
        return OF_A_PART if work.pure.is_part else REMOVABLE
    part = Range.of_share(work.again[0] / work.again[1], work.again[1])
    # Calls that nobody looked at may have had the same inputs, too.
    return Range(REMOVABLE.low * part.low, REMOVABLE.high)


def _what(work: _Work, time: LineTime) -> str:
    if work.pure.function:
        return last_name(work.pure.function)
    return (
        f"part of a line of {last_name(time.heaviest.function)}" if work.pure.is_part else "a value"
    )


class _Search:
    """Finds pure work whose inputs were the same at each look."""

    def __init__(self, profile: Profile) -> None:
        self.lines = UserLines(profile.steady, profile.sources, profile.started_package)
        self._values = Values(profile.values)
        self._tree = profile.steady
        self._known: dict[Frame, _Work | None] = {}

    def found(self) -> Collection[_Repeated]:
        """Each with the nodes of its calls, none of them below another one's."""
        found: dict[tuple[str, str, bool], _Repeated] = {}
        inside: set[int] = set()
        for node in self._tree.hot_nodes() if self._values else ():
            if self._tree.nodes[node].parent in inside:
                inside.add(node)
                continue
            frame = self._tree.frame(node)
            work = self._work(frame) if self.lines.is_yours(frame) else None
            if work is not None and self.lines.is_repeated(node):
                inside.add(node)
                key = (frame.file, work.pure.function or f"in {work.enclosing}", work.pure.is_part)
                group = found.setdefault(key, _Repeated(work))
                group.nodes.add(node)
                group.inputs |= work.inputs
        return found.values()

    def place(self, node: int, work: _Work) -> Line:
        """Where a function is called, if that is a line of the user's; else where the work is."""
        caller = self.lines.owner(self._tree.nodes[node].parent)
        return self.lines.line(caller if work.pure.function and caller != NO_PARENT else node)

    def _work(self, frame: Frame) -> _Work | None:
        if frame not in self._known:
            module = self.lines.module(frame.file) if self._values.has(frame.file) else None
            around = pure_around(module, frame.line) if module else ()
            read = (self._read(frame, pure) for pure in around)
            called = (self._read_calls(frame, pure) for pure in around)
            self._known[frame] = next((it for it in (*read, *called) if it is not None), None)
        return self._known[frame]

    def _read(self, frame: Frame, pure: Pure) -> _Work | None:
        """The work, if its inputs were compared often enough and never changed."""
        known = self._values.between(frame.file, pure.lines)
        inputs = {it.text: value for it in pure.inputs if (value := known.get(it.text))}
        is_same = len(inputs) == len(pure.inputs) and all(
            value.unchanged_looks >= _fewest_looks(text, value)
            and not self._values.changes(frame.file, frame.function, text)
            for text, value in inputs.items()
        )
        if not is_same or (pure.is_part and not _is_most(inputs, known)):
            return None
        work = _Work(pure, inputs, frame.function)
        return work if work.is_called_again else None

    def _read_calls(self, frame: Frame, pure: Pure) -> _Work | None:
        """A function that was called with inputs that it had before."""
        known = self._values.between(frame.file, pure.lines)
        inputs = {it.text: value for it in pure.inputs if (value := known.get(it.text))}
        if not pure.keeps_arguments or len(inputs) < len(pure.inputs):
            return None
        again, calls = max((it.calls_again for it in inputs.values()), default=(0, 0))
        work = _Work(pure, inputs, frame.function, (again, calls))
        is_again = calls >= CALLS and again >= LEAST_AGAIN * calls
        return work if is_again and work.is_called_again else None


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
        if size is None:
            return False  # A network, an environment, a function of the user's: anything may take its time there.
        own, other = (own + size, other) if text in inputs else (own, other + size)
    return own >= LARGER * other


DETECTOR: Final = Detector(
    id="repeated-work",
    name="results computed again from the same inputs",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
