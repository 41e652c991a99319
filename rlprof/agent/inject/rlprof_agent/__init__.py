"""The rlprof agent: announces its process, counts steps, hosts the stack probe.

Runs in every Python process of the target, from ``sitecustomize``. Standard library
only, Python 3.9 or newer, no output, and no exception that reaches the program.
"""

from __future__ import annotations

import _thread
import os
import sys

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Optional

_agent: Optional[Agent] = None
_custom_state = 0
"""State of the target of ``--steps-from``; a forked child inherits it."""


class Agent:
    """The agent of one process; a forked child makes itself a new one."""

    def __init__(self, start: str, *, waits: bool = True) -> None:
        from .mailbox import Mailbox

        self.probe: Any = None
        self.mailbox = Mailbox(int(os.environ.get("RLPROF_PROBE_US", "10000")))
        tracer = os.environ.get("RLPROF_TRACER_PID")
        if tracer:
            from .cpu_timer import allow_tracer

            allow_tracer(int(tracer))
        from .announce import announce

        try:
            self.connected = announce(
                os.environ["RLPROF_SOCKET"],
                os.environ["RLPROF_TOKEN"],
                start,
                self.mailbox.fd,
                waits=waits,
            )
        finally:
            self.mailbox.close_descriptor()
        if self.connected:
            self._start_probe()

    def _start_probe(self) -> None:
        from . import layout

        if os.environ.get("RLPROF_PROBE_US", "0") == "0":
            self.mailbox.cells[layout.CELL_PROBE_STATE] = layout.PROBE_NOT_WANTED
            return
        from .stack_probe import StackProbe

        self.probe = StackProbe(self.mailbox)
        self.probe.start(_thread.get_native_id())


def current_agent() -> Optional[Agent]:
    """That of this process; None without a recorder."""
    return _agent


def cell(name: str) -> Any:
    """The one-item memory in which this process counts ``name``, or None without a recorder."""
    if _agent is None:
        return None
    index = _agent.mailbox.counter(name)
    return _agent.mailbox.cells[index : index + 1]


def _tell_custom_state(state: int) -> None:
    global _custom_state
    _custom_state = state
    if _agent is not None:
        from . import layout

        _agent.mailbox.cells[layout.CELL_CUSTOM_STATE] = state


def start() -> None:
    """Start the agent of a fresh interpreter."""
    global _agent
    if _agent is not None:
        return
    from . import import_rlprof, interpreters, manners

    # First, and whatever comes of the rest: the program may depend on it.
    import_rlprof.install()
    if not interpreters.is_main():
        return
    if "RLPROF_SIDE_ROOT" in os.environ:
        from . import moved_imports

        try:
            moved_imports.install(os.environ["RLPROF_HEAD_ROOT"], os.environ["RLPROF_SIDE_ROOT"])
        except Exception:
            pass  # What was imported is told at the end, and judged then.
    # The recorder may hear of it once it has ended, and a dead process has no command line.
    is_spawned = "--multiprocessing-fork" in sys.argv
    agent = Agent("spawn" if is_spawned else "start")
    if not agent.connected:
        return
    _agent = agent
    if agent.probe is not None:
        manners.install(_probe)
    from . import aside, counting, exits, held_signals, instruments

    exits.install(lambda: None if _agent is None else _agent.mailbox.cells)
    counting.install(_tell_custom_state)
    if "RLPROF_IMPORTS_DIR" in os.environ:
        from . import imported_files

        imported_files.install(os.environ["RLPROF_IMPORTS_DIR"])
    in_child = held_signals.holding(_start_in_child, _forget_before_exec)
    os.register_at_fork(after_in_child=aside.hook(in_child, _forget_in_child))
    if "RLPROF_TREATED" in os.environ:
        from . import treatments

        treatments.load()
    # Last: one of the program's may be on already, and then all of that is aside.
    instruments.install(_probe)


def _probe() -> Any:
    return None if _agent is None else _agent.probe


def _forget_in_child() -> Any:
    """C code after which what a child counts is not told to its parent's recorder as the parent's."""
    return bool if _agent is None else _agent.mailbox.make_private


def _forget_before_exec() -> None:
    """Have no agent in a child that becomes another program next: the parent's timer is not there either."""
    global _agent
    _forget_in_child()()
    _agent = None


def _start_in_child() -> None:
    """Renew everything: the parent's mailbox and its timer are not the child's."""
    global _agent
    before, _agent = _agent, None
    call_marks: Any = sys.modules.get("rlprof_agent.counted.call_marks")
    if call_marks is not None:
        call_marks.forget_what_is_left()
    try:
        _import_anew()
        from . import layout, manners

        # Still mapped here: what the recorder told the parent.
        waits = before is None or not before.mailbox.cells[layout.CELL_NO_WAIT]
        agent = Agent("fork", waits=waits)
        if agent.connected:
            _agent = agent
            manners.yield_in_child(agent.probe)
    except Exception:
        pass  # The child runs on without an agent; the scan finds it.
    try:
        _renew_cells()
    except Exception:
        pass  # The program has unloaded us, or lets nobody import.


def _import_anew() -> None:
    """Forget modules of ours that a thread was importing which the child has not: an import of theirs would wait for its lock for ever."""
    locks: Any = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    for name in list(locks):
        if name.startswith("rlprof_agent."):
            owner = getattr(locks[name](), "owner", None)
            if owner is not None and owner != _thread.get_ident():
                del locks[name]
                sys.modules.pop(name, None)


def _renew_cells() -> None:
    """Count in this process's own cells: the parent's counts are not the child's, agent or not."""
    from . import counters

    counters.renew()
    turns: Any = sys.modules.get("rlprof_agent.turns")
    if turns is not None:
        if _agent is None:
            turns.stop()
        elif _agent.probe is not None and _agent.probe.is_on:
            turns.begin()
        else:
            turns.end()
    torch_syncs: Any = sys.modules.get("rlprof_agent.counted.torch_syncs")
    if torch_syncs is not None:
        torch_syncs.renew()
    torch_windows: Any = sys.modules.get("rlprof_agent.torch_windows")
    if torch_windows is not None:
        torch_windows.renew(_agent)
    treatments: Any = sys.modules.get("rlprof_agent.treatments")
    if treatments is not None:
        treatments.end()  # What was on in the parent is on here, until the recorder says otherwise.
    _tell_custom_state(_custom_state)
    # The program may have an rlprof of its own.
    renew: Any = getattr(sys.modules.get("rlprof"), "_renew_cells", None)
    if renew is not None:
        renew()
