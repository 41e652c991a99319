"""The errors that rlprof raises, and the exit codes they end in.

    RlprofError
    ├── UsageError        the command line asks for something impossible   (exit 2)
    ├── LaunchError       the target could not be started                  (exit 70)
    ├── RunFileError      a run file is missing, damaged, foreign or newer (exit 1)
    ├── TraceError        a torch trace is missing, no trace or too large  (exit 1)
    ├── MeasureError      the gate could not measure or compare            (exit 4)
    └── OutputError       a report or a recording could not be written     (exit 1; `rlprof run` trains on)

A lower layer raises; only ``rlprof.cli`` catches and prints.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeVar

from rlprof.names import printable

EXIT_OK: Final = 0
EXIT_ERROR: Final = 1
EXIT_USAGE: Final = 2
EXIT_REGRESSION: Final = 1
"""``rlprof check``: head is slower, or counts more. None of its errors ends in this code."""
EXIT_INCONCLUSIVE: Final = 3
"""``rlprof check``: the runs vary too much to tell."""
EXIT_NOT_MEASURED: Final = 4
"""``rlprof check``: a run failed, made no steps, or there is nothing to compare with."""
EXIT_LAUNCH_FAILED: Final = 70
"""The target could not be started (``EX_SOFTWARE`` of sysexits.h)."""
EXIT_SIGNAL: Final = 128
"""Exit code, less the signal's number, of what a signal ended; as shells have it."""

_LONGEST_LINE: Final = 4_000
"""Characters of a message's line: a path has as many at most."""

_Kind = TypeVar("_Kind", bound="RlprofError")


def exit_code_of_signal(signum: int) -> int:
    """Return the exit code of what signal ``signum`` ended."""
    return EXIT_SIGNAL + signum


def exit_code_of_returncode(returncode: int) -> int:
    """Return the exit code of a process that Python says ended with ``returncode``, which is -n for signal n."""
    return returncode if returncode >= 0 else exit_code_of_signal(-returncode)


class RlprofError(Exception):
    """Error that says what happened, to which path or pid; ``hint`` says what to do next.

    ``slug`` names it in ``docs/messages.md``.
    """

    exit_code = EXIT_ERROR

    def __init__(self, message: str, *, slug: str, hint: str) -> None:
        # With a name of the user's in it, which a terminal must not obey.
        self.message = "\n".join(printable(line, _LONGEST_LINE) for line in message.split("\n"))
        super().__init__(self.message)
        self.slug = slug
        self.hint = hint

    @property
    def see(self) -> str:
        """The command that tells more."""
        return f"more: rlprof explain {self.slug}"

    def converted_to(self, kind: type[_Kind]) -> _Kind:
        """The same words as an error of ``kind``, and so with its exit code."""
        return kind(self.message, slug=self.slug, hint=self.hint)


class UsageError(RlprofError):
    exit_code = EXIT_USAGE


class LaunchError(RlprofError):
    exit_code = EXIT_LAUNCH_FAILED


class RunFileError(RlprofError):
    pass


class TraceError(RlprofError):
    pass


class MeasureError(RlprofError):
    exit_code = EXIT_NOT_MEASURED


class OutputError(RlprofError):
    pass


class BusyError(OutputError):
    """Somebody else writes to the file just now."""


class Failure(NamedTuple):
    """An error as a value: to be kept, or written to a file for another process."""

    slug: str
    message: str
    hint: str

    @classmethod
    def of(cls, error: RlprofError) -> Failure:
        return cls(error.slug, error.message, error.hint)

    def error(self) -> MeasureError:
        """The error that it is of, in a process or a place that can raise it."""
        return MeasureError(self.message, slug=self.slug, hint=self.hint)
