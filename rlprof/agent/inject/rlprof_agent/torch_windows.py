"""Windows of torch's profiler: a few optimizer steps at a time, with no change to the program."""

from __future__ import annotations

import _thread
import atexit
import sys

from . import aside, dynamo, foreign_errors, layout
from .real import os, time

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable, Optional

    from . import announce, torch_capture, torch_ranges, torch_trace
    from .mailbox import Mailbox
    from .stack_probe import StackProbe
    from .torch_capture import Capture
    from .torch_quiet import LeftThread
    from .torch_ranges import OpenRanges

_windows: Optional[TorchWindows] = None


def is_torch_counted() -> bool:
    """Tell whether anything of torch is to be looked at."""
    return os.environ.get("RLPROF_TORCH", "off") != "off"


def are_wanted() -> bool:
    return os.environ.get("RLPROF_TORCH", "off") not in ("off", "counts")


def watch(agent: Any) -> None:
    """Take windows in this process, with :func:`updated` as the clock."""
    global _windows, announce, torch_capture, torch_ranges, torch_trace
    # What windows take, while the program imports: later, a guard of its own may forbid it that.
    from . import announce, torch_capture, torch_quiet, torch_ranges, torch_trace

    left = torch_quiet.LeftThread(torch_quiet.find_stop())
    _windows = TorchWindows(agent, torch_quiet.find_level(), left)


def load_tracer(_torch: ModuleType) -> None:
    """Import what torch itself would, at the first window with stacks."""
    if are_wanted():
        __import__("torch.profiler.python_tracer")


def updated() -> bool:
    """An optimizer has made a step; return True if the next one has to be told, too."""
    if _windows is not None:
        _windows.updated()
    return _windows is not None and not _windows.is_stopped


def are_impossible(agent: Any) -> None:
    """Say that this torch has no hook after each optimizer step."""
    agent.mailbox.cells[layout.CELL_TORCH_STATE] = layout.TORCH_TOO_OLD


def renew(agent: Any) -> None:
    """In a forked child: ``agent`` is its own, or None when it has none."""
    global _windows
    before = _windows
    if before is None:
        return
    torch_capture.forget_forks()
    _windows = None
    is_open = before.forget()
    if agent is not None:
        from . import torch_quiet

        # Not found anew: to open torch's library is not for a forked child, as ``c_functions`` says.
        level = None if torch_quiet.asks_for_more() else before.log_level
        _windows = TorchWindows(agent, level, torch_quiet.LeftThread(before.left_thread.stop))
        if is_open:
            # The parent's profiler is half in this process too.
            _windows.stop(layout.TORCH_ABSENT)


