"""Start the target as our own child, on our terminal, and pass on what happens to either."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, TypeVar

from rlprof.errors import exit_code_of_signal
from rlprof.recording.machine import procfs
from rlprof.recording.machine.prctl import adopt_orphans
from rlprof.recording.program.dispositions import (
    FAULTS,
    IGNORED_BY_PYTHON,
    forget_handlers,
    hand_down,
    ignored_before_python,
)
from rlprof.recording.program.launch_errors import (
    NO_PROCESS_LEFT,
    no_process_left,
    not_started,
    too_long,
)
from rlprof.recording.program.terminals import (
    give_terminal,
    is_in_foreground,
    is_terminal,
    our_terminal,
)
from rlprof.recording.program.witness import GroupWitness, OutputStream, Sender

_OTHERWISE_SEEN_TO = frozenset(
    {
        *(signal.SIGKILL, signal.SIGSTOP),  # Nobody can catch these.
        *(signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU),  # They stop us and go by.
        *(signal.SIGCHLD, signal.SIGCONT, signal.SIGWINCH, signal.SIGURG),  # They end nobody.
        *IGNORED_BY_PYTHON,
        *FAULTS,
    }
)

FORWARDED = tuple(sorted(signal.valid_signals() - _OTHERWISE_SEEN_TO))
"""All others that would end us, the real-time ones too: whether they do is for the target to say."""

_WANTS_TERMINAL = (signal.SIGTTIN, signal.SIGTTOU)

_BEYOND_REACH = (ProcessLookupError, PermissionError)
"""The target has just ended, and its exit status is on the way; or it is another user's (``sudo``)."""

SENDING_S = 0.02
"""From a signal to us until the same to our group: ``timeout`` sends both, one after the other."""

LEADER_ENDS_S = 0.1
"""For a shell to end once its terminal is gone; it saves its history first."""

_PID_OF_A_SERVICE = ("LISTEN_PID", "WATCHDOG_PID", "SYSTEMD_EXEC_PID")
"""Variables by which systemd tells a process that the sockets, the watchdog and the journal are meant for it."""

_LOOKED_AT = 512
"""Bytes of a program that tell text from machine code."""

_Started = TypeVar("_Started")

SAME_SIGNAL_S = 0.05
"""Seconds within which what was sent to our group comes to us, too; and again where it was sent to us as well (as
``timeout`` does)."""


