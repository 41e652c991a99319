"""A process group for the target that it does not lead itself."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from rlprof.recording.prctl import end_with_parent


class GroupPlaceholder:
    """A process that does nothing but lead a group.

    A program that a script or a CI job starts leads no group, and so may call ``os.setsid()``. For a group of
    its own, which signals for all of its processes go to, somebody else has to lead.
    """

    def __init__(self) -> None:
        """Raises OSError where no further process may be started."""
        self.pid = os.fork()
        if self.pid == 0:
            _sleep_until_the_end()
        # Here as well: the target joins right away.
        with suppress(OSError):
            os.setpgid(self.pid, self.pid)

    def end(self) -> None:
        """Let it go; the group lives on while anybody is in it."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _sleep_until_the_end() -> None:
    """Sleep in the child until the recorder ends it, or ends. What is meant for the group is not for it."""
    try:
        end_with_parent(signal.SIGKILL)
        os.setpgid(0, 0)
        os.closerange(0, os.sysconf("SC_OPEN_MAX"))
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while True:
            signal.pause()
    finally:
        os._exit(0)
