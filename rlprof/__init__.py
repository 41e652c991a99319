"""rlprof: why reinforcement-learning training is slow, and what each fix is worth.

Inside a training script only :func:`step` and :func:`phase` are of use, and neither is needed.
This module imports the standard library alone and runs on Python 3.9 or newer.
"""

from __future__ import annotations

import sys
from _thread import _local
from array import array
from time import perf_counter_ns as _wall_clock
from time import thread_time_ns as _cpu_clock

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from collections.abc import Callable, MutableSequence
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["__version__", "phase", "step"]

__version__ = "0.1.0"

_MAX_PHASE_NAME = 34
"""Bytes of a phase's name that are kept: a counter's name has 48, with ``phase:`` and what it is."""

_CO_COROUTINE = 128


def _cell(name: str) -> MutableSequence[int]:
    """The agent's shared memory under ``rlprof run``: a count needs no call out of the process
    and outlives a crash of it. Private memory otherwise.
    """
    agent = sys.modules.get("rlprof_agent")
    shared = None if agent is None else agent.cell(name)
    return array("q", [0]) if shared is None else shared


_steps = _cell("steps")
"""Where :func:`step` counts."""


def step(n: int = 1) -> None:
    """Count ``n`` environment steps: call it where your program makes them.

    Costs well under 1 µs and needs no rlprof running. Steps of all processes add up. More than 63 bits of them
    are not counted.
    """
    try:
        _steps[0] += n
    except (OverflowError, ValueError):
        pass  # A count must not end a training.
    except TypeError:
        # Shared and private memory would say it in words of their own, which tell nobody what to do.
        raise TypeError(f"rlprof.step counts whole numbers, not {type(n).__name__}") from None


def phase(name: str) -> _Phase:
    """Mark what your program does, for the report's table of components::

        with rlprof.phase("rollout"):
            ...

        @rlprof.phase("learn")
        def update(batch): ...

    Phases may nest, in any thread: time in the inner one is not the outer one's. Costs 2 to 3 µs,
    half of it the kernel's clock of CPU time, and needs no rlprof running. The first 34 bytes
    of a name are kept.
    """
    return _phases.get(name) or _phases.setdefault(name, _Phase(name))


class _Phase:
    """Counts wall and CPU time (ns) spent under one name, and how often it was entered."""

    __slots__ = ("_cpu_ns", "_entered", "_wall_ns", "name")

    def __init__(self, name: str) -> None:
        self.name = name.encode("utf-8", "replace")[:_MAX_PHASE_NAME].decode("utf-8", "ignore")
        self.renew_cells()

    def renew_cells(self) -> None:
        self._wall_ns = _cell(f"phase:{self.name}:wall_ns")
        self._cpu_ns = _cell(f"phase:{self.name}:cpu_ns")
        self._entered = _cell(f"phase:{self.name}:entered")

    # Written out twice instead of called: a call costs as much as all this arithmetic.

    def __enter__(self) -> _Phase:
        try:
            times = _of_thread.times
        except AttributeError:
            times = _of_thread.times = _ThreadTimes()
        wall_ns, cpu_ns = _wall_clock(), _cpu_clock()
        entered = times.entered
        if entered:
            # Time since the last change of phase is the innermost phase's.
            outer = entered[-1]
            outer._wall_ns[0] += wall_ns - times.wall_ns
            outer._cpu_ns[0] += cpu_ns - times.cpu_ns
        entered.append(self)
        times.wall_ns = wall_ns
        times.cpu_ns = cpu_ns
        return self

    def __exit__(self, *_exception: object) -> None:
        try:
            times = _of_thread.times
            inner = times.entered.pop()
        except (AttributeError, IndexError):
            return  # Entered in another thread, by a generator that was passed on to this one.
        wall_ns, cpu_ns = _wall_clock(), _cpu_clock()
        inner._wall_ns[0] += wall_ns - times.wall_ns
        inner._cpu_ns[0] += cpu_ns - times.cpu_ns
        times.wall_ns = wall_ns
        times.cpu_ns = cpu_ns
        self._entered[0] += 1
        if inner is not self:
            # Generators and coroutines may leave in another order than they entered.
            if self in times.entered:
                times.entered.remove(self)
            times.entered.append(inner)

    def __call__(self, function: F) -> F:
        """Decorate ``function``: each call of it is in this phase."""
        from functools import wraps

        code = getattr(function, "__code__", None)
        if code is not None and code.co_flags & _CO_COROUTINE:

            @wraps(function)
            async def awaited_in_phase(*args: Any, **kwargs: Any) -> Any:
                with self:
                    return await function(*args, **kwargs)

            # ``wraps`` keeps the signature; a type checker cannot know that.
            return awaited_in_phase  # type: ignore[return-value]

        @wraps(function)
        def called_in_phase(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        # As above.
        return called_in_phase  # type: ignore[return-value]


class _ThreadTimes:
    """The phases that one thread is in, and up to when its time is booked."""

    __slots__ = ("cpu_ns", "entered", "wall_ns")

    def __init__(self) -> None:
        self.entered: list[_Phase] = []
        self.start()

    def start(self) -> None:
        """Book nothing of the time until now."""
        self.wall_ns = _wall_clock()
        self.cpu_ns = _cpu_clock()


_phases: dict[str, _Phase] = {}
_of_thread = _local()


def _renew_cells() -> None:
    """Count in this process's own memory: the agent calls it in a forked child."""
    global _steps
    _steps = _cell("steps")
    for each in _phases.values():
        each.renew_cells()
    times = getattr(_of_thread, "times", None)
    if times is not None:
        times.start()  # What came before is the parent's.
