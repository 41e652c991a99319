"""Processes that are made up, with desks at which treatments are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace

from rlprof.recording.experimenting import AgentOfProcess
from rlprof.recording.mailboxes.treatment_desk import TreatmentState, TreatmentTold


@dataclass
class Process:
    """One that obeys ``delay_s`` after it was asked, as its ``treatment`` and its own desk."""

    arms_as: TreatmentState = TreatmentState.OFF
    why: str = ""
    delay_s: float = 0.01
    starts_s: float = 0.0
    reaches_from_s: float = 0.0
    """When there is something for it to treat for the first time."""
    fails_s: float | None = None
    """When a treated call of it fails."""
    state: TreatmentState = TreatmentState.NOT_HEARD
    reached: int = 0
    asked: int = 0
    is_wanted: bool = False
    data: bytes = b""
    counts: dict[str, int] = field(default_factory=dict)
    beats: list[int] = field(default_factory=list)
    _due: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    _now_s: float = 0.0

    # The desk

    def want(self, is_on: bool, now_ns: int) -> None:
        self.beats.append(now_ns)
        if is_on != self.is_wanted:
            self.is_wanted = is_on
            self._due.append((self._now_s + self.delay_s, self._switch))

    def ask(self, number: int, data: bytes) -> None:
        if number != self.asked:
            assert self.beats, "nobody is to be taken for silent"
            self.data = data
            self.asked, self.is_wanted = number, False
            self._due = [(self._now_s + self.delay_s, self._arm)]

    def leave(self) -> None:
        self.asked, self.state = 0, TreatmentState.NOT_HEARD

    def told(self) -> TreatmentTold:
        return TreatmentTold(self.state, self.reached, self.why)

    # The process

    def lives(self, now_s: float) -> None:
        self._now_s = now_s
        while self._due and self._due[0][0] <= now_s:
            self._due.pop(0)[1]()
        if self.fails_s is not None and now_s >= self.fails_s:
            self.state, self.why = TreatmentState.WITHDRAWN, "ValueError: of ours"
        if self.state is TreatmentState.ON and now_s >= self.reaches_from_s:
            self.reached += 1

    def _arm(self) -> None:
        self.state = self.arms_as

    def _switch(self) -> None:
        if self.state in (TreatmentState.ON, TreatmentState.OFF):
            self.state = TreatmentState.ON if self.is_wanted else TreatmentState.OFF


class Never(Process):
    """Its main thread sleeps."""

    def lives(self, now_s: float) -> None:
        self._now_s = now_s


def agents(processes: Sequence[Process]) -> list[AgentOfProcess]:
    return [
        AgentOfProcess(
            number,
            1000 + number,
            SimpleNamespace(treatment=each, total=lambda name, each=each: each.counts.get(name, 0)),  # type: ignore[arg-type]
        )
        for number, each in enumerate(processes)
    ]