class RunningTarget:
    """The running target, in our process group: what is sent to the group of a job, by a launcher or a
    terminal, reaches it and its workers as without us.

    Where a shell with job control has made us the leader of a group of our own, the target leads one likewise,
    and has the terminal.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        stdout: int | None = None,
        stderr: int | None = None,
        read_by_us: Sequence[OutputStream] = (),
        also_ignored: frozenset[int] = frozenset(),
        blocked: Iterable[int] = (),
    ) -> None:
        """``read_by_us`` are the other ends of ``stdout`` and ``stderr``, ``also_ignored`` signals that we handle and
        were given as ignored, ``blocked`` those that we were given as blocked.

        Raises :class:`LaunchError` when the program cannot be started, :class:`OutputError` when no further
        process may be, or none with what we add to its environment: then it can still take our place.
        """
        self.exit_code: int | None = None
        self.exit_signal: int | None = None
        """The signal that ended it, where one did."""
        self.stopped_at_s: float | None = None
        """When SIGSTOP or Ctrl-Z has stopped it, while it is stopped (monotonic clock)."""
        self.stops = 0
        """How often it was stopped or continued."""
        self._leads = _leads_alone()
        self._held_terminal = _hold_terminal() if self._leads else None
        self._terminal = self._held_terminal
        """The same while we are in its foreground."""
        self._to_group_s: dict[int, float] = {}
        """When each signal was last sent to our whole group."""
        self._witness = _group_witness(read_by_us)
        terminal = self._terminal
        leads = self._leads
        ignored = ignored_before_python() | also_ignored
        means_us = [name for name in _PID_OF_A_SERVICE if environment.get(name) == str(os.getpid())]

        def prepare() -> None:
            if means_us:
                os.environ.update(environment, **dict.fromkeys(means_us, str(os.getpid())))
            if leads:
                os.setpgid(0, 0)
            if terminal is not None:
                give_terminal(terminal, os.getpgrp())
            if alarm[0]:
                signal.setitimer(signal.ITIMER_REAL, *alarm)
            forget_handlers(FORWARDED)
            hand_down(ignored)
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

        def start(words: Sequence[str]) -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                list(words),
                env=None if means_us else dict(environment),
                stdout=stdout,
                stderr=stderr,
                preexec_fn=prepare,
                # What was handed down to us is the target's; our own descriptors close on exec.
                close_fds=False,
                restore_signals=False,
            )

        # An alarm that our parent has set is the program's, which may put it off.
        alarm = signal.setitimer(signal.ITIMER_REAL, 0)
        # Until the program has begun they wait: in its process they would run into our handlers.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
        try:
            process = _or_by_shell(start, command)
        except (OSError, subprocess.SubprocessError) as error:
            self._take_terminal_back()
            self.close()
            reason = getattr(error, "errno", None)
            if reason in NO_PROCESS_LEFT:
                raise no_process_left(error) from error
            if reason == errno.E2BIG:
                raise too_long() from error
            raise not_started(command, error) from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self._started_s = time.monotonic()
        _lift_our_cpu_limit()
        self.pid = process.pid
        # From here on the recorder reaps every child by pid; Popen must not wait too.
        process.returncode = 0

    def forward(self, signum: int, came_s: float) -> None:
        """Pass on a signal that came to us at ``came_s`` (monotonic clock)."""
        with suppress(*_BEYOND_REACH):
            if self._witness is None:
                os.kill(self.pid, signum)
            elif came_s <= self._started_s:
                # Sent to the group it may have missed the target. Twice is as good as once, so early.
                self._witness.forget(signum)
                os.kill(self.pid, signum)
            elif signum == signal.SIGHUP and self._is_hung_up():
                self._hang_up(self._witness, came_s)
            else:
                self._forward_once(self._witness, signum, came_s)

    def _is_hung_up(self) -> bool:
        """Tell whether the terminal is gone of which the target had the foreground."""
        return self._terminal is not None and not is_terminal(self._terminal)

    def _hang_up(self, witness: GroupWitness, came_s: float) -> None:
        """Pass on the SIGHUP of a terminal that is gone.

        The kernel sends it to the leader of the session, and to the foreground when that leader ends, as a shell does
        after it has told its jobs: then the target has it.
        """
        leader = os.getsid(0)
        if leader == os.getpid():
            # At once: what the target writes from now on fails.
            os.kill(self.pid, signal.SIGHUP)
            return
        until_s = time.monotonic() + LEADER_ENDS_S
        while procfs.living([leader]) and time.monotonic() < until_s:
            time.sleep(0.001)
        if procfs.living([leader]):
            self._forward_once(witness, signal.SIGHUP, came_s)
        else:
            witness.forget(signal.SIGHUP)

    def _forward_once(self, witness: GroupWitness, signum: int, came_s: float) -> None:
        is_known = came_s < self._to_group_s.get(signum, -1.0) + SAME_SIGNAL_S
        sender = witness.heard(signum, 0.0 if is_known else came_s + SENDING_S)
        if sender is not None:
            self._to_group_s[signum] = time.monotonic()
            self._forward_to_group(signum, sender)
        elif not is_known:
            os.kill(self.pid, signum)

    def _forward_to_group(self, signum: int, sender: Sender) -> None:
        """Pass on what was sent to our group, where the target is in another."""
        group = os.getpgid(self.pid)
        if group == os.getpgrp():
            return  # It has it, too.
        if group == self.pid and os.getpgrp() == os.getpid():
            # Without us it would lead our group, and could not leave it.
            os.killpg(group, signum)
        elif sender is Sender.PROCESS or os.getpgrp() == os.getpid():
            # Perhaps sent to us as well, as `timeout` does; a terminal sends to the group alone.
            os.kill(self.pid, signum)

    @property
    def witness_pid(self) -> int | None:
        """The pid of the process that tells what was sent to our group, where there is one."""
        return None if self._witness is None else self._witness.pid

    def nobody_reads(self, stream: OutputStream) -> None:
        """We have closed it, and the witness is to do so."""
        if self._witness is not None:
            self._witness.let_go_of(stream)

    def witness_ended(self) -> None:
        """Somebody else has ended it."""
        if self._witness is not None:
            self._witness.close()
            self._witness = None

    def close(self) -> None:
        """Let the witness and the terminal go."""
        if self._witness is not None:
            self._witness.end()
            self._witness = None
        if self._held_terminal is not None:
            os.close(self._held_terminal)
            self._held_terminal = self._terminal = None

    def changed(self, status: int) -> None:
        """Take in what ``waitpid`` says of the target."""
        if os.WIFSTOPPED(status):
            self.stopped_at_s = time.monotonic()
            self.stops += 1
            self._stop_with_target(os.WSTOPSIG(status))
        elif os.WIFCONTINUED(status):
            self.stopped_at_s = None
            self.stops += 1
        elif os.WIFSIGNALED(status):
            self.exit_signal = os.WTERMSIG(status)
            self.exit_code = exit_code_of_signal(self.exit_signal)
            self._take_terminal_back()
        elif os.WIFEXITED(status):
            self.exit_code = os.WEXITSTATUS(status)
            self._take_terminal_back()

    def lost(self) -> None:
        """A bug of ours has lost its exit status."""
        self.exit_code = 1
        self._take_terminal_back()

    @property
    def leads(self) -> bool:
        """True if it has a process group of its own, as a job of a shell has."""
        return self._leads

    def continued(self, came_s: float) -> None:
        """We were continued at ``came_s`` (monotonic clock), by ``fg`` or ``bg`` perhaps: so is the target."""
        if self._leads:
            self._continue_group()
        else:
            self.forward(signal.SIGCONT, came_s)
        if self._witness is not None:
            self._witness.wake_up()

    def resized(self) -> None:
        """Its window has another size than when the terminal told it so."""
        with suppress(*_BEYOND_REACH):
            if self._leads:
                os.killpg(self.pid, signal.SIGWINCH)
            else:
                os.kill(self.pid, signal.SIGWINCH)

    def _continue_group(self) -> None:
        held = self._held_terminal
        self._terminal = held if held is not None and is_in_foreground(held) else None
        if self._terminal is not None:
            give_terminal(self._terminal, self.pid)
        with suppress(*_BEYOND_REACH):
            os.killpg(self.pid, signal.SIGCONT)

    def _stop_with_target(self, signum: int) -> None:
        """Ctrl-Z stopped the target, or that it wants the terminal from the background: stop of the same, so that the
        shell gets its prompt and tells why.
        """
        if self._terminal is None:
            if self._held_terminal is None or signum not in _WANTS_TERMINAL:
                return
            if is_in_foreground(self._held_terminal):
                # By an `fg` that continued nobody, as the shell believed that the job runs.
                self._continue_group()
                return
        self._take_terminal_back()
        heeds_it = signal.getsignal(signum) is signal.SIG_DFL
        os.kill(os.getpid(), signum if heeds_it else signal.SIGSTOP)
        if signum == signal.SIGTSTP:
            # Without a shell (`ssh -t`, a container) it stops nobody: then it may not stop the target either.
            self._continue_group()

    def _take_terminal_back(self) -> None:
        if self._terminal is not None:
            give_terminal(self._terminal, os.getpgrp())


def become(command: Sequence[str]) -> NoReturn:
    """Turn this process into the target, as if rlprof had not been there.

    Raises :class:`LaunchError` when the program cannot be started.
    """
    adopt_orphans(False)
    hand_down(ignored_before_python())
    try:
        _or_by_shell(lambda words: os.execvp(words[0], list(words)), command)
    except OSError as error:
        raise not_started(command, error) from error


def _or_by_shell(start: Callable[[Sequence[str]], _Started], command: Sequence[str]) -> _Started:
    """Start a script without ``#!`` as every shell does."""
    try:
        return start(command)
    except OSError as error:
        script = shutil.which(command[0])
        if error.errno != errno.ENOEXEC or script is None or _is_binary(script):
            raise
        return start(["/bin/sh", script, *command[1:]])


