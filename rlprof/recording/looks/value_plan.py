"""Tell which lines' values agents are to look at, how often, and what they saw."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from rlprof.model.recording import Frame, SeenValue
from rlprof.recording.looks.hot_lines import FIRST_US, HotLines
from rlprof.recording.looks.looks_from_callers import LooksFromCallers
from rlprof.recording.looks.seen_inputs import SeenInputs
from rlprof.recording.looks.step_plan import StepPlan
from rlprof.recording.mailboxes.look_table import LookTold, is_to_compare, to_compare
from rlprof.recording.mailboxes.mailbox import MailboxReader
from rlprof.recording.tracked import ProcessWindow
from rlprof.syntax.operands import MOST_OPERANDS, Operand, operands
from rlprof.syntax.padding import looked_at
from rlprof.syntax.pure import Pure, pure_at
from rlprof.syntax.searches import search_begins_with

_MOST_COST: Final = 0.0007
"""CPU time of looks over that of the process: under a thousandth."""
_FREE_US: Final = 10_000
"""CPU time that they may cost at the beginning."""
_MOST_AT_ONCE: Final = 6
"""Lines that an agent is asked for in one window, before it is known what they cost."""

_AGAIN: Final = 2.0
"""Times the time of a line at one look, from which on it is looked at again."""
_COMPARED_AGAIN: Final = 1.3
"""The same where something is compared with the look before."""
_COUNTED_AGAIN: Final = 1.05
"""The same of a function whose inputs change, where those that come again are counted."""
_ASKED_AGAIN: Final = 1.1
"""The same of a line that was asked for, as long as no sample has met it."""

_MOST_KEPT: Final = 8
"""Different descriptions of one name; what comes later takes the place of the last."""


class _LookPlace(NamedTuple):
    """A pure function, or a statement with such work, by the frames that are in it."""

    file: str
    function: str
    lines: range


class ValuePlan:
    def __init__(self, lines: HotLines, steps: StepPlan | None = None) -> None:
        """``steps``: which calls to have counted; None for none."""
        self._lines = lines
        self._steps = steps
        self._callers = LooksFromCallers(lines)
        self._looked: set[Frame] = set()
        """Lines that a look has met."""
        self._next_look_us: dict[Frame, float] = {}
        """The time from which on a line is to be looked at again."""
        self._seen: dict[tuple[str, str, int, str], list[SeenValue]] = {}
        self._prints: dict[tuple[int, Frame, str], str] = {}
        """Prints that the contents of an operand were told by last, by process, line and text."""
        self._compared: dict[Frame, dict[str, dict[str, int]]] = {}
        """How often they were the ``same`` as at the look before, and how often ``other``, by line and text."""
        self._changing: set[tuple[str, str, str]] = set()
        """Operands that were not the same at some line, by file, function and text."""
        self._untold: set[tuple[str, str, str]] = set()
        """Operands of which agents cannot tell the contents."""
        self._inputs: dict[tuple[str, str], SeenInputs] = {}
        """Those of pure functions, by file and qualified name."""
        self._places: dict[Frame, dict[str, _LookPlace]] = {}
        """Where pure work was looked at: its function as ``entered``, its statement as ``reached``."""
        self._partly: dict[_LookPlace, Counter[int]] = {}
        """Windows in which a process was there at some times and at others not, by process."""

    def follow(
        self, process: int, mailbox: MailboxReader, window: ProcessWindow, now_us: int
    ) -> None:
        """Take in what a process told, and ask it for more where lines have become hot."""
        for told in mailbox.looks.take():
            if told.again:
                self._compare_soon(process, told)
                continue
            self._keep(process, told, now_us)
            self._next_look_us[told.frame] = self._again(told) * self._lines.spent_us(told.frame)
        ways = self._lines.add(process, window.eye)
        self._note_calls(process, ways)
        missed = self._next_look_us.keys() - self._looked
        for caller in self._callers.note(ways, missed, self._looked):
            self._next_look_us.pop(caller, None)
        if self._steps is not None:
            self._steps.heard(process, mailbox.looks.take_counted(), now_us)
            self._steps.counted(process, window.counts)
        if not ways or not mailbox.looks.is_open:
            return
        # Steps that are not counted are worth a look that costs too much.
        counted = self._steps.wanted(process, ways) if self._steps is not None else []
        may_cost_us = _FREE_US + _MOST_COST * self._lines.of_process_us(process)
        present = {frame for way in ways for frame in way} - {frame for frame, _ in counted}
        due = self._due(present) if mailbox.looks_cost_us <= may_cost_us else []
        wanted = (*counted, *due)[:_MOST_AT_ONCE]
        if wanted:
            # Not those that are only counted.
            for frame in {frame for frame, _ in due}.intersection(mailbox.looks.ask(wanted)):
                self._next_look_us[frame] = _ASKED_AGAIN * self._lines.spent_us(frame)

    def seen(self) -> list[SeenValue]:
        return [value for key in self._seen for value in self._seen_at(key)]

    def _seen_at(self, key: tuple[str, str, int, str]) -> Iterator[SeenValue]:
        *earlier, last = self._seen[key]
        yield from earlier
        frame = Frame(*key[:3])
        counts = dict(self._compared.get(frame, {}).get(key[3], {}))
        called = self._pure_function(frame) if counts else None
        inputs = self._inputs.get((frame.file, called.function)) if called else None
        if called and inputs is not None and not self._is_untold(frame, called):
            counts |= {"calls": inputs.calls, "once": inputs.once}
        for field, place in self._places.get(frame, {}).items():
            # Not all together: each of three workers may be in one long call.
            counts[field] = max(self._partly[place].values(), default=0)
        yield last._replace(
            fields={**last.fields, **{name: str(count) for name, count in counts.items()}}
        )

    def files(self) -> set[str]:
        """Those in which the functions and classes are defined that were seen."""
        return {file for value in self.seen() if (file := value.fields.get("file"))}

    def _due(self, present: Iterable[Frame]) -> list[tuple[Frame, Sequence[Operand]]]:
        spent_us, next_us = self._lines.spent_us, self._next_look_us
        due = [
            frame for frame in present if self._lines.is_hot(frame, next_us.get(frame, FIRST_US))
        ]
        asked = [
            (frame, names)
            for frame in due
            if not self._lines.is_late and (names := self._operands(frame))
        ]
        # Lines that nobody has looked at yet come first, then those that may compute the same each time.
        asked.sort(
            key=lambda look: (
                look[0] in next_us,
                not any(map(is_to_compare, look[1])),
                -spent_us(look[0]),
                look[0],
            )
        )
        return asked

    def _operands(self, frame: Frame) -> Sequence[Operand]:
        module = self._lines.module(frame)
        found: Sequence[Operand] = operands(module, frame.line) if module else ()
        function = module.function_at(frame.line) if module else None
        if module is not None and function is not None:
            found = (*found, *looked_at(module, function.first_line))
        # First: a line may have more operands than are looked at.
        found = (*self._callers.operands(frame), *found)
        inputs, in_pairs = self._inputs_to_compare(frame)
        others = (operand for operand in found if operand not in inputs)
        found = [*to_compare(inputs, in_pairs=in_pairs), *others][:MOST_OPERANDS]
        keyed = [
            operand for operand in found if any(step.startswith("s") for step in operand.steps[1:])
        ]
        if not keyed:
            return found
        # A key may be a secret: what is hidden in the source is not asked for.
        hidden = self._lines.module_without_secrets(frame)
        told = {operand.text for operand in operands(hidden, frame.line)} if hidden else set()
        return [operand for operand in found if operand not in keyed or operand.text in told]

    def _again(self, told: LookTold) -> float:
        """Times the time of a line now, from which on it is looked at again."""
        if not any("print" in described for described in told.values.values()):
            return _AGAIN
        called = self._pure_function(told.frame)
        return _COUNTED_AGAIN if called and self._changes(told.frame, called) else _COMPARED_AGAIN

    def _changes(self, frame: Frame, pure: Pure) -> bool:
        """Tell whether an input was not the same at some look."""
        return any((*frame[:2], operand.text) in self._changing for operand in pure.inputs)

    def _is_untold(self, frame: Frame, pure: Pure) -> bool:
        """Tell whether nobody can tell if it has the inputs of another time: one of them was not to be compared at some look."""
        return any((*frame[:2], operand.text) in self._untold for operand in pure.inputs)

    def _inputs_to_compare(self, frame: Frame) -> tuple[Sequence[Operand], bool]:
        """Return what pure work at ``frame`` depends on: of what may be the same each time, else of a function that may be called with the same
        again; the second is True for a search, of which it is to be seen what stays the same from call to call.
        """
        for pure in self._pure(frame):
            if not self._changes(frame, pure) and not self._is_untold(frame, pure):
                return pure.inputs, False
        called = self._pure_function(frame)
        if called is None or self._is_untold(frame, called):
            return (), False
        seen = self._inputs.get((frame.file, called.function))
        inputs = () if seen and seen.are_all_new else called.inputs
        return inputs, self._searches(frame)

    def _searches(self, frame: Frame) -> bool:
        module = self._lines.module(frame)
        function = module.function_at(frame.line) if module else None
        node = function.node if function else None
        return isinstance(node, ast.FunctionDef) and bool(search_begins_with(node))

    def _pure(self, frame: Frame) -> Sequence[Pure]:
        module = self._lines.module(frame)
        return pure_at(module, frame) if module else ()

    def _pure_function(self, frame: Frame) -> Pure | None:
        """The one that ``frame`` is in, if its arguments can be told anywhere in it."""
        return next((pure for pure in self._pure(frame) if pure.keeps_arguments), None)

    def _note_inputs(self, process: int, told: LookTold) -> None:
        called = self._pure_function(told.frame)
        if called is None:
            return
        prints = [told.values.get(operand.text, {}).get("print") for operand in called.inputs]
        # An empty one is of what cannot be compared.
        if prints and all(prints):
            seen = self._inputs.setdefault((told.frame.file, called.function), SeenInputs())
            seen.add(process, tuple(prints))

    def _note_places(self, frame: Frame) -> None:
        """From now on count the calls of pure work that was looked at."""
        if frame in self._places:
            return
        places: dict[str, _LookPlace] = {}
        for pure in self._pure(frame):
            field = "entered" if pure.function else "reached"
            places.setdefault(field, _LookPlace(frame.file, frame.function, pure.lines))
        self._places[frame] = places
        for place in places.values():
            self._partly.setdefault(place, Counter())

    def _keep(self, process: int, told: LookTold, now_us: int) -> None:
        self._note_places(told.frame)
        self._note_inputs(process, told)
        self._looked.add(told.frame)
        for text, described in told.values.items():
            if "print" in described:
                self._compare(process, told.frame, text, described["print"])
            self._add(process, told.frame, text, described, now_us)
        for line, text, described in self._callers.told(told.frame, told.values):
            self._add(process, line, text, described, now_us)

    def _add(
        self, process: int, line: Frame, text: str, described: Mapping[str, str], now_us: int
    ) -> None:
        fields = {name: value for name, value in described.items() if name != "print"}
        seen = self._seen.setdefault((*line, text), [])
        if seen and seen[-1].fields == fields:
            seen[-1] = seen[-1]._replace(last_us=now_us, looks=seen[-1].looks + 1)
        else:
            value = SeenValue(process, *line, text, now_us, now_us, 1, fields)
            seen[_MOST_KEPT - 1 :] = [value]

    def _note_calls(self, process: int, ways: Collection[Sequence[Frame]]) -> None:
        """A call that lasts for windows is met in each stack of them."""
        known: dict[tuple[str, str], list[_LookPlace]] = {}
        for place in self._partly:
            known.setdefault((place.file, place.function), []).append(place)
        met: Counter[_LookPlace] = Counter()
        for way in ways if known else ():
            met.update(
                {
                    place
                    for frame in way
                    for place in known.get((frame.file, frame.function), ())
                    if frame.line in place.lines
                }
            )
        for place, stacks in met.items():
            self._partly[place][process] += stacks < len(ways)

    def _compare_soon(self, process: int, told: LookTold) -> None:
        """Count what stayed as it was since the first look of the pair; that one is what later looks are compared with."""
        for text, described in told.values.items():
            now, before = described.get("print"), self._prints.get((process, told.frame, text))
            counts = self._compared.get(told.frame, {}).get(text)
            if now and before and counts is not None:
                field = "same_soon" if now == before else "other_soon"
                counts[field] = counts.get(field, 0) + 1

    def _compare(self, process: int, frame: Frame, text: str, now: str) -> None:
        before = self._prints.get((process, frame, text))
        self._prints[process, frame, text] = now
        counts = self._compared.setdefault(frame, {}).setdefault(text, {"same": 0, "other": 0})
        if not now:
            self._untold.add((*frame[:2], text))
        elif before is None:
            return
        if now and before == now:
            counts["same"] += 1
        else:
            counts["other"] += 1
            self._changing.add((*frame[:2], text))
