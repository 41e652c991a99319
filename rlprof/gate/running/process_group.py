"""A process group: asked to end, waited for, and ended whole."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import Final

from rlprof.gate.running.interruption import shielded
from rlprof.gate.running.process_session import GRACE_S
from rlprof.recording import procfs

_LOOK_S: Final = 0.02
"""Between two looks at who is left."""


def end_group(group: int) -> None:
    """End all processes of ``group``; those that have time to will have removed their lock files.

    What has left the group, as a daemon does, lives on.
    """
    with shielded():
        for signum in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(group, signum)
            if _has_ended(group):
                return


def _has_ended(group: int) -> bool:
    """Whether it has within the time of grace."""
    deadline = time.monotonic() + GRACE_S
    while procfs.living(procfs.group_members(group)):
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOK_S)
    return True
