"""Instruments of the program's own: before one is switched on, the agent steps aside.

Where the end of one is told without a step of Python code that it could show, the agent steps back. One that
is switched on by C code alone is noticed by the probe's handler, which it has seen once by then.
"""

from __future__ import annotations

import sys

from . import aside, foreign_errors, import_rlprof, real, stand_ins

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable, Optional

    from .torch_windows import TorchWindows

    ProbeGetter = Callable[[], Any]

_FOR_ALL_THREADS = ("_settraceallthreads", "_setprofileallthreads")
"""Behind functions that ``threading`` has from Python 3.12 on."""

_MOST_TOOLS = 6
"""Most tools of ``sys.monitoring``."""

_is_audited = [False]
"""True once the program has an audit hook, which cannot be taken off, hears what the probe reads, and may refuse it."""

_probe: list[ProbeGetter] = []


class _ProbeOfNow:
    """That of this process, which changes after a fork."""

    @staticmethod
    def step_aside() -> None:
        probe = _probe[0]()
        if probe is not None:
            probe.step_aside()

    @staticmethod
    def step_back() -> None:
        probe = _probe[0]()
        if probe is not None:
            probe.step_back()


def are_writes_heard() -> bool:
    """Tell whether the program has an audit hook, which is told when the code of a function is changed."""
    return _is_audited[0]


def install(probe: ProbeGetter) -> None:
    """``probe()`` returns this process's probe or None."""
    _probe.append(probe)
    aside.takes_part(_ProbeOfNow)
    aside.takes_part(import_rlprof.OnTheWay)
    _watch("settrace")
    _watch("setprofile")
    stand_ins.replace(sys, "addaudithook", stand_ins.after(_step_aside_for_good, sys.addaudithook))
    stand_ins.replace(sys, "getprofile", stand_ins.after(_end_window, sys.getprofile))
    for name in _FOR_ALL_THREADS:
        real = getattr(sys, name, None)
        if real is not None:
            stand_ins.replace(sys, name, stand_ins.after(aside.step_aside, real))
    if hasattr(sys, "monitoring"):
        _watch_tools(sys.monitoring)
    if not _nothing_is_on():
        aside.step_aside()


def _watch(name: str) -> None:
    """``name`` is that of ``sys.settrace`` or ``sys.setprofile``, which are also given None."""
    real = getattr(sys, name)

    def switch(*args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs or args[0] is None:
            _end_window()
            try:
                return real(*args, **kwargs)
            except BaseException as error:
                foreign_errors.trim(error)
                raise
        aside.step_aside()
        frame: Any = sys._getframe()

        def see_us_return(returning: Any, _event: str, _value: Any) -> None:
            nonlocal frame
            if returning is frame:
                frame = None
                real(args[0])

        # A profile function that is on sees the function return that has switched it on.
        real(see_us_return if name == "setprofile" else args[0])
        return None

    stand_ins.replace(sys, name, lambda: switch)


def _watch_tools(monitoring: Any) -> None:
    real_use, real_free = monitoring.use_tool_id, monitoring.free_tool_id

    def free(*args: Any, **kwargs: Any) -> Any:
        try:
            return real_free(*args, **kwargs)
        except BaseException as error:
            foreign_errors.trim(error)
            raise
        finally:
            if _nothing_is_on():
                monitoring.free_tool_id = real_free
                aside.step_back()

    freeing = stand_ins.StaysInPlace(real_free, lambda: free)

    def choose() -> Any:
        if not _is_own_window():
            aside.step_aside()
            monitoring.free_tool_id = freeing
        return real_use

    stand_ins.replace(monitoring, "use_tool_id", choose)


def watch_memory(module: ModuleType) -> None:
    """``module`` is ``tracemalloc``."""
    own: Any = module
    c_module: Any = sys.modules["_tracemalloc"]
    real_start, real_stop = own.start, own.stop

    def stop() -> None:
        real_stop()
        for each in (own, c_module):
            each.stop = real_stop
        if _nothing_is_on():
            aside.step_back()

    stopping = stand_ins.StaysInPlace(real_stop, lambda: stop)

    def choose() -> Any:
        aside.step_aside()
        for each in (own, c_module):
            each.stop = stopping
        return real_start

    # One for both: pickling looks for the function in the module that it names.
    starting = stand_ins.StandIn(real_start, choose)
    for each in (own, c_module):
        aside.Replaced(each, "start", starting)


def watch_c_profiler(module: ModuleType) -> None:
    """``module`` is ``_lsprof``, behind ``cProfile``: before Python 3.12 it has a switch of its own."""
    if hasattr(sys, "monitoring"):
        return
    own: Any = module
    real: Any = own.Profiler
    # The class itself is of those that nobody may change.
    own.Profiler = type(real)(
        "Profiler", (real,), {"__slots__": (), "__module__": "_lsprof", "__doc__": real.__doc__}
    )
    enable = stand_ins.MethodStandIn(real.enable, _step_aside_for)
    aside.Replaced(own.Profiler, "enable", enable)


def watch_coverage(module: ModuleType) -> None:
    """``module`` is ``coverage.collector``, whose tracers are C code."""
    own: Any = module
    start = stand_ins.MethodStandIn(own.Collector.start, _step_aside_for)
    aside.Replaced(own.Collector, "start", start)


def watch_memray(module: ModuleType) -> None:
    """``module`` is ``memray.commands.run``."""
    real: Any = vars(module)["_run_tracker"]
    stand_ins.replace(module, "_run_tracker", stand_ins.after(aside.step_aside, real))


def watch_torch_profiler(module: ModuleType) -> None:
    """``module`` is ``torch.autograd.profiler``."""
    own: Any = module

    def prepare(profile: Any) -> None:
        if profile.with_stack and not _is_own_window():
            aside.step_aside()

    ours = stand_ins.MethodStandIn(own.profile._prepare_trace, prepare)
    aside.Replaced(own.profile, "_prepare_trace", ours)


WATCHED = {
    "_lsprof": watch_c_profiler,
    "coverage.collector": watch_coverage,
    "memray.commands.run": watch_memray,
    "torch.autograd.profiler": watch_torch_profiler,
    "tracemalloc": watch_memory,
}
"""Modules by which instruments are switched on."""


def _step_aside_for_good() -> None:
    _is_audited[0] = True
    aside.step_aside()


def _step_aside_for(_instrument: Any) -> None:
    aside.step_aside()


def _is_own_window() -> bool:
    """Tell whether the profiler that is starting is that of a window of ours."""
    windows = _windows()
    return windows is not None and windows.is_open


def _end_window() -> None:
    """End a window of ours: for its stacks torch has a profile function, which the program would see, and put back later."""
    windows = _windows()
    if windows is not None and windows.is_open:
        windows.end()


def _windows() -> Optional[TorchWindows]:
    probe = _probe[0]()
    return None if probe is None else probe.windows


def is_one_on() -> bool:
    """Tell whether an instrument of the program's is on, as far as Python tells."""
    return not _nothing_is_on()


def _nothing_is_on() -> bool:
    monitoring: Any = getattr(sys, "monitoring", None)
    memory: Any = sys.modules.get("_tracemalloc")
    return (
        not _is_audited[0]
        and sys.gettrace() is None
        and real.sys.getprofile() is None
        and not (memory is not None and memory.is_tracing())
        and not (monitoring and any(map(monitoring.get_tool, range(_MOST_TOOLS))))
    )
