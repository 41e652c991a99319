"""The end of commands that measure by the gate, whatever ends them: an exit code, and nothing left running."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Final

import rlprof
from rlprof.cli.output import say
from rlprof.errors import MeasureError, RlprofError, UsageError, exit_code_of_signal

DEFAULT_TIMEOUT_S: Final = 1800.0
"""Of one run. What hangs must not hold a runner for the six hours that services allow."""


def measuring(work: Callable[[], int]) -> int:
    """The exit code of ``work``, or that of the signal that ended it; raises the errors of ours that end in another one."""
    from rlprof.gate.interruption import Interrupted, interruptible
    from rlprof.gate.processes import adopting_orphans

    try:
        with interruptible(), adopting_orphans():
            return work()
    except Interrupted as stop:
        say(
            "rlprof: stopped; nothing that it started is left running\n"
            "  more: rlprof explain check-stopped"
        )
        return exit_code_of_signal(stop.signum)
    except (UsageError, MeasureError):
        raise
    except Exception as error:
        raise could_not_measure(error) from error


def could_not_measure(error: Exception) -> MeasureError:
    """``error`` with the exit code for that: it must not end in that of a regression, which is 1."""
    if isinstance(error, RlprofError):
        return error.converted_to(MeasureError)
    if isinstance(error, OSError):
        return MeasureError(
            f"the system refused what the measurement needs: {error}",
            slug="check-refused",
            hint="is the disk full, or is the working directory gone?",
        )
    lines = "".join(traceback.format_exception(error)).rstrip()
    return MeasureError(
        f"a bug in rlprof {rlprof.__version__} ended the measurement:\n{lines}",
        slug="check-bug",
        hint="please report it, with the lines above",
    )


def tell(text: str) -> None:
    """Say how far it has come."""
    say(f"rlprof: {text}")
