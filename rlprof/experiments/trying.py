"""Try one treatment: arm it in all processes, switch it in turns, and tell what it saves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rlprof.experiments.rates import Count, CountLog, Rhythm, rate_between
from rlprof.experiments.turns import Slot, Turns
from rlprof.model.experiment import Outcome
from rlprof.recording.experimenting import AgentOfProcess
from rlprof.recording.treatment_desk import TreatmentState, TreatmentTold

ARMED_WITHIN_S: Final = 5.0
"""For processes to have heard of a treatment; those whose main thread sleeps hear nothing, and have nothing to switch."""

SETTLE: Final = 0.2
"""First part of a slot that is left out: code that was just swapped in is cold, and buffers hold work of the slot before."""

_FEW_UNITS: Final = 3
"""Units of work in a slot, from which on its first part is left out; a whole cycle of a program is too long for that."""

_PATIENCE: Final = 3.0
"""Times the length of a slot in which its last unit of work has to end."""

UNREACHED_SLOTS: Final = 2
"""Slots with the treatment on, without anybody coming to the place, after which it is given up."""


@dataclass(frozen=True, slots=True)
class TryEnd:
    """How a treatment ended."""

    outcome: Outcome
    why: str = ""


class TreatmentTry:
    """One treatment under way. :meth:`turn` is called every few milliseconds."""

    def __init__(
        self,
        number: int,
        data: bytes,
        rhythm: Rhythm,
        *,
        slot_s: float,
        lengthens: bool,
        ends_s: float,
        begun_s: float,
    ) -> None:
        self.turns = Turns(slot_s, lengthens=lengthens)
        self.begun_s = begun_s
        self._number, self._data = number, data
        self._rhythm = rhythm
        self._ends_s = ends_s
        self._slot: Slot | None = None
        self._switched_s = 0.0
        self._all_heard_s: float | None = None
        self._begun: Count | None = None
        self._last: Count | None = None
        """Where the slot before ended."""
        self._on_slots = 0

    def turn(
        self, now_s: float, now_ns: int, agents: Sequence[AgentOfProcess], log: CountLog
    ) -> TryEnd | None:
        """Do what is due; how it ended, or None while it goes on."""
        for agent in agents:
            # Before it is asked for: one who hears of it at once is not to take us for silent.
            agent.mailbox.treatment.want(self._is_on, now_ns)
            agent.mailbox.treatment.ask(self._number, self._data)
        told = [agent.mailbox.treatment.told() for agent in agents]
        ended = self._ended(told, now_s)
        if ended is not None:
            return ended
        if self._slot is None:
            if self._is_armed(told, now_s):
                self._begin(now_s)
            return None
        self._follow_slot(told, now_s, log)
        return self._judged(told, now_s)

    @property
    def _is_on(self) -> bool:
        return self._slot is not None and self._slot.is_on

    def _ended(self, told: Sequence[TreatmentTold], now_s: float) -> TryEnd | None:
        for each in told:
            if each.state is TreatmentState.REFUSED:
                return TryEnd(Outcome.REFUSED, each.why)
            if each.state is TreatmentState.WITHDRAWN:
                return TryEnd(Outcome.WITHDRAWN, each.why)
        waited = now_s - self.begun_s >= ARMED_WITHIN_S
        if self._slot is None and waited and not any(_has_it(each) for each in told):
            return TryEnd(Outcome.NOT_REACHED, "no process has loaded what it would change")
        return None

    def _is_armed(self, told: Sequence[TreatmentTold], now_s: float) -> bool:
        if now_s - self.begun_s >= ARMED_WITHIN_S:
            return True
        # Where nobody has it by now, a process that is to load it may be about to start.
        is_heard = all(each.state is not TreatmentState.NOT_HEARD for each in told)
        return is_heard and any(map(_has_it, told))

    def _begin(self, now_s: float) -> None:
        self._slot = self.turns.next()
        self._switched_s = now_s
        self._all_heard_s = None
        self._begun = None

    def _follow_slot(self, told: Sequence[TreatmentTold], now_s: float, log: CountLog) -> None:
        assert self._slot is not None
        if self._all_heard_s is None:
            wanted = TreatmentState.ON if self._slot.is_on else TreatmentState.OFF
            late = now_s - self._switched_s > SETTLE * self._slot.length_s
            if late or all(each.state is wanted for each in told if _has_it(each)):
                self._all_heard_s = now_s
            else:
                return
        if self._begun is None:
            self._begun = self._beginning(log)
        passed_s = now_s - self._switched_s
        if passed_s < self._slot.length_s:
            return
        ended = log.boundary(self._switched_s + self._slot.length_s, self._rhythm)
        if ended is None and passed_s < _PATIENCE * self._slot.length_s:
            return
        both = self._begun is not None and ended is not None
        self.turns.add(rate_between(self._begun, ended) if both else None)  # type: ignore[arg-type]
        self._on_slots += self._slot.is_on
        self._last = ended
        self._begin(now_s)

    def _beginning(self, log: CountLog) -> Count | None:
        assert self._slot is not None
        assert self._all_heard_s is not None
        if self._slot.length_s < _FEW_UNITS * self._rhythm.unit_s:
            # The first part of a slot is a whole cycle, and too much to leave out.
            return self._last or log.boundary(self._switched_s, self._rhythm)
        settled_s = self._switched_s + SETTLE * self._slot.length_s
        return log.boundary(max(self._all_heard_s, settled_s), self._rhythm)

    def _judged(self, told: Sequence[TreatmentTold], now_s: float) -> TryEnd | None:
        if self._on_slots >= UNREACHED_SLOTS and not any(each.reached for each in told):
            return TryEnd(Outcome.NOT_REACHED, "nobody came to the place while it was on")
        if self.turns.is_enough:
            return TryEnd(Outcome.MEASURED)
        if now_s >= self._ends_s:
            return TryEnd(Outcome.MEASURED if self.turns.is_clear else Outcome.NOT_CLEAR)
        return None


def _has_it(told: TreatmentTold) -> bool:
    return told.state in (TreatmentState.ON, TreatmentState.OFF)


def leave(agents: Sequence[AgentOfProcess]) -> None:
    """Have nothing of a treatment left in any process."""
    for agent in agents:
        agent.mailbox.treatment.leave()
