"""Put the eye's late looks where the clock has seen the time.

CPython runs signal handlers at calls and at the ends of loops only (``CHECK_EVAL_BREAKER``). A long operator that ends a function,
as in ``return self.rows[index]`` or ``state in visited``, is therefore looked at when the function is over: the eye sees
the line that called it. The clock reads stacks that stand still as they are. Of calls of microseconds it does not: when it reads the line of a frame,
the function has returned, and its last line is left in memory. So time goes only to lines which may work after their last call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from operator import itemgetter
from typing import Final

from rlprof.model.calibration import calibrated
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.recording.combine import CROWDED, ThreadWindow, add
from rlprof.recording.sources import read_source
from rlprof.recording.stacks import StackTable
from rlprof.syntax.after_calls import may_work_after_calls

_LEAST_SHARE: Final = calibrated(
    0.02,
    unit="part of the busy time",
    source="shares that two instruments of 100 looks a second see of the same place differ by less, twice in three times, "
    "where it has a fifth of the time: the standard error of 800 looks is 0.014",
    date="2026-11-27",
)
"""Least difference between the clock and the eye at a place that is no luck."""

_FORGET: Final = 0.9
"""Weight of the past from comparison to comparison: half of it is 7 s old."""

_FEWEST_US: Final = 500_000
"""Time of either before which a share of it is luck."""

_COVERS: Final = 0.7
"""Part of the CPU time that the eye has to explain in a window that is compared: of a call that lasts longer than a window
it says nothing until it has ended."""

_WINDOWS: Final = 4
"""Windows from one comparison to the next, a second in all; each goes over all places."""

_FORGOTTEN_US: Final = 100.0
"""Time at a place that need not be remembered any longer."""


class LateLooks:
    """Times of the main thread of one process, by the eye and by the clock, and where they differ."""

    def __init__(self, stacks: StackTable) -> None:
        self._stacks = stacks
        self._eye: dict[int, float] = {}
        self._clock: dict[int, float] = {}
        self._clock_us = 0.0
        """Busy time by the clock, that of torn stacks among it."""
        self._moves: dict[int, dict[int, float]] = {}
        """Part of the eye's time at a place that belongs to other places, by place."""
        self._windows = 0

    def placed(self, seen: ThreadWindow) -> dict[int, float]:
        """Return the eye's CPU time of a window (µs, by node) with its late looks moved; the sum stays as it is."""
        if _is_comparable(seen):
            self._remember(seen)
        placed = self._placed(seen.eye, self._moves)
        return {node: us for node, us in placed.items() if us > 0}

    @staticmethod
    def _placed(
        times: Mapping[int, float], moves: Mapping[int, Mapping[int, float]]
    ) -> dict[int, float]:
        placed: dict[int, float] = defaultdict(float)
        for node, us in times.items():
            parts = moves.get(node, {})
            placed[node] += us * (1 - sum(parts.values()))
            for place, part in parts.items():
                placed[place] += us * part
        return placed

    def _remember(self, seen: ThreadWindow) -> None:
        add(self._eye, seen.eye)
        add(self._clock, seen.busy)
        self._clock_us += sum(seen.busy.values()) + seen.torn_us
        self._windows += 1
        if self._windows % _WINDOWS == 0:
            self._moves = self._compare()
            self._eye, self._clock = _faded(self._eye), _faded(self._clock)
            self._clock_us *= _FORGET

    def _compare(self) -> dict[int, dict[int, float]]:
        """Time that the eye has too much of somewhere goes to what the same function does or calls, where the clock has more.

        The clock is believed where its whole stacks alone are more than the eye has; then torn stacks are shared out evenly.
        """
        stacks = self._stacks
        eye_us = sum(self._eye.values())
        whole_us = sum(self._clock.values())
        if min(eye_us, self._clock_us) < _FEWEST_US or not whole_us:
            return {}
        # Of a CPU that is shared both tell less: the eye looks by CPU time, and the clock sees the same wait several times.
        least = _LEAST_SHARE * max(1.0, self._clock_us / eye_us)
        more: dict[int, float] = {}
        for node, us in self._clock.items():
            looked = self._eye.get(node, 0.0) / eye_us
            if us / self._clock_us - looked >= least and self._is_seen_late(stacks.line(node)):
                more[node] = us / whole_us - looked
        late: dict[tuple[int, str, str], dict[int, float]] = defaultdict(dict)
        for node, us in self._eye.items():
            excess = us / eye_us - self._clock.get(node, 0.0) / self._clock_us
            if excess >= least:
                late[stacks.call(node)][node] = excess
        moves: dict[int, dict[int, float]] = defaultdict(dict)
        for place, wanted in sorted(more.items(), key=itemgetter(1), reverse=True):
            for call in self._calls_around(place):
                for node, excess in late.get(call, {}).items():
                    part = min(wanted, excess)
                    if part > 0:
                        late[call][node] = excess - part
                        wanted -= part
                        moves[node][place] = part * eye_us / self._eye[node]
        self._move_between_lines(moves, least)
        return dict(moves)

    def _move_between_lines(self, moves: dict[int, dict[int, float]], least: float) -> None:
        """Add moves that a function's callers tell of together, for none of many may have enough alone: what a line has too much of goes to
        other lines of its function, such as those before the end of a loop, then to what it calls.
        """
        stacks = self._stacks
        goes = self._between_lines(self._placed(self._eye, moves), least)
        for node in self._eye if goes else ():
            left = 1 - sum(moves.get(node, {}).values())
            for (is_called, to), part in goes.get(stacks.line(node), {}).items():
                moved = stacks.below(node if is_called else stacks.caller(node), to)
                if moved != NO_PARENT and left * part > 0:
                    parts = moves.setdefault(node, {})
                    parts[moved] = parts.get(moved, 0.0) + left * part

    def _between_lines(
        self, placed: Mapping[int, float], least: float
    ) -> dict[int, dict[tuple[bool, int], float]]:
        """The part of a line's time that goes to others, by whether they are called by it, and their number."""
        eye_us, of_whole = sum(self._eye.values()), self._clock_us / sum(self._clock.values())
        eye, clock = self._by_line(placed, eye_us), self._by_line(self._clock, self._clock_us)
        excess = {line: us - clock.get(line, 0.0) for line, us in eye.items()}
        excess = {line: us for line, us in excess.items() if us > least}
        if not excess:
            return {}
        lack = {line: of_whole * us - eye.get(line, 0.0) for line, us in clock.items()}
        lack = {line: us for line, us in lack.items() if us > 0 and line not in excess}
        eye_called = self._called_by(excess, placed, eye_us)
        clock_called = self._called_by(excess, self._clock, self._clock_us)
        goes: dict[int, dict[tuple[bool, int], float]] = {line: {} for line in excess}
        for is_called in (False, True):
            for line in sorted(excess, key=lambda line: (-excess[line], line)):
                looked = eye_called.get(line, {}) if is_called else eye
                seen = clock_called.get(line, {}) if is_called else self._beside(line, clock)
                # The clock's whole stacks alone have to have more, as above.
                clear = sum(max(0.0, us - looked.get(to, 0.0)) for to, us in seen.items())
                more = {to: of_whole * us - looked.get(to, 0.0) for to, us in seen.items()}
                wanted = {
                    to: min(lack.get(to, 0.0), us)
                    for to, us in more.items()
                    if us > 0 and self._is_seen_late(to)
                }
                total = sum(wanted.values())
                if clear < least or total <= 0:
                    continue
                part = min(1.0, excess[line] / total)
                for to, us in wanted.items():
                    goes[line][is_called, to] = part * us / eye[line]
                    lack[to] = lack.get(to, 0.0) - part * us
                excess[line] -= part * total
        return goes

    def _is_seen_late(self, line: int) -> bool:
        return _may_be_seen_late(self._stacks.frame(line))

    def _by_line(self, times: Mapping[int, float], whole_us: float) -> dict[int, float]:
        """Shares of ``whole_us`` by line, whoever calls its function."""
        line_of = self._stacks.line
        shares: dict[int, float] = defaultdict(float)
        for node, us in times.items():
            shares[line_of(node)] += us / whole_us
        return shares

    def _called_by(
        self, lines: Collection[int], times: Mapping[int, float], whole_us: float
    ) -> dict[int, dict[int, float]]:
        """Shares of what these lines call, by the lines of that."""
        stacks = self._stacks
        shares: dict[int, dict[int, float]] = {}
        for node, us in times.items():
            caller = stacks.caller(node)
            if caller != NO_PARENT and (line := stacks.line(caller)) in lines:
                of_line = shares.setdefault(line, {})
                called = stacks.line(node)
                of_line[called] = of_line.get(called, 0.0) + us / whole_us
        return shares

    def _beside(self, line: int, shares: Mapping[int, float]) -> dict[int, float]:
        """Those of the other lines of its function."""
        frame_of = self._stacks.frame
        own = frame_of(line)
        beside = {}
        for each, share in shares.items():
            frame = frame_of(each)
            if each != line and frame.function == own.function and frame.file == own.file:
                beside[each] = share
        return beside

    def _calls_around(self, node: int) -> Iterator[tuple[int, str, str]]:
        """Yield the calls of functions that ``node`` is in, the innermost first."""
        yield self._stacks.call(node)
        for caller in self._stacks.callers(node):
            yield self._stacks.call(caller)


def _is_comparable(seen: ThreadWindow) -> bool:
    """True if both tell where it works: of a call that goes on the eye says nothing yet, and the clock has a thread that has
    woken up, and waits for a CPU, where it slept. One whose CPU is taken from it may stand anywhere, as often as it works there.
    """
    ran = seen.clock_busy_us if seen.on_cpu_us is None else seen.on_cpu_us
    looked = sum(seen.eye.values())
    woken = seen.woken_queue_us
    at_work = ran + seen.run_queue_us - woken
    return bool(seen.busy) and looked >= _COVERS * ran and woken <= CROWDED * at_work


def _faded(times: Mapping[int, float]) -> dict[int, float]:
    return {node: _FORGET * us for node, us in times.items() if us > _FORGOTTEN_US}


@lru_cache(maxsize=4096)
def _may_be_seen_late(frame: Frame) -> bool:
    return frame.line < 1 or may_work_after_calls(_lines(frame.file)[frame.line - 1 :])


@lru_cache(maxsize=8)
def _lines(file: str) -> list[str]:
    return (read_source(file) or "").split("\n")
