"""The recorder's side of a treatment in one process: what is asked for, and what became of it there."""

from __future__ import annotations

import marshal
from collections.abc import Mapping, Sequence
from enum import Enum
from mmap import mmap
from typing import Final, NamedTuple, TypeAlias

from rlprof.agent.inject.rlprof_agent import layout

TreatmentPart: TypeAlias = Mapping[str, str | int]
"""A change of the program, as ``agent/inject/rlprof_agent/treatments/`` reads it."""

MOST_BYTES: Final = layout.TREATMENT_SIZE - layout.LENGTH.size
"""Room for a treatment as it is handed over."""


class TreatmentState(Enum):
    """State of a treatment in a process."""

    NOT_HEARD = 0
    """Its main thread has not been at work since it was asked for."""
    OFF = layout.TREATMENT_OFF
    ON = layout.TREATMENT_ON
    ABSENT = layout.TREATMENT_ABSENT
    """Nothing of what it treats is loaded there."""
    REFUSED = layout.TREATMENT_REFUSED
    WITHDRAWN = layout.TREATMENT_WITHDRAWN


class TreatmentTold(NamedTuple):
    """Answer of an agent about the treatment that it was asked for."""

    state: TreatmentState
    reached: int
    """How often the treated place was come to while it was on."""
    why: str
    """Why it was refused or withdrawn."""
    cost_s: float = 0.0
    """Time that calls took which were answered without being made, and that counting steps has taken up to now."""


def as_bytes(parts: Sequence[TreatmentPart]) -> bytes:
    """Return ``parts`` as they are handed over. Raises ValueError where they are too large."""
    # By hand into plain types: marshal knows no others.
    data = marshal.dumps([dict(part) for part in parts], 2)
    if len(data) > MOST_BYTES:
        raise ValueError("the treatment is too large to be handed over")
    return data


class TreatmentDesk:
    """Asks for one treatment at a time. Does nothing once it is closed."""

    def __init__(self, memory: mmap, cells: memoryview[int]) -> None:
        self._memory = memory
        self._cells: memoryview[int] | None = cells
        self._asked = 0

    def close(self) -> None:
        self._cells = None

    def begin(self) -> None:
        """Have samples used for treatments alone: nobody reads stacks any more."""
        if self._cells is not None:
            self._cells[layout.CELL_ONLY_TREATED] = 1

    def ask(self, number: int, data: bytes) -> None:
        """Ask for the treatment ``number``, off at first; what it is are ``data`` of :func:`as_bytes`."""
        if self._cells is None or number == self._asked:
            return
        self._asked = number
        self._cells[layout.CELL_TREATMENT_WANTED] = 0
        start = layout.TREATMENT_START
        told = layout.LENGTH.pack(len(data)) + data
        self._memory[start : start + len(told)] = told
        # Last, so that the agent never reads a part of it.
        self._cells[layout.CELL_TREATMENT_ASKED] = number

    def leave(self) -> None:
        """Ask for none: what there is, is taken away."""
        self._asked = 0
        if self._cells is not None:
            self._cells[layout.CELL_TREATMENT_ASKED] = 0

    def want(self, is_on: bool, now_ns: int) -> None:
        """Have it on or off. To be called again and again: an agent that hears nothing for seconds takes it away.

        ``now_ns``: CLOCK_MONOTONIC.
        """
        if self._cells is not None:
            self._cells[layout.CELL_TREATMENT_BEAT_NS] = now_ns
            self._cells[layout.CELL_TREATMENT_WANTED] = int(is_on)

    def told(self) -> TreatmentTold:
        cells = self._cells
        if cells is None or not self._asked:
            return TreatmentTold(TreatmentState.NOT_HEARD, 0, "")
        number, state = divmod(cells[layout.CELL_TREATMENT_STATE], layout.TREATMENT_STATES)
        if number != self._asked:
            return TreatmentTold(TreatmentState.NOT_HEARD, 0, "")
        return TreatmentTold(
            TreatmentState(state),
            cells[layout.CELL_TREATMENT_REACHED],
            self._why(),
            cells[layout.CELL_TREATMENT_COST_NS] / 1e9,
        )

    def _why(self) -> str:
        start = layout.REPLY_START + layout.LENGTH.size
        (size,) = layout.LENGTH.unpack(self._memory[layout.REPLY_START : start])
        return self._memory[start : start + min(size, layout.REPLY_SIZE)].decode("utf-8", "replace")
