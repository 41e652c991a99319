"""Errors that a target could not be started with, as users are told them."""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence
from typing import Final

from rlprof.errors import LaunchError, OutputError
from rlprof.recording.redaction.arguments import redact_argument

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")

NO_PROCESS_LEFT = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
"""Reasons of the kernel's that are limits, not the program's."""


def no_process_left(error: Exception) -> OutputError:
    return OutputError(
        f"no further process may be started: {getattr(error, 'strerror', None) or error}",
        slug="recording-not-begun",
        hint="see the limits of `ulimit -u`, `ulimit -n` and of the control group",
    )


def too_long() -> OutputError:
    return OutputError(
        "the command line and the environment leave no room for rlprof's own variables",
        slug="recording-not-begun",
        hint="see the limit of `getconf ARG_MAX`",
    )


def not_started(command: Sequence[str], error: Exception) -> LaunchError:
    program = redact_argument(command[0])
    hint = "check the path; `rlprof run -- PROGRAM…` starts programs that are not Python"
    if _ASSIGNMENT.match(command[0]):
        hint = f"no shell reads the command: put `env` before {program}"
    return LaunchError(
        f"cannot start {program}: {getattr(error, 'strerror', None) or error}",
        slug="target-not-started",
        hint=hint,
    )