def _is_binary(program: str) -> bool:
    with Path(program).open("rb") as file:
        return b"\0" in file.read(_LOOKED_AT)


def _group_witness(streams: Sequence[OutputStream]) -> GroupWitness | None:
    """Start a witness; None where no further process may be started."""
    try:
        return GroupWitness(streams)
    except OSError:
        return None


def _leads_alone() -> bool:
    """Tell whether a shell with job control has given us a group of our own, in the foreground of its terminal."""
    is_leader = os.getpgrp() == os.getpid()
    return is_leader and our_terminal() is not None and not _has_pipeline_peers()


def _lift_our_cpu_limit() -> None:
    """Leave the soft limit on CPU time to the target, which has it from us: SIGXCPU for our own would be passed on."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))


def _has_pipeline_peers() -> bool:
    """Tell whether our process group has members besides us and the shells or makes that started us."""
    ours = {os.getpid(), *procfs.ancestors(os.getpid())}
    return not ours.issuperset(procfs.group_members(os.getpgrp()))


def _hold_terminal() -> int | None:
    """A descriptor of the terminal for ourselves: our streams may be let go of once the target runs."""
    terminal = our_terminal()
    try:
        return None if terminal is None else os.dup(terminal)
    except OSError as error:
        raise no_process_left(error) from error
