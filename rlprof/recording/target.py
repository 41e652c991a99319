"""Start the target as our own child, on our terminal, and pass on what happens to either."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from rlprof.errors import LaunchError
from rlprof.recording import procfs

FORWARDED = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)

TO_THE_GROUP = (signal.SIGINT, signal.SIGQUIT)
"""What a terminal would send to every process of the foreground group."""

SAME_SIGNAL_S = 0.05
"""Two of a kind within this time are one: sent to us and to our group (as ``timeout`` does)."""


class Target:
    """The running target. It has a process group of its own and, if we had it, the terminal.

    In a pipeline at a terminal (``rlprof run train.py | less``) it stays in the pipeline's group,
    which a shell's job control, a pager and Ctrl-C count on.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        stdout: int | None = None,
        stderr: int | None = None,
    ) -> None:
        """Raises :class:`LaunchError` when the program cannot be started."""
        self.exit_code: int | None = None
        self._in_pipeline = _our_terminal() is not None and _has_pipeline_peers()
        self._terminal = None if self._in_pipeline else _our_terminal()
        self._last_signals: dict[int, float] = {}
        terminal = self._terminal
        own_group = not self._in_pipeline

        def prepare() -> None:
            if own_group:
                os.setpgid(0, 0)
            if terminal is not None:
                _give_terminal(terminal, os.getpid())

        try:
            process = subprocess.Popen(
                list(command),
                env=dict(environment),
                stdout=stdout,
                stderr=stderr,
                preexec_fn=prepare,
                # What was handed down to us is the target's; our own descriptors close on exec.
                close_fds=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            self._take_terminal_back()
            raise LaunchError(
                f"cannot start {command[0]}: {getattr(error, 'strerror', None) or error}",
                slug="target-not-started",
                hint="check the path; `rlprof run -- PROGRAM…` starts programs that are not Python",
            ) from error
        self.pid = process.pid
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
                os.killpg(self.pid, signum)
            else:
                os.kill(self.pid, signum)
        except ProcessLookupError:
            pass  # It has just ended; its exit status is on the way.

    def changed(self, status: int) -> None:
        """Take in what ``waitpid`` says of the target."""
        if os.WIFSTOPPED(status):
            self._stop_with_target()
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
            _give_terminal(self._terminal, self.pid)
        try:
            os.killpg(self.pid, signal.SIGCONT)
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
