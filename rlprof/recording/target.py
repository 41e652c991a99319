"""Start the target as our own child, on our terminal, and pass on what happens to either."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import NoReturn

from rlprof.errors import LaunchError, OutputError
from rlprof.recording import procfs
from rlprof.recording.dispositions import hand_down, ignored_before_python
from rlprof.recording.placeholder import GroupPlaceholder
from rlprof.recording.prctl import adopt_orphans

FORWARDED = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)

_NO_PROCESS_LEFT = (errno.EAGAIN, errno.ENOMEM)

TO_THE_GROUP = (signal.SIGINT, signal.SIGQUIT)
"""What a terminal would send to every process of the foreground group."""

SAME_SIGNAL_S = 0.05
"""Two of a kind within this time are one: sent to us and to our group (as ``timeout`` does)."""


class Target:
    """The running target. It has a process group of its own and, if we had it, the terminal.

    It leads its group where we lead ours: then a shell would have made it the leader, too. In a pipeline at
    a terminal (``rlprof run train.py | less``) it stays in the pipeline's group, which a shell's job control,
    a pager and Ctrl-C count on.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        stdout: int | None = None,
        stderr: int | None = None,
        also_ignored: frozenset[int] = frozenset(),
    ) -> None:
        """``also_ignored`` are signals that we handle and were given as ignored.

        Raises :class:`LaunchError` when the program cannot be started, :class:`OutputError` when no further
        process may be: then it can still take our place.
        """
        self.exit_code: int | None = None
        self.stopped_at_s: float | None = None
        """When SIGSTOP or Ctrl-Z has stopped it, while it is stopped (monotonic clock)."""
        self.stops = 0
        """How often it was stopped or continued."""
        self._in_pipeline = _our_terminal() is not None and _has_pipeline_peers()
        self._terminal = None if self._in_pipeline else _our_terminal()
        self._last_signals: dict[int, float] = {}
        self._placeholder = self._group_leader()
        terminal = self._terminal
        group = None if self._placeholder is None else self._placeholder.pid
        stays = self._in_pipeline
        ignored = ignored_before_python() | also_ignored

        def prepare() -> None:
            if not stays:
                os.setpgid(0, group or 0)
            if terminal is not None:
                _give_terminal(terminal, os.getpgrp())
            hand_down(ignored)

        try:
            process = subprocess.Popen(
                list(command),
                env=dict(environment),
                stdout=stdout,
                stderr=stderr,
                preexec_fn=prepare,
                # What was handed down to us is the target's; our own descriptors close on exec.
                close_fds=False,
                restore_signals=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            self._take_terminal_back()
            self.let_group_go()
            if getattr(error, "errno", None) in _NO_PROCESS_LEFT:
                raise _no_process_left(error) from error
            raise _not_started(command, error) from error
        self.pid = process.pid
        self.group = group or process.pid
        """Its process group, unless it is in a pipeline's."""
        # From here on the recorder reaps every child by pid; Popen must not wait too.
        process.returncode = 0
        self._popen = process

    def forward(self, signum: int) -> None:
        """Pass on a signal that was sent to us."""
        now = time.monotonic()
        if now - self._last_signals.get(signum, -1.0) < SAME_SIGNAL_S:
            return
        self._last_signals[signum] = now
        if self._in_pipeline and signum in TO_THE_GROUP:
            return  # The terminal has sent it to the whole pipeline, the target included.
        try:
            if signum in TO_THE_GROUP:
                os.killpg(self.group, signum)
            else:
                os.kill(self.pid, signum)
        except ProcessLookupError:
            pass  # It has just ended; its exit status is on the way.

    @property
    def placeholder_pid(self) -> int | None:
        """The pid of the process that leads its group, where there is one."""
        return None if self._placeholder is None else self._placeholder.pid

    def placeholder_ended(self) -> None:
        """Somebody else has ended it, and its number may be another's soon."""
        self._placeholder = None

    def let_group_go(self) -> None:
        if self._placeholder is not None:
            self._placeholder.end()
            self._placeholder = None

    def _group_leader(self) -> GroupPlaceholder | None:
        """Start a leader for its group; none where the target leads, or no further process may be started."""
        if self._in_pipeline or os.getpgrp() == os.getpid():
            return None
        try:
            return GroupPlaceholder()
        except OSError:
            return None

    def changed(self, status: int) -> None:
        """Take in what ``waitpid`` says of the target."""
        if os.WIFSTOPPED(status):
            self.stopped_at_s = time.monotonic()
            self.stops += 1
            self._stop_with_target()
        elif os.WIFCONTINUED(status):
            self.stopped_at_s = None
            self.stops += 1
        elif os.WIFSIGNALED(status):
            self.exit_code = 128 + os.WTERMSIG(status)
            self._take_terminal_back()
        elif os.WIFEXITED(status):
            self.exit_code = os.WEXITSTATUS(status)
            self._take_terminal_back()

    def continued(self) -> None:
        """We were continued, by ``fg`` or ``bg``: so is the target."""
        if self._in_pipeline:
            return
        self._terminal = _our_terminal()
        if self._terminal is not None:
            _give_terminal(self._terminal, self.group)
        try:
            os.killpg(self.group, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def _stop_with_target(self) -> None:
        """Ctrl-Z stopped the target: stop too, so that the shell gets its prompt."""
        if self._terminal is not None:
            self._take_terminal_back()
            os.kill(os.getpid(), signal.SIGSTOP)

    def _take_terminal_back(self) -> None:
        if self._terminal is not None:
            _give_terminal(self._terminal, os.getpgrp())


def become(command: Sequence[str]) -> NoReturn:
    """Turn this process into the target, as if rlprof had not been there.

    Raises :class:`LaunchError` when the program cannot be started.
    """
    adopt_orphans(False)
    hand_down(ignored_before_python())
    try:
        os.execvp(command[0], list(command))
    except OSError as error:
        raise _not_started(command, error) from error


def _no_process_left(error: Exception) -> OutputError:
    return OutputError(
        f"no further process may be started: {getattr(error, 'strerror', None) or error}",
        slug="recording-not-begun",
        hint="see the limits of `ulimit -u` and of the control group",
    )


def _not_started(command: Sequence[str], error: Exception) -> LaunchError:
    return LaunchError(
        f"cannot start {command[0]}: {getattr(error, 'strerror', None) or error}",
        slug="target-not-started",
        hint="check the path; `rlprof run -- PROGRAM…` starts programs that are not Python",
    )


def _has_pipeline_peers() -> bool:
    """Whether our process group has members besides us and the shells or makes that started us."""
    ours = {os.getpid(), *procfs.ancestors(os.getpid())}
    return not ours.issuperset(procfs.group_members(os.getpgrp()))


def _our_terminal() -> int | None:
    """A descriptor of the terminal, if we are in its foreground."""
    for stream in (sys.__stdin__, sys.__stderr__, sys.__stdout__):
        try:
            if stream is not None and os.tcgetpgrp(stream.fileno()) == os.getpgrp():
                return stream.fileno()
        except (OSError, ValueError):
            continue
    return None


def _give_terminal(terminal: int, group: int) -> None:
    """Make ``group`` the foreground group; a background caller must ignore SIGTTOU for that."""
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        os.tcsetpgrp(terminal, group)
    except OSError:
        pass  # The terminal is gone (hang-up); nobody is left to give it to.
    finally:
        signal.signal(signal.SIGTTOU, before)
