"""The stack probe (the eye): where the main thread's busy time goes.

A CPU-time timer of the main thread raises SIGURG; the Python-level handler walks
the frames and books the CPU time since its last visit on that stack. SIGURG is
ignored by default, so a late one harms nobody. The handler never raises, never
makes a system call that can block, and yields for good where it could be noticed.
"""

from __future__ import annotations

# The C module, without stubs. By name, for what stands in for these functions is made for the program.
from _signal import (  # type: ignore[import-not-found]
    SIG_BLOCK,
    SIG_DFL,
    SIG_IGN,
    SIGURG,
    getsignal,
    pthread_sigmask,
    siginterrupt,
    signal,
)
from _thread import get_ident

from . import aside, foreign_errors, layout, turns
from .cpu_timer import CpuTimer
from .frame_numbers import FrameNumbers
from .mailbox import Mailbox
from .real import gc, struct, sys, time
from .value_looks import ValueLooks

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Optional

    from .torch_windows import TorchWindows

NEAR_RECURSION_LIMIT = 0.75
"""Yield when a stack reaches this part of the recursion limit."""

_ROOM = 60
"""Frames that must be left for a look: one that met the limit would raise, and Python 3.9 lets a program that has
met it go 50 frames further, and ends it there.
"""

_CHECKED_LIMITS = range(4 * _ROOM, 10_001)
"""Below there is never room, beyond is no limit that anybody meets."""

_NEAR_LIMIT = range(2 * _ROOM)
"""One for each frame that may follow where there was no room; more follow if the limit was raised."""

_RESUMES = 0x20 | 0x80 | 0x200
"""Flags of generators and coroutines, which begin in the middle."""

SOON_US = 5_000
"""CPU time between looks while a window of torch's profiler is open, which tiny operations fill fast, and between two looks of a pair."""

MAX_STACKS = 20_000
"""Stacks remembered before the tables start anew, so that memory stays bounded."""

MAX_HELD_FRAMES = 200_000
"""The same of all frames of these stacks, each some 70 bytes: recursive searches have deep ones, and ever new ones."""


