"""One window of torch's profiler: started, stopped and exported from within the program."""

from __future__ import annotations

from _thread import get_ident

from . import foreign_errors, layout, torch_trace
from .real import sys, time
from .torch_quiet import Silence
from .torch_ranges import OpenRanges

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

ROOM = 1.25
"""Times the mean of a window's updates that there is to be left for a further one."""

_ENTRIES = ("_prepare_profiler", "_enable_profiler")
"""Names in ``torch.autograd.profiler`` through which every profiler of Python code starts."""

_NO_BACKWARD = -1

_do_others_fork = [False]
"""True once another thread than that of windows has forked the process."""

_OF_TORCH = "TraceContext"
"""Type of torch's profile function."""

_OWN_PART = 0.5
"""Part of the recorded time that the program would have needed anyway: updates take up to twice as long."""


def another_profiler_is_on() -> bool:
    return bool(_torch()._C._autograd._profiler_enabled())


def is_bad_moment() -> bool:
    """Tell whether no profiler may be started or stopped: that would spoil a CUDA graph which the program records; and at the end of a
    backward pass torch has for the thread the profiler that there was at its beginning (at::ThreadLocalStateGuard): one that has
    been started meanwhile is lost, and to export it crashes, while one that has been stopped counts as on for good. Nor where the program makes
    remote calls (``torch.distributed.rpc``): torch warns there that it profiles the caller alone.
    """
    torch = _torch()
    if torch._C._current_graph_task_id() != _NO_BACKWARD:
        return True
    is_remote = getattr(
        sys.modules.get("torch.distributed.rpc.api"), "_is_current_rpc_agent_set", None
    )
    if is_remote is not None and is_remote():
        return True
    return bool(torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing())


def another_thread_forks() -> None:
    """Take no more stacks: for them torch sets a profile function in all threads, which a child that another one forks would keep. If one forks while such a
    window is open, its end can hang.
    """
    _do_others_fork[0] = True


def forget_forks() -> None:
    """In the child: the other threads are the parent's."""
    _do_others_fork[0] = False


class Capture:
    """A window, in the thread that opens it.

    A signal handler of the program may break off whatever it does; it can be abandoned all the same.
    """

    def __init__(self, kind: int, longest_ns: int, log_level: Any) -> None:
        """One that is to record for ``longest_ns``, once it is open."""
        self.kind = kind
        self.thread = get_ident()
        self.updates = 0
        self.was_given_up = False
        self.ranges = OpenRanges()
        self.begun_ns = time.monotonic_ns()
        self._begun_cpu_ns = self._started_cpu_ns = time.thread_time_ns()
        self._recorded_cpu_ns = 0
        self._restored: dict[str, Any] = {}
        self._silence = Silence(log_level)
        self._longest_ns = longest_ns
        self._profile: Any = None
        self.started_ns = self.stopped_ns = self._last_ns = self.begun_ns
        self.deadline_ns = self.begun_ns + longest_ns

    def open(self) -> None:
        """Start torch's profiler. Raises what torch raises."""
        torch = _torch()
        activities = [torch.profiler.ProfilerActivity.CPU]
        # Asking for more than the program uses would make a context on the device.
        if torch.cuda.is_initialized():
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        with_stack = (
            self.kind == layout.WINDOW_STACKS
            and _has_one_stack()
            and _nobody_traces()
            and _nobody_replaces_functions()
            and not _do_others_fork[0]
        )
        # Shapes tell how much was computed; like stacks they cost the host time.
        self._profile = torch.profiler._KinetoProfile(
            activities=activities,
            with_stack=with_stack,
            record_shapes=self.kind == layout.WINDOW_STACKS,
        )
        # The first in a process sets the level that silence must keep.
        _prepare(self._profile)
        self._silence.begin()
        self._profile.start_trace()
        self._make_way_for_others()
        self.ranges.watch()
        self.started_ns = self.stopped_ns = self._last_ns = time.monotonic_ns()
        self.deadline_ns = self.started_ns + self._longest_ns
        self._started_cpu_ns = time.thread_time_ns()

    def updated(self, now_ns: int) -> None:
        """An optimizer has made a step."""
        self.updates += 1
        self._last_ns = now_ns

    def has_room(self) -> bool:
        """Tell, right after an update, whether a further one will end before the deadline."""
        each = (self._last_ns - self.started_ns) / self.updates
        return self._last_ns + ROOM * each < self.deadline_ns

    def close(self) -> int:
        """Stop, and export; the descriptor of the trace. Raises OSError, and what torch raises."""
        self._restore()
        profile = self._profile
        try:
            self._stop()
            return torch_trace.export(profile)
        finally:
            self._silence.end()

    def abandon(self) -> None:
        """Stop, and keep nothing. Where that is broken off, it can be done again."""
        self._restore()
        if self._profile is not None:
            # Stopping what is not on makes torch complain on stderr.
            try:
                if another_profiler_is_on():
                    self._stop()
            except Exception as error:
                foreign_errors.pass_on(error)
            _tell_torch_of_the_end()
            self._profile = None
        self._silence.end()

    def forget(self) -> None:
        """In a forked child: the profiler is the parent's."""
        self._restore()
        self._silence.end()
        self._profile = None
        if type(sys.getprofile()).__name__ == _OF_TORCH:
            sys.setprofile(None)

    def cost_ns(self) -> int:
        """CPU time that it has taken from the program, once it is over."""
        whole = time.thread_time_ns() - self._begun_cpu_ns
        return round(whole - _OWN_PART * self._recorded_cpu_ns)

    def _stop(self) -> None:
        self.stopped_ns = time.monotonic_ns()
        self._recorded_cpu_ns = time.thread_time_ns() - self._started_cpu_ns
        self._profile.stop_trace()
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
        self.ranges.restore()
        module: Any = sys.modules["torch.autograd.profiler"]
        for name, original in list(self._restored.items()):
            setattr(module, name, original)
            del self._restored[name]


