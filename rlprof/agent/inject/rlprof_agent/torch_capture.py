"""One window of torch's profiler: started, stopped and written from within the program."""

from __future__ import annotations

import os
import sys
import time
from _thread import get_ident

from . import layout

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

LONGEST_NS = 500_000_000
"""Tiny operations fill 100 MB of trace per second."""

_ENTRIES = ("_prepare_profiler", "_enable_profiler")
"""Names in ``torch.autograd.profiler`` through which every profiler of Python code starts."""


def another_profiler_is_on() -> bool:
    return bool(_torch()._C._autograd._profiler_enabled())


def is_bad_moment() -> bool:
    """Whether the program records a CUDA graph: starting or stopping a profiler would spoil it."""
    cuda = _torch().cuda
    return bool(cuda.is_initialized() and cuda.is_current_stream_capturing())


class Capture:
    """A window that is open, in the thread that opened it."""

    def __init__(self, kind: int) -> None:
        """Start torch's profiler. Raises what torch raises."""
        self.kind = kind
        self.thread = get_ident()
        self.updates = 0
        self.was_given_up = False
        self._restored: dict[str, Any] = {}
        self.begun_ns = time.monotonic_ns()
        self.deadline_ns = self.begun_ns + LONGEST_NS
        torch = _torch()
        activities = [torch.profiler.ProfilerActivity.CPU]
        # Asking for more than the program uses would make a context on the device.
        if torch.cuda.is_initialized():
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        with_stack = kind == layout.WINDOW_STACKS and _nobody_traces()
        # Shapes tell how much was computed; like stacks they cost the host time.
        self._profile: Any = torch.profiler.profile(
            activities=activities,
            with_stack=with_stack,
            record_shapes=kind == layout.WINDOW_STACKS,
        )
        _be_silent()
        self._profile.start()
        try:
            self._make_way_for_others()
        except Exception:
            self.abandon()
            raise

    def close(self, path: str) -> None:
        """Stop, and write the trace; it has its name only when it is whole. Raises OSError."""
        self._restore()
        profile, self._profile = self._profile, None
        profile.stop()
        _speak_again()
        profile.export_chrome_trace(path + ".tmp")
        os.rename(path + ".tmp", path)

    def abandon(self) -> None:
        """Stop, and keep nothing."""
        self._restore()
        profile, self._profile = self._profile, None
        if profile is not None:
            try:
                profile.stop()
            except Exception:
                pass  # It has been stopped already, or never came so far.
            _speak_again()

    def forget(self) -> None:
        """In a forked child: the profiler is the parent's."""
        self._restore()
        self._profile = None

    def _make_way_for_others(self) -> None:
        """A profiler that starts inside of another takes its rows away: the program's comes first."""
        module: Any = sys.modules["torch.autograd.profiler"]
        for name in _ENTRIES:
            original = getattr(module, name, None)
            if original is not None:
                self._restored[name] = original
                setattr(module, name, self._giving_up_first(original))

    def _giving_up_first(self, original: Any) -> Any:
        def start(*args: Any, **kwargs: Any) -> Any:
            self._give_up()
            return original(*args, **kwargs)

        return start

    def _give_up(self) -> None:
        self.was_given_up = True
        if self.thread == get_ident():
            self.abandon()
        else:
            # Only its own thread can stop it, which it does at its next look.
            self._restore()

    def _restore(self) -> None:
        module: Any = sys.modules["torch.autograd.profiler"]
        while self._restored:
            name, original = self._restored.popitem()
            setattr(module, name, original)


_LOG_LEVEL = "KINETO_LOG_LEVEL"
"""torch 2.13 tells on stderr of each start and stop of its profiler, unless this is high."""


def _be_silent() -> None:
    """For torch's library alone: ``os.environ`` stays the program's."""
    if _LOG_LEVEL not in os.environ:
        os.putenv(_LOG_LEVEL, "99")


def _speak_again() -> None:
    if _LOG_LEVEL not in os.environ:
        os.unsetenv(_LOG_LEVEL)


def _torch() -> Any:
    """As the program has imported it."""
    return sys.modules["torch"]


def _nobody_traces() -> bool:
    """Whether stacks can be had without taking a profile function of the program's away."""
    threading: Any = sys.modules.get("threading")
    return sys.getprofile() is None and getattr(threading, "_profile_hook", None) is None


def one_window_only() -> bool:
    """Whether a second start of the CUDA profiler may crash the program: with CUDA graphs it does
    before CUDA 12.6 (a note in torch's own profiler names it).
    """
    torch = _torch()
    if not torch.cuda.is_initialized() or torch.version.cuda is None:
        return False
    release = tuple(int(part) for part in torch.version.cuda.split(".")[:2])
    return release < (12, 6)