class TorchWindows:
    """The windows of one process. Whatever fails here costs windows, never the program.

    Of its main thread: what runs in others at the same time is not in them.
    """

    def __init__(self, agent: Any, log_level: Any, left_thread: LeftThread) -> None:
        """``log_level`` is None where torch's profiler cannot be kept from printing."""
        from . import torch_plan

        dynamo.skip(torch_plan)
        self._mailbox: Mailbox = agent.mailbox
        # The program may change its environment.
        self._recorder = os.environ["RLPROF_SOCKET"], os.environ["RLPROF_TOKEN"]
        self._steps = int(os.environ.get("RLPROF_TORCH_STEPS", "10"))
        self._main_thread = _main_thread()
        self._always = os.environ.get("RLPROF_TORCH") == "always"
        self._plan = torch_plan.WindowPlan(always=self._always)
        self._capture: Optional[Capture] = None
        self._left_open: Optional[OpenRanges] = None
        """By the last window."""
        self.is_open = False
        """Also while a window is being opened or closed, when torch's profiler may trace already."""
        self._may_begin = [True]
        """Emptied where the program ends while an instrument of its own is on, by C code, which nobody sees."""
        self._asleep_until = 0
        self._number = 0
        self._is_granted = False
        self.is_stopped = False
        self._has_looked = False
        """True if a window was due before."""
        # Never waited for: the probe's handler may come while its own thread is in here.
        self._lock = _thread.allocate_lock()
        self._set_state(layout.TORCH_WATCHED)
        self.log_level = log_level
        self.left_thread = left_thread
        os.register_at_fork(before=aside.hook(self._end_before_fork, lambda: bool))
        # Not only with the first window, which may be due while the program ends already.
        self._end_in_time()
        if log_level is None:
            self.stop(layout.TORCH_NOT_SILENT)
        self._probe: Optional[StackProbe] = agent.probe
        if self._probe is not None:
            self._probe.windows = self

    def end(self) -> None:
        """End a window that is open now: what would end it in time goes."""
        if _thread.get_ident() == self._main_thread:
            if self.is_open or not self.is_stopped:
                self._alone(self._close)
            self.left_thread.end()

    def end_for_good(self) -> None:
        """End a window that is open, and begin none from now on: torch crashes at the end of a process whose profiler is on."""
        self.end()
        self.is_stopped = True
        self.end()  # For this may have been a bad moment: one that is open fails now.

    def _end_before_fork(self) -> None:
        """In the child torch's profiler would go on recording."""
        if _windows is not self:
            return  # The hook of a parent's, which a child has as well.
        if _thread.get_ident() != self._main_thread:
            torch_capture.another_thread_forks()
        self.end()

    def updated(self) -> None:
        """An optimizer has made a step."""
        if self.is_stopped:
            return
        if _thread.get_ident() != self._main_thread:
            if self._capture is None and not self._is_granted:
                self._set_state(layout.TORCH_OTHER_THREAD)
            return
        now = time.monotonic_ns()
        if self._capture is None:
            self._plan.updated(now)
            if now < self._asleep_until:
                return
        self._alone(self._follow)

    def look(self) -> None:
        """From the probe's handler: end a window that grows long; begin one where nothing updates."""
        if self.is_open or not self.is_stopped:
            self._alone(self._look)

    def stop(self, state: int) -> None:
        """No further windows in this process."""
        self.is_stopped = True
        self._set_state(state)

    def forget(self) -> bool:
        """Leave them to the parent, in a forked child; whether one was open."""
        self.is_stopped = True
        self.is_open = False
        capture, self._capture = self._capture, None
        if capture is not None:
            capture.forget()
        return capture is not None

    def _alone(self, act: Callable[[], None]) -> None:
        """Call ``act`` unless something of this is under way. What the program's signal handlers raise
        goes on to the program, and torch's profiler is off.
        """
        if not self._lock.acquire(False):
            return
        dynamo_before = dynamo.switch_off()
        try:
            if self.is_stopped and self.is_open:
                self._fail()  # It was broken off there.
            else:
                act()
        except BaseException as error:
            is_of_program = foreign_errors.breaks_in(error)
            self._fail()
            if is_of_program:
                foreign_errors.trim(error)
                raise
        finally:
            dynamo.switch_back(dynamo_before)
            self._lock.release()

    def _follow(self) -> None:
        now = time.monotonic_ns()
        if self._capture is None:
            self._open_if(self._plan.due_at_update(now), now)
            self._asleep_until = self._plan.asleep_until()
        else:
            self._capture.updated(now)
            if self._capture.updates >= self._steps or not self._capture.has_room():
                self._close()

    def _look(self) -> None:
        now = time.monotonic_ns()
        if self._capture is None:
            self._open_if(self._plan.due_without_updates(now), now)
        elif now >= self._capture.deadline_ns:
            self._close()

    def _open_if(self, kind: Optional[int], now_ns: int) -> None:
        if kind is None or not self._may_begin:
            return
        if self._probe is None:
            self.stop(layout.TORCH_NO_PROBE)
            return
        if not self._has_looked:
            # Once: it walks through all of their functions, and this may come after each update.
            self._has_looked = True
            for module in (torch_capture, torch_ranges, torch_trace):
                dynamo.skip(module)
        if torch_capture.is_bad_moment() or dynamo.is_compiling() or self._left_open:
            pass
        elif torch_capture.another_profiler_is_on():
            self.stop(layout.TORCH_OTHER_PROFILER)
        elif not self._always and torch_capture.uses_cuda():
            # CUDA's tracing library, once it is loaded, slows each launch until the process ends (docs/decisions/0050).
            self.stop(layout.TORCH_WOULD_SLOW)
        elif not self._probe.is_on:
            self._set_state(layout.TORCH_NO_PROBE)
        elif not self._mailbox.cells[layout.CELL_INTERVAL_US]:
            self.is_stopped = True  # The recording is over.
        elif self._may():
            longest_ns = self._plan.longest_ns(kind, now_ns)
            if self._is_granted:
                self._set_state(layout.TORCH_MAY if longest_ns else layout.TORCH_TOO_DEAR)
            if longest_ns:
                self._open(kind, longest_ns)
                return
        self._plan.refused(now_ns)

    def _open(self, kind: int, longest_ns: int) -> None:
        self.is_open = True
        self._tell(layout.WINDOW_KIND, kind)
        self._tell(layout.WINDOW_BEGUN_NS, time.monotonic_ns())
        self._tell(layout.WINDOW_FATE, layout.WINDOW_OPEN)
        if not self._number:
            # Anew: processes of multiprocessing begin by forgetting what is to be called at their end, from Python 3.13 on.
            self._end_in_time()
        self.left_thread.may_come()
        self._capture = torch_capture.Capture(kind, longest_ns, self.log_level)
        self._capture.open()
        self._hurry_probe(True)

    def _close(self) -> None:
        capture = self._capture
        if capture is None or torch_capture.is_bad_moment():
            return
        # torch crashes where a profiler is exported that it no longer knows of.
        if capture.was_given_up or not torch_capture.another_profiler_is_on():
            capture.abandon()
            self.stop(layout.TORCH_OTHER_PROFILER)
            self._ended(capture, layout.WINDOW_GIVEN_UP)
            return
        try:
            self._hand_over(capture)
        except Exception as error:
            foreign_errors.pass_on(error)
            self.stop(_state_after(error))
            capture.abandon()
            self._ended(capture, layout.WINDOW_FAILED)
            return
        ended_ns = self._ended(capture, layout.WINDOW_WRITTEN)
        self._number = self._plan.taken(
            capture.kind,
            updates=capture.updates,
            start_ns=capture.started_ns - capture.begun_ns,
            recorded_ns=capture.stopped_ns - capture.started_ns,
            after_ns=ended_ns - capture.stopped_ns,
        )
        if self._number >= layout.MAX_WINDOWS or torch_capture.one_window_only():
            self.is_stopped = True

    def _hand_over(self, capture: Capture) -> None:
        descriptor = capture.close()
        try:
            self._left_open = capture.ranges
            if not capture.ranges.are_all(descriptor):
                self.stop(layout.TORCH_OPEN_RANGE)
            announce.send_trace(*self._recorder, self._number, descriptor)
        finally:
            os.close(descriptor)

    def _ended(self, capture: Optional[Capture], fate: int) -> int:
        """Tell of the end of the window at hand; the time."""
        ended_ns = time.monotonic_ns()
        if capture is not None:
            self._tell(layout.WINDOW_UPDATES, capture.updates)
            self._mailbox.cells[layout.CELL_WINDOWS_COST_NS] += capture.cost_ns()
        self._tell(layout.WINDOW_ENDED_NS, ended_ns)
        self.left_thread.end()
        # Last, so that the recorder never sees a window half-told.
        self._tell(layout.WINDOW_FATE, fate)
        self._capture = None
        self.is_open = False
        self._hurry_probe(False)
        return ended_ns

    def _fail(self) -> None:
        self.stop(layout.TORCH_FAILED)
        if self._capture is not None:
            self._capture.abandon()
        if self.is_open:
            self._ended(self._capture, layout.WINDOW_FAILED)

    def _may(self) -> bool:
        """Tell whether the recorder has given this process one of the places for those with windows.

        It is asked here for the first time, and answers within its next looks. The first of
        ``--torch always`` does not wait for that: counted launches are of the same updates in every run.
        """
        if not self._is_granted:
            state = self._mailbox.cells[layout.CELL_TORCH_STATE]
            if state == layout.TORCH_OTHER_PROCESSES:
                self.is_stopped = True
            elif state == layout.TORCH_MAY:
                self._is_granted = True
            elif state != layout.TORCH_ASKS:
                self._set_state(layout.TORCH_ASKS)
        return self._is_granted or (self._always and not self._number and not self.is_stopped)

    def _hurry_probe(self, is_urgent: bool) -> None:
        """Have windows end in time, however seldom the probe looks otherwise."""
        if self._probe is not None:
            self._probe.hurry(is_urgent)

    def _end_in_time(self) -> None:
        """End windows at the program's end."""
        atexit.register(aside.hook(self.end_for_good, lambda: self._may_begin.clear))

    def _tell(self, which: int, value: int) -> None:
        self._mailbox.cells[layout.window_cell(self._number, which)] = value

    def _set_state(self, state: int) -> None:
        self._mailbox.cells[layout.CELL_TORCH_STATE] = state


def _state_after(error: Exception) -> int:
    is_room = isinstance(error, torch_trace.NoRoomError)
    return layout.TORCH_NO_ROOM if is_room else layout.TORCH_FAILED


def _main_thread() -> int:
    """Its id: torch may be imported in another thread, but not without ``threading``."""
    threading: Any = sys.modules["threading"]
    return int(threading.main_thread().ident)
