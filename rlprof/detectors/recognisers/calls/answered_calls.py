"""Calls that another process answers, as those of a manager: the time on both sides."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rlprof.detectors.recognisers.line_time import busy_us_anywhere
from rlprof.detectors.recognisers.processes.transport import most_transport_us
from rlprof.libraries.base import SlowCall
from rlprof.libraries.questions import slow_call_of
from rlprof.model.calltree import sum_costs
from rlprof.model.counters import IPC_MESSAGES
from rlprof.model.finding import Range
from rlprof.model.profile import Profile
from rlprof.model.recording import Frame, Node
from rlprof.source.lines import last_name
from rlprof.syntax.origin import Origin, origin


class AnsweredCalls:
    """The calls of one kind in the steady phase, on both sides."""

    def __init__(self, profile: Profile, call: SlowCall, asking: Collection[int]) -> None:
        """``asking`` are the nodes of those who call."""
        tree = profile.steady
        self._removable = call.removable
        self._asked = sum_costs(map(tree.self_cost, asking))
        counts = {IPC_MESSAGES: profile.counts.get(IPC_MESSAGES, 0.0)}
        self._most_us = most_transport_us(counts)
        # In a queue's ``get`` the rest may be a wait for who fills the queue.
        self.asking_us = min(self._asked.busy_us, self._most_us)
        """Time in which those who call work on it."""
        answering = _answering(tree.nodes, call)
        self.answering = frozenset(node for node in answering if tree.self_cost(node).busy_us)
        self._answers = sum_costs(map(tree.self_cost, self.answering))
        # Each of those who call may wait for as long as one answer is worked on.
        callers = len(profile.critical.threads)
        self._answers_us = callers * busy_us_anywhere(profile, answering)

    @property
    def part_of_work(self) -> float:
        """Part of what those who call are seen to work there that the messages can have taken."""
        return self.asking_us / max(1, self._asked.busy_us)

    @property
    def removable(self) -> Range:
        """Part of the time of those who call that goes; of their waits, up to what the answers take."""
        most = min(self._asked.wall_us, self._most_us, self.asking_us + self._answers_us)
        (low, high), whole = self._removable, max(1, self._asked.wall_us)
        return Range(low * self.asking_us / whole, high * most / whole)

    @property
    def removable_of_answers(self) -> Range:
        """The same of ``answering``, where it is among what bounds the run."""
        return self._removable.scaled(self._answers.busy_us / max(1, self._answers.wall_us))


def _answering(nodes: Sequence[Node], call: SlowCall) -> frozenset[int]:
    """Nodes of what answers: without the methods of objects that it keeps for others, which are their work."""
    found: set[int] = set()
    for number, parent, frame in nodes:
        if origin(frame) is Origin.STDLIB and (parent in found or _answers(frame, call)):
            found.add(number)
    return frozenset(found)


def _answers(frame: Frame, call: SlowCall) -> bool:
    return last_name(frame.function) == call.answered_by and slow_call_of(frame) == call