def _prepare(profile: Any) -> None:
    """Do what ``prepare_trace`` of torch does, without two things of it: it imports torch's compiler, which takes seconds, and in torch
    2.10 and 2.11 it warns on stderr that a profiler keeps one cycle only.
    """
    config = sys.modules.get("torch._inductor.config")
    if config is not None:
        profile.has_cudagraphs = config.triton.cudagraphs
    profile.profiler = _torch().autograd.profiler.profile(
        use_device=profile.use_device,
        with_stack=profile.with_stack,
        record_shapes=profile.record_shapes,
        use_kineto=True,
    )
    profile.profiler._prepare_trace()


def _tell_torch_of_the_end() -> None:
    """Do what torch does itself right after it has stopped, unless it is interrupted there."""
    tell = getattr(sys.modules["torch.autograd.profiler"], "_run_on_profiler_stop", None)
    if tell is not None:
        tell()


def _torch() -> Any:
    """As the program has imported it."""
    return sys.modules["torch"]


def _has_one_stack() -> bool:
    """Tell whether no greenlets change places in a thread: torch loses count of calls there, and says so on stderr."""
    return "greenlet" not in sys.modules


def _nobody_traces() -> bool:
    """Tell whether stacks can be had without taking a profile function of the program's away."""
    threading: Any = sys.modules.get("threading")
    return sys.getprofile() is None and getattr(threading, "_profile_hook", None) is None


def _nobody_replaces_functions() -> bool:
    """Tell whether no mode of the program's is on (``TorchFunctionMode``): torch reads parameters for its stacks, and would call it for that."""
    return not sys.modules["torch._C"]._len_torch_function_stack()


def uses_cuda() -> bool:
    torch = _torch()
    return bool(torch.cuda.is_initialized() and torch.version.cuda is not None)


def one_window_only() -> bool:
    """Tell whether a second start of the CUDA profiler may crash the program: with CUDA graphs it does
    before CUDA 12.6 (a note in torch's own profiler names it).
    """
    if not uses_cuda():
        return False
    release = tuple(int(part) for part in _torch().version.cuda.split(".")[:2])
    return release < (12, 6)
