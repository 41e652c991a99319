"""Try one treatment: arm it in all processes, switch it in turns, and tell what it saves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from rlprof.experiments.rates import CountLog, Rhythm, StepTotal, rate_between
from rlprof.experiments.turns import Slot, SlotTurns, is_clear
from rlprof.model.experiment import TryOutcome
from rlprof.recording.experimenting import AgentOfProcess
from rlprof.recording.mailboxes.treatment_desk import TreatmentState, TreatmentTold

ARMED_WITHIN_S: Final = 5.0
"""For processes to have heard of a treatment; those whose main thread sleeps hear nothing, and have nothing to switch."""

SETTLE: Final = 0.2
"""First part of a slot that is left out: code that was just swapped in is cold, and buffers hold work of the slot before."""

_FEW_UNITS: Final = 3
"""Units of work in a slot, from which on its first part is left out; a whole cycle of a program is too long for that."""

_PATIENCE: Final = 2.0
"""Times the length of a slot after which any count ends it: the treatment may have taken away the pause that ends a cycle."""

UNREACHED_SLOTS: Final = 2
"""Slots with the treatment on in which it has nothing to treat, after which it is given up."""

UNREACHED_S: Final = 3.0
"""How long these last together at least: an evaluation or a checkpoint may come every few seconds."""

_NOT_LOADED: Final = "no process has loaded what it would change"
_UNHEARD: Final = (
    "no process answered: main threads hear of a switch between two calls, and not while they wait"
)


@dataclass(frozen=True, slots=True)
class TryEnd:
    """The end of a treatment."""

    outcome: TryOutcome
    why: str = ""


class TreatmentTry:
    """One treatment under way. :meth:`turn` is called every few milliseconds."""

    def __init__(
        self,
        number: int,
        data: bytes,
        rhythm: Rhythm,
        *,
        turns: SlotTurns,
        leaves_queue_out: bool,
        ends_s: float,
        latest_s: float,
        begun_s: float,
    ) -> None:
        """``ends_s``: when it ends if there are pairs enough for an interval by then; ``latest_s``: in any case."""
        self.turns = turns
        self.begun_s = begun_s
        self._number, self._data = number, data
        self._rhythm = rhythm
        self._leaves_queue_out = leaves_queue_out
        self._ends_s, self._latest_s = ends_s, latest_s
        self._slot: Slot | None = None
        self._switched_s = 0.0
        self._all_heard_s: float | None = None
        self._begun: StepTotal | None = None
        self._last: StepTotal | None = None
        """The end of the slot before, and of its last unit of work; None where it ended in the middle of one."""
        self._on_slots, self._on_s = 0, 0.0
        self._treated: list[float] = []
        """Part of each slot with the treatment on that the treatment itself took."""

    @property
    def treated_share(self) -> float:
        """Part of the slots that the treatment itself took, by the median; it is left out of them."""
        return median(self._treated) if self._treated else 0.0

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
                return TryEnd(TryOutcome.REFUSED, each.why)
            if each.state is TreatmentState.WITHDRAWN:
                return TryEnd(TryOutcome.WITHDRAWN, each.why)
        waited = now_s - self.begun_s >= ARMED_WITHIN_S
        if self._slot is None and waited and not any(_has_it(each) for each in told):
            is_absent = any(each.state is TreatmentState.ABSENT for each in told)
            return TryEnd(TryOutcome.NOT_REACHED, _NOT_LOADED if is_absent else _UNHEARD)
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
            self._begun = self._beginning(log, self._rhythm)
        passed_s = now_s - self._switched_s
        if passed_s < self._slot.length_s:
            return
        ended = self._last = self._end(log, self._rhythm)
        if ended is None:
            if passed_s < _PATIENCE * self._slot.length_s:
                return
            any_count = self._rhythm.without_cycles
            self._begun = self._begun or self._beginning(log, any_count)
            ended = self._end(log, any_count)
        rate = None
        if self._begun is not None and ended is not None:
            rate = rate_between(self._begun, ended, leaves_queue_out=self._leaves_queue_out)
            if self._slot.is_on and ended.at_s > self._begun.at_s:
                treated_s = ended.treated_s - self._begun.treated_s
                self._treated.append(treated_s / (ended.at_s - self._begun.at_s))
        self.turns.add(rate)
        if self._slot.is_on:
            self._on_slots += 1
            self._on_s += passed_s
        self._begin(now_s)

    def _end(self, log: CountLog, rhythm: Rhythm) -> StepTotal | None:
        """The end of the last unit of work, and of the slot."""
        assert self._slot is not None
        return log.boundary(self._switched_s + self._slot.length_s, rhythm)

    def _beginning(self, log: CountLog, rhythm: Rhythm) -> StepTotal | None:
        assert self._slot is not None
        assert self._all_heard_s is not None
        if self._slot.length_s < _FEW_UNITS * self._rhythm.unit_s:
            # The first part of a slot is a whole cycle, and too much to leave out.
            return self._last or log.boundary(self._switched_s, rhythm)
        settled_s = self._switched_s + SETTLE * self._slot.length_s
        return log.boundary(max(self._all_heard_s, settled_s), rhythm)

    def _judged(self, told: Sequence[TreatmentTold], now_s: float) -> TryEnd | None:
        if not any(each.reached for each in told):
            is_waited_for = self._on_slots < UNREACHED_SLOTS or self._on_s < UNREACHED_S
            if is_waited_for and now_s < self._latest_s:
                return None
            why = f"it had nothing to treat in the {self._on_s:.1f} s that it was on"
            return TryEnd(TryOutcome.NOT_REACHED, why)
        if self.turns.is_enough:
            return TryEnd(TryOutcome.MEASURED)
        has_interval = self.turns.measured is not None
        if now_s >= (self._ends_s if has_interval else self._latest_s):
            return TryEnd(
                TryOutcome.MEASURED if is_clear(self.turns.measured) else TryOutcome.NOT_CLEAR
            )
        return None


def _has_it(told: TreatmentTold) -> bool:
    return told.state in (TreatmentState.ON, TreatmentState.OFF)


def leave(agents: Sequence[AgentOfProcess]) -> None:
    """Have nothing of a treatment left in any process."""
    for agent in agents:
        agent.mailbox.treatment.leave()
