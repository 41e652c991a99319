"""Tell what threads and processes did in the steady phase, and whom they waited for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from rlprof.model.calltree import CallTree


class WaitKind(Enum):
    """Kind of wait: a thread in it gets nothing done by itself."""

    PIPE = "pipe"
    QUEUE = "queue"
    EVENT = "event"
    """A condition, a barrier or a semaphore of the standard library."""
    LOCK = "lock"
    SOCKET = "socket"
    FUTURE = "future"
    """The result of a pool or an executor."""
    JOIN = "join"
    """The end of a process or a thread."""
    EVENT_LOOP = "event loop"
    OWN_EVENTS = "event loop of its own"
    """In the event loop of a run of one thread: until a time of day, or for somebody outside of the run."""
    POLL = "poll"
    """A loop that asks again and again, asleep in between or not."""
    SLEEP = "sleep"
    """Until a time of day: nobody else can end it sooner."""
    GIL = "GIL"
    """Runnable, while another thread of the process holds the interpreter lock."""
    UNKNOWN = "unknown"
    """Asleep on a line that does not say why: files, C code, page faults."""


FOR_OTHERS: frozenset[WaitKind] = frozenset(
    {
        WaitKind.PIPE,
        WaitKind.QUEUE,
        WaitKind.EVENT,
        WaitKind.SOCKET,
        WaitKind.FUTURE,
        WaitKind.JOIN,
        WaitKind.EVENT_LOOP,
        WaitKind.POLL,
    }
)
"""Waits that end when another process or thread has done its work. Not a lock's: its holder could
do the same work without it."""


WORKED_MEANWHILE: Final = 0.3
"""Part of a wait in which another process or thread has to work for the wait to be for it."""


@dataclass(frozen=True, slots=True)
class Wait:
    """The waits of one kind of one thread in the steady phase: an edge of the wait graph."""

    thread: int
    process: int
    kind: WaitKind
    wall_us: int
    """Asleep, and busy too where it polls."""
    nodes: frozenset[int]
    on: tuple[tuple[int, float], ...] = ()
    """(process id, part of the wait in which it worked meanwhile), the heaviest first: parts of
    several that worked side by side may add up to more than 1. Empty when nobody worked."""


@dataclass(frozen=True, slots=True)
class Activity:
    """Activity of one thread in the steady phase, imports left out, on its own clock (µs)."""

    thread: int
    process: int
    role: str
    """Role of its process."""
    is_main: bool
    is_critical: bool
    tree: CallTree
    """Its own time, nothing replaced."""
    wall_us: int
    idle_us: int
    on_cpu_us: int
    run_queue_us: int
    """Runnable, waiting for a CPU."""
    polling_us: int
    """Busy in loops that poll."""

    @property
    def working_us(self) -> int:
        """Time in which it gets something done or wants to: neither asleep nor polling."""
        return max(0, self.wall_us - self.idle_us - self.polling_us)


MOST_SHARED: Final = 0.95
"""The run's part of the CPU time used, up to which other programs matter: the rest is what runs on any machine."""


@dataclass(frozen=True, slots=True)
class HostLoad:
    """CPU time of the whole run, in all its processes, in the steady phase (µs)."""

    got_us: int
    """Threads that are not Python's included, where the kernel was asked."""
    queued_us: int
    """Runnable Python threads without a CPU."""
    available_us: float
    """CPU time that the usable cores could give."""
    cores: float
    native_us: int = 0
    """The part of ``got_us`` of threads that run no Python: BLAS, OpenMP and torch pools."""
    saturated: bool = False
    """True if the run wants more CPU than there is, and nobody's core is free."""
    own_part: float = 1.0
    """On a saturated host the run's part of the CPU time used: what it frees is shared with others."""
    by_process: tuple[tuple[int, int], ...] = ()
    """(process id, its part of ``got_us``)."""

    @property
    def is_shared(self) -> bool:
        """True if it is saturated by other programs too."""
        return self.own_part <= MOST_SHARED


NO_LOAD = HostLoad(0, 0, 0.0, 1.0)
"""Load of a run without a steady phase."""


class BoundBy(Enum):
    """Cause that keeps the steady rate from being higher."""

    CPUS = "cpus"
    PROCESS = "process"
    """One process, or several alike."""
    LOCK = "lock"
    OUTSIDE = "outside"
    """Sleep, or somebody outside of the run."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Bound:
    """The critical resource, in words too."""

    by: BoundBy
    processes: tuple[int, ...] = ()
    """Ids of the processes it is about."""
    share: float = 0.0
    """Part of the critical time (of the cores, for ``cpus``) that says so."""
    text: str = ""
    """One sentence part: ``the learner (pid 12), busy 93 % of the time``."""


NOT_BOUND = Bound(BoundBy.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Component:
    """One part of training, over all processes, in the steady phase."""

    name: str
    """``environment``, ``inference``, ``learning``, ``transfer``, ``logging``, ``configuration``, ``data
    preparation``, ``other``; a wait, of ``WAITS`` in ``profile/component_costs.py``; ``threads without Python``; or a
    phase of ``rlprof.phase``."""
    share: float
    """Share of the time, its waits for a core left out: those of all that no program marked add up to 1. On a full host it is the time
    in which any thread of the run has a core or waits for one, else that of the critical threads."""
    per_step_us: float
    """Time of all processes together per step (µs), waits for a CPU left out; 0 when no step was counted."""
    parallel: float
    """How many threads do it side by side, at most the cores."""
    ceiling_sps: float | None
    """Steps per second if all else were free; ``None`` for waits, for what is asleep for a good part of its time, where no step was
    counted, and where the rate drifts by factors."""
    is_marked: bool = False
    """True if the program marked it by ``rlprof.phase``."""
    priced_share: float = 0.0
    """Share of the critical time, its waits for a core with it, as findings and prices count it."""
