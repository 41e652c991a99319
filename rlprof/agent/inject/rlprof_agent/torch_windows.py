"""Windows of torch's profiler: a few optimizer steps at a time, with no change to the program."""

from __future__ import annotations

import _thread
import os
import sys
import time

from . import dynamo, layout

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Optional

    from .mailbox import Mailbox
    from .stack_probe import StackProbe
    from .torch_capture import Capture

MOST_PROCESSES = 8
"""Processes of a run that may have windows: the first that come to it. Each keeps some megabytes."""

_windows: Optional[TorchWindows] = None


def are_wanted() -> bool:
    return os.environ.get("RLPROF_TORCH", "off") != "off"


def watch(agent: Any) -> None:
    """Take windows in this process, with :func:`updated` as the clock."""
    global _windows
    _windows = TorchWindows(agent)


def updated() -> None:
    """An optimizer has made a step."""
    if _windows is not None:
        _windows.updated()


def are_impossible(agent: Any) -> None:
    """Say that this torch has no hook after each optimizer step."""
    agent.mailbox.cells[layout.CELL_TORCH_STATE] = layout.TORCH_TOO_OLD


def renew(agent: Any) -> None:
    """In a forked child: ``agent`` is its own, or None when it has none."""
    global _windows
    before = _windows
    if before is None:
        return
    _windows = None
    is_open = before.forget()
    if agent is not None:
        _windows = TorchWindows(agent)
        if is_open:
            # The parent's profiler is half in this process too.
            _windows.stop(layout.TORCH_OTHER_PROFILER)