class StackProbe:
    """Samples the thread that starts it, which must be the main thread."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self.thread = get_ident()
        self._timer: Optional[CpuTimer] = None
        self._pauses: dict[int, None] = {}
        """Reasons for which it does not fire now, the oldest first."""
        self._left_ns = 0
        """Until it would have fired, when it was hushed."""
        self._interval_us = 0
        self._in_handler = False
        self._with_room = range(0)
        """One for each frame that a stack may have."""
        self._recursion_limit = 0
        self._last_ns = 0
        self._stacks: dict[tuple[int, ...], int] = {}
        self._held_frames = 0
        self._frames = FrameNumbers(mailbox)
        self._resets = 0
        self._looks = ValueLooks(mailbox)
        self.windows: Optional[TorchWindows] = None
        """Those of torch's profiler in this process, which end in time by these looks."""
        self._gc_cell = mailbox.counter("gc_collections")
        # Those of the parent, in a forked child.
        self._gc_before = _full_collections()
        self._heed_recursion_limit()

    def start(self, native_thread_id: int) -> None:
        """Arm the timer. Failing is no error: the state cell says why there is no probe."""
        before = getsignal(SIGURG)
        # A forked child finds the handler of its parent's probe.
        if before != SIG_DFL and not is_probe(before):
            ignored = before == SIG_IGN
            self._set_state(layout.PROBE_SIGURG_BLOCKED if ignored else layout.PROBE_OWN_SIGURG)
            return
        try:
            self._timer = CpuTimer(SIGURG, native_thread_id)
        except (ImportError, OSError, AttributeError):
            self._set_state(layout.PROBE_NO_TIMER)
            return
        self._last_ns = time.thread_time_ns()
        self._interval_us = self._mailbox.cells[layout.CELL_INTERVAL_US]
        self._take_signal()

    @property
    def is_on(self) -> bool:
        return self._mailbox.cells[layout.CELL_PROBE_STATE] == layout.PROBE_ON

    @property
    def holds_signal(self) -> bool:
        """True if SIGURG is the probe's, even while it pauses."""
        return self._timer is not None

    def hush(self) -> None:
        """Stop firing until ``pause_while`` says how to go on."""
        if self._timer is not None:
            self._left_ns = self._timer.set_interval(0)

    def put_off(self) -> None:
        """Fire only after another interval of CPU time."""
        if self.is_on and self._timer is not None:
            self._timer.set_interval(self._interval_us)

    def hurry(self, is_urgent: bool) -> None:
        """Fire soon, and often enough to end a window of torch's profiler in time, or as before."""
        if self.is_on and self._timer is not None:
            self._timer.set_interval(
                min(SOON_US, self._interval_us) if is_urgent else self._interval_us
            )

    def pause_while(self, holds: bool, reason: int) -> None:
        """Stop firing while ``reason`` holds; with none left, go on."""
        if self._timer is None:
            return
        self._timer.set_interval(0)
        if holds:
            self._pauses[reason] = None
        elif reason in self._pauses:
            del self._pauses[reason]
            self._last_ns = time.thread_time_ns()
        if self._pauses:
            if self.windows is not None:
                self.windows.end()
            self._set_state(next(iter(self._pauses)))
        else:
            self._set_state(layout.PROBE_ON)
            self._timer.set_interval(self._interval_us, self._left_ns)
        self._left_ns = 0

    def give_up(self, reason: int) -> None:
        """Stop for good and leave SIGURG as Python has it without us."""
        if self._timer is not None:
            self._timer.set_interval(0)
            self._timer = None
            self._set_state(reason)
            self._leave_signal()

    def step_aside(self) -> None:
        """Stop firing while the program has an instrument on that would show the handler."""
        self.pause_while(True, layout.PROBE_TRACED)
        self._leave_signal()

    def step_back(self) -> None:
        if self._timer is None or self.thread != get_ident():
            return  # Only the main thread may handle signals.
        if getsignal(SIGURG) not in (SIG_DFL, self._on_timer):
            self.give_up(layout.PROBE_OWN_SIGURG)
            return
        self._take_signal()
        self.pause_while(False, layout.PROBE_TRACED)

    def _take_signal(self) -> None:
        signal(SIGURG, self._on_timer)
        # Calls of C libraries restart instead of failing with EINTR.
        siginterrupt(SIGURG, False)
        self.pause_while(is_blocked(), layout.PROBE_SIGURG_BLOCKED)

    def _leave_signal(self) -> None:
        """Leave SIGURG as Python has it without us. Of another thread it stays, and never fires."""
        if self.thread == get_ident() and is_probe(getsignal(SIGURG)):
            signal(SIGURG, SIG_DFL)

    def _set_state(self, state: int) -> None:
        # The turns before are over.
        turns.begin() if state == layout.PROBE_ON else turns.end()
        treatments: Any = sys.modules.get("rlprof_agent.treatments")
        if treatments is not None and state != layout.PROBE_ON:
            treatments.stop(
                self._mailbox, "the stack probe stepped aside, and nobody could switch it any more"
            )
        self._mailbox.cells[layout.CELL_PROBE_STATE] = state

    def _obey_interval(self) -> None:
        wanted = self._mailbox.cells[layout.CELL_INTERVAL_US]
        if wanted != self._interval_us and self.is_on and self._timer is not None:
            self._interval_us = wanted
            self._timer.set_interval(wanted)
            if not wanted:
                turns.end()

    def _heed_recursion_limit(self) -> None:
        limit = sys.getrecursionlimit()
        if limit != self._recursion_limit:
            self._recursion_limit = limit
            self._with_room = range(limit - _ROOM if limit in _CHECKED_LIMITS else 0)

    def _on_timer(self, _signum: int, frame: Optional[FrameType]) -> None:
        # A timer faster than this handler would make it recurse into itself.
        if self._in_handler:
            return
        self._in_handler = True
        try:
            # Neither calls nor comparisons until there is known to be room for them: Python counts both.
            if self._with_room:
                above = frame
                for _ in self._with_room:
                    if above is None:
                        break
                    above = above.f_back
                else:
                    for _ in _NEAR_LIMIT:
                        if above is None:
                            return
                        above = above.f_back
                    self._heed_recursion_limit()
                    return
            self._take(frame)
        except RecursionError as error:
            is_theirs = False
            try:
                is_theirs = foreign_errors.goes_on(error)
            except RecursionError:
                pass  # No room even for that: ours.
            if is_theirs:
                raise
        except BaseException as error:
            # None of ours into the program. What was not written shows up as a lost stack.
            if foreign_errors.goes_on(error):
                raise
        finally:
            self._in_handler = False

    def _take(self, frame: Optional[FrameType]) -> None:
        now = time.thread_time_ns()
        weight = now - self._last_ns
        windows = self.windows
        if windows is not None and windows.is_open:
            # Not the program's pace, and torch may take stacks by a profile function of its own.
            windows.look()
            turns.begin()
            self._last_ns = time.thread_time_ns()
            return
        if sys.gettrace() is not None or sys.getprofile() is not None:
            # Switched on from C code, which nobody is told of.
            aside.step_aside()
            return
        cells = self._mailbox.cells
        if cells[layout.CELL_ONLY_TREATED]:
            # Only a try imports it.
            from . import treatments

            turns.turn(weight)
            treatments.follow(self._mailbox)
            self._obey_interval()
            self._last_ns = time.thread_time_ns()
            cells[layout.CELL_PROBE_COST_NS] += self._last_ns - now
            return
        innermost = frame
        if frame is not None and _has_not_begun(frame):
            # What was done until the call is the caller's.
            frame = frame.f_back
        key = []
        depth = 0
        leaf = frame
        while frame is not None and depth < layout.MAX_FRAMES:
            # The identity of the code object: hashing one reads all its bytecode.
            key.append(id(frame.f_code))
            key.append(frame.f_lasti)
            frame = frame.f_back
            depth += 1
        self._heed_recursion_limit()
        if depth >= min(layout.MAX_FRAMES, NEAR_RECURSION_LIMIT * self._recursion_limit):
            self.give_up(layout.PROBE_DEEP_STACK)
            return
        turns.turn(weight)
        stack = self._stacks.get(tuple(key))
        if stack is None:
            stack = self._define(tuple(key), leaf)
        written = stack >= 0 and self._mailbox.write(
            layout.SAMPLE.pack(layout.TAG_SAMPLE, stack, weight)
        )
        if not written:
            cells[layout.CELL_LOST] += 1
        cells[layout.CELL_PROBE_TAKEN] += 1
        # Copied here, for a callback of the collector would run in every young collection too.
        cells[self._gc_cell] = _full_collections() - self._gc_before
        self._obey_interval()
        self._last_ns = time.thread_time_ns()
        cells[layout.CELL_PROBE_COST_NS] += self._last_ns - now
        if cells[layout.CELL_LOOKS_ASKED] != cells[layout.CELL_LOOKS_TAKEN]:
            self._looks.hear(self._resets)
        if self._looks.are_due:
            before, was_soon = self._last_ns, self._looks.are_soon
            self._looks.take(stack, innermost, self._frames.by_place)
            if self._looks.are_soon != was_soon:
                self.hurry(not was_soon)
            self._last_ns = time.thread_time_ns()
            counting = self._looks.taken_counting_ns()
            cells[layout.CELL_LOOKS_COST_NS] += self._last_ns - before - counting
            cells[layout.CELL_PROBE_COST_NS] += counting
        if windows is not None and self._frames.saw_torch:
            windows.look()
            self._last_ns = time.thread_time_ns()

    def _define(self, key: tuple[int, ...], frame: Optional[FrameType]) -> int:
        """Write the definition of a stack not seen before; its id, or -1 without room."""
        if (
            len(self._stacks) >= MAX_STACKS
            or self._held_frames >= MAX_HELD_FRAMES
            or self._frames.are_too_many
        ):
            if not self._mailbox.write(bytes([layout.TAG_RESET])):
                return -1
            self._stacks.clear()
            self._held_frames = 0
            self._frames.clear()
            self._resets += 1
            self._looks.forget()
        ids = []
        while frame is not None:
            number = self._frames.number(frame)
            if number < 0:
                return -1
            ids.append(number)
            frame = frame.f_back
        ids.reverse()
        stack = len(self._stacks)
        record = layout.STACK.pack(layout.TAG_STACK, stack, len(ids)) + struct.pack(
            "=%dI" % len(ids), *ids
        )
        if not self._mailbox.write(record):
            return -1
        self._stacks[key] = stack
        self._held_frames += len(ids)
        return stack


def _full_collections() -> int:
    """Return how often the oldest generation was collected, with all others."""
    collections: int = gc.get_stats()[2]["collections"]
    return collections


def is_blocked() -> bool:
    """Tell whether this thread blocks SIGURG."""
    return SIGURG in pthread_sigmask(SIG_BLOCK, ())


def _has_not_begun(frame: FrameType) -> bool:
    """Tell whether ``frame`` is at the entry of a function, where Python runs signal handlers before the first line."""
    code = frame.f_code
    if code.co_flags & _RESUMES or frame.f_back is None:
        return False
    # Up to there cells are made: an instruction of two bytes for each, and one for those that are taken over.
    return frame.f_lasti <= 2 * (len(code.co_cellvars) + bool(code.co_freevars))


def is_probe(handler: object) -> bool:
    """Tell whether a signal handler is that of a probe, this process's or its parent's."""
    return getattr(handler, "__func__", None) is StackProbe._on_timer
