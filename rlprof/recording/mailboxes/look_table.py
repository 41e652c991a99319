"""The recorder's side of the looks at values: what it asks an agent for, and what that has told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from mmap import mmap
from typing import NamedTuple

from rlprof.agent.inject.rlprof_agent import layout
from rlprof.agent.inject.rlprof_agent.plain_reads import LINE, PART
from rlprof.agent.inject.rlprof_agent.value_looks import COUNT, PAIR, PRINT
from rlprof.model.recording import Frame
from rlprof.syntax.operands import Operand
from rlprof.syntax.steps_in_lists import StepCall

_ENCODING = "utf-8"


class LookTold(NamedTuple):
    frame: Frame
    values: Mapping[str, Mapping[str, str]]
    """Fields of the descriptions, by the text of the operand; what was not found is left out."""
    again: bool = False
    """True if it is the second of a pair, a few samples after the look before of that frame."""


class CountTold(NamedTuple):
    call: str
    """The text of what was asked for."""
    frame: Frame
    makes_steps: bool
    """True if what the call returned first is what an environment returns."""


def to_count(calls: Iterable[StepCall]) -> Sequence[Operand]:
    """Return what to ask for in place of operands, to have these calls counted as steps."""
    return [
        Operand(
            call.text,
            (COUNT + call.method, str(call.lines[0]), str(call.lines[-1]), *call.owner),
        )
        for call in calls
    ]


def to_compare(inputs: Iterable[Operand], *, in_pairs: bool) -> Sequence[Operand]:
    """The same operands, each to be told with a ``print`` that is the same for the same contents; empty where there is none.

    ``in_pairs``: to be told twice, the second time a few samples later.
    """
    mark = PAIR if in_pairs else PRINT
    return [
        Operand(operand.text, (mark + operand.steps[0], *operand.steps[1:])) for operand in inputs
    ]


def is_to_compare(operand: Operand) -> bool:
    return operand.steps[0].startswith((PRINT, PAIR))


class LookTable:
    """The part of a mailbox that is about looks."""

    def __init__(self, memory: mmap, cells: memoryview) -> None:
        """``cells`` are the mailbox's control cells."""
        self._memory = memory
        self._cells = cells
        self._numbers: dict[Frame, list[int]] = {}
        self._asked: dict[int, tuple[Frame, Sequence[Operand]]] = {}
        self._to_count: dict[int, tuple[Frame, Sequence[Operand]]] = {}
        self._told: list[LookTold] = []
        self._counted: list[CountTold] = []
        self._resets = 0

    def named(self, number: int, frame: Frame) -> None:
        """The agent calls one of the code locations of ``frame`` by this number."""
        self._numbers.setdefault(frame, []).append(number)

    def reset(self) -> None:
        """The agent numbers frames anew."""
        self._resets += 1
        self._numbers.clear()
        self._asked.clear()
        self._to_count.clear()

    @property
    def is_open(self) -> bool:
        """True if the agent has taken in what it was asked last."""
        cells = self._cells
        return bool(cells[layout.CELL_LOOKS_ASKED] == cells[layout.CELL_LOOKS_TAKEN])

    def ask(self, wanted: Iterable[tuple[Frame, Sequence[Operand]]]) -> list[Frame]:
        """Ask for these looks, as many as there is room for; the frames that were asked for.

        Those asked for before that have not been taken are dropped.
        """
        asked = []
        batch = b""
        count = 0
        for frame, operands in wanted:
            paths = LINE.join(PART.join(operand.steps) for operand in operands).encode(_ENCODING)
            numbers = self._numbers.get(frame, ())
            records = [layout.LOOK_ASKED.pack(number, len(paths)) + paths for number in numbers]
            size = layout.LOOKS.size + len(batch) + sum(map(len, records))
            if size > layout.LOOKS_SIZE:
                continue
            batch += b"".join(records)
            count += len(records)
            is_to_count = operands[0].steps[0].startswith(COUNT)
            asked_for = self._to_count if is_to_count else self._asked
            asked_for |= dict.fromkeys(numbers, (frame, operands))
            asked.append(frame)
        start = layout.LOOKS_START
        whole = layout.LOOKS.pack(self._resets, count) + batch
        self._memory[start : start + len(whole)] = whole
        # Last, so that the agent never sees a batch half-written.
        self._cells[layout.CELL_LOOKS_ASKED] += 1
        return asked

    def heard(self, number: int, told: bytes, *, again: bool = False) -> None:
        """The agent has looked at the frame ``number``, or ``again`` at its function."""
        frame, operands = self._asked[number]
        descriptions = told.decode(_ENCODING, "backslashreplace").split(LINE)
        values = {
            operand.text: dict(_fields(description))
            for operand, description in zip(operands, descriptions, strict=False)
            if description
        }
        for operand in filter(is_to_compare, operands):
            if operand.text in values:
                values[operand.text].setdefault("print", "")
        self._told.append(LookTold(frame, values, again))

    def take(self) -> list[LookTold]:
        """Return what was told since the last call."""
        told, self._told = self._told, []
        return told

    def heard_of_call(self, number: int, index: int, makes_steps: bool) -> None:
        """The agent has seen what a call returned that was to be counted, of those asked for by the frame ``number``."""
        frame, calls = self._to_count[number]
        self._counted.append(CountTold(calls[index].text, frame, makes_steps))

    def take_counted(self) -> list[CountTold]:
        """The same of calls that were to be counted."""
        counted, self._counted = self._counted, []
        return counted


def _fields(description: str) -> Iterator[tuple[str, str]]:
    for field in description.split(PART):
        name, _, value = field.partition("=")
        yield name, value