class TorchWindows:
    """The windows of one process. Whatever fails here costs windows, never the program.

    Of its main thread: what runs in others at the same time is not in them.
    """

    def __init__(self, agent: Any) -> None:
        from . import torch_plan

        dynamo.skip(torch_plan)
        self._mailbox: Mailbox = agent.mailbox
        self._folder = os.environ.get("RLPROF_TORCH_DIR", "")
        self._steps = int(os.environ.get("RLPROF_TORCH_STEPS", "10"))
        self._main_thread = _main_thread()
        self._plan = torch_plan.WindowPlan(always=os.environ.get("RLPROF_TORCH") == "always")
        self._capture: Optional[Capture] = None
        self.is_open = False
        """Also while a window is being opened or closed, when torch's profiler may trace already."""
        self._asleep_until = 0
        self._number = 0
        self._has_claim = False
        self._is_stopped = not self._folder
        # Never waited for: the probe's handler may come while its own thread is in here.
        self._lock = _thread.allocate_lock()
        self._set_state(layout.TORCH_WATCHED)
        self._probe: Optional[StackProbe] = agent.probe
        if self._probe is not None:
            self._probe.windows = self

    def end(self) -> None:
        """End a window that is open now: what would end it in time goes."""
        if self._is_stopped or _thread.get_ident() != self._main_thread:
            return
        if self._lock.acquire(False):
            try:
                self._close()
            except Exception:
                self._fail()
            finally:
                self._lock.release()

    def updated(self) -> None:
        """An optimizer has made a step."""
        if self._is_stopped:
            return
        now = time.monotonic_ns()
        if now < self._asleep_until:
            self._plan.passed(now)
            return
        if not self._lock.acquire(False):
            return
        try:
            if _thread.get_ident() != self._main_thread:
                if self._capture is None:
                    self._set_state(layout.TORCH_OTHER_THREAD)
            elif self._capture is None:
                self._plan.updated(now)
                self._open_if(self._plan.due_at_update(now))
                self._asleep_until = self._plan.asleep_until()
            else:
                self._capture.updates += 1
                is_full = self._capture.updates >= self._steps
                if is_full or now >= self._capture.deadline_ns:
                    self._close()
        except Exception:
            self._fail()
        finally:
            self._lock.release()

    def look(self) -> None:
        """From the probe's handler: end a window that grows long; begin one where nothing updates."""
        if self._is_stopped or not self._lock.acquire(False):
            return
        try:
            now = time.monotonic_ns()
            if self._capture is None:
                self._open_if(self._plan.due_without_updates(now))
            elif now >= self._capture.deadline_ns:
                self._close()
        except Exception:
            self._fail()
        finally:
            self._lock.release()

    def stop(self, state: int) -> None:
        """No further windows in this process."""
        self._is_stopped = True
        self._set_state(state)

    def forget(self) -> bool:
        """Leave them to the parent, in a forked child; whether one was open."""
        self._is_stopped = True
        capture, self._capture = self._capture, None
        if capture is not None:
            capture.forget()
        return capture is not None

    def _open_if(self, kind: Optional[int]) -> None:
        if kind is None:
            return
        from . import torch_capture

        dynamo.skip(torch_capture)
        if torch_capture.is_bad_moment():
            return
        if torch_capture.another_profiler_is_on():
            self.stop(layout.TORCH_OTHER_PROFILER)
        elif self._probe is None or not self._probe.is_on:
            self._set_state(layout.TORCH_NO_PROBE)
        elif not self._claim():
            self.stop(layout.TORCH_OTHER_PROCESSES)
        else:
            self._tell(layout.WINDOW_KIND, kind)
            self._tell(layout.WINDOW_BEGUN_NS, time.monotonic_ns())
            self._tell(layout.WINDOW_FATE, layout.WINDOW_OPEN)
            self.is_open = True
            self._capture = torch_capture.Capture(kind)

    def _close(self) -> None:
        from . import torch_capture

        if self._capture is None or torch_capture.is_bad_moment():
            return
        capture, self._capture = self._capture, None
        fate = layout.WINDOW_GIVEN_UP if capture.was_given_up else layout.WINDOW_WRITTEN
        if capture.was_given_up:
            capture.abandon()
            self.stop(layout.TORCH_OTHER_PROFILER)
        else:
            capture.close(os.path.join(self._folder, "%d-%d.json" % (os.getpid(), self._number)))
        ended = time.monotonic_ns()
        self._tell(layout.WINDOW_UPDATES, capture.updates)
        self._tell(layout.WINDOW_ENDED_NS, ended)
        # Last, so that the recorder never sees a window half-told.
        self._tell(layout.WINDOW_FATE, fate)
        self.is_open = False
        self._number = self._plan.taken(ended - capture.begun_ns)
        if self._number >= layout.MAX_WINDOWS or torch_capture.one_window_only():
            self._is_stopped = True

    def _fail(self) -> None:
        capture, self._capture = self._capture, None
        self.is_open = False
        if capture is not None:
            capture.abandon()
        self._tell(layout.WINDOW_ENDED_NS, time.monotonic_ns())
        self._tell(layout.WINDOW_FATE, layout.WINDOW_FAILED)
        self.stop(layout.TORCH_FAILED)

    def _claim(self) -> bool:
        """One of the places for processes with windows. Raises OSError when the recorder is gone."""
        if self._has_claim:
            return True
        for number in range(MOST_PROCESSES):
            path = os.path.join(self._folder, "process-%d" % number)
            try:
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            except FileExistsError:
                continue
            self._has_claim = True
            self._close_at_exit()
            # A profiler that is on in a forked child would record there for as long as it lives.
            os.register_at_fork(before=self.end)
            return True
        return False

    def _close_at_exit(self) -> None:
        import atexit

        pid = os.getpid()

        def close() -> None:
            capture = self._capture
            if capture is None or os.getpid() != pid:
                return
            try:
                self._close()
            except Exception:
                self._fail()

        atexit.register(close)

    def _tell(self, which: int, value: int) -> None:
        self._mailbox.cells[layout.window_cell(self._number, which)] = value

    def _set_state(self, state: int) -> None:
        self._mailbox.cells[layout.CELL_TORCH_STATE] = state


def _main_thread() -> int:
    """Its id: torch may be imported in another thread, but not without ``threading``."""
    threading: Any = sys.modules["threading"]
    return int(threading.main_thread().ident)
