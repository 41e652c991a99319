"""The training without rlprof: what cannot be recorded still trains; and what is told to a reader who may not be there.

It imports as little as it can: the command line itself may be what cannot be imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import Final, NoReturn

from rlprof.cli.command import command_of, split
from rlprof.errors import OutputError, RlprofError
from rlprof.recording.machine.room import PIECE, takes_more
from rlprof.recording.program.terminals import unstopped

LINE_S: Final = 0.05
"""For a stream to take a line: a training waits behind it."""


def say_in_time(text: str, within_s: float = LINE_S) -> None:
    """Write to stderr what it takes, each piece ``within_s``: where nobody reads it, neither a training nor its end waits
    for that.

    Straight to the descriptor, which is to be the training's as it is: nothing may be left in a buffer.
    """
    if sys.stderr is None:
        return
    descriptor = sys.stderr.fileno()
    rest = text.encode(sys.stderr.encoding, "replace")
    with suppress(OSError), unstopped():
        while rest and takes_more(descriptor, within_s):
            rest = rest[os.write(descriptor, rest[:PIECE]) :]


# --- the training without rlprof ------------------------------------------------------------

VALUE_OPTIONS: Final = frozenset(
    {"-o", "--output", "--label", "--python", "--interval", "--duration", "--sps-pattern"}
    | {"--steps-from", "--torch", "--torch-steps", "--austin"}
)
"""Options of ``rlprof run`` that take the next word as their value."""

_HIDDEN: Final = "Libraries in LD_LIBRARY_PATH or PYTHONPATH may hide those that rlprof needs: start it without them"

_ONLY_TELL: Final = frozenset({"-h", "--help"})
"""With one of these nothing is to be run."""


def train_without(command: Sequence[str], error: OutputError) -> NoReturn:
    """Become the training; raises ``LaunchError`` when there is no such program."""
    from rlprof.recording.program.target import become

    say_in_time(
        f"rlprof: not recorded: {error.message}\n  The training runs without rlprof. {error.hint}\n"
        f"  {error.see}\n"
    )
    become(command)


def not_begun(error: BaseException) -> OutputError:
    """Return what is told of ``error``, which came before anything was recorded."""
    return OutputError(
        f"the recording could not begin: {type(error).__name__}: {error}",
        slug="recording-not-begun",
        hint=_HIDDEN,
    )


def is_needed() -> bool:
    """Tell whether this is ``rlprof run``, and nothing of a recording has begun: what fails later is seen to there."""
    return sys.argv[1:2] == ["run"] and "rlprof.recording.recorder" not in sys.modules


def train_as_typed(error: BaseException) -> None:
    """Become the training that the command line names, where not even that could be read; return where it names none."""
    own, target = split(sys.argv[2:], VALUE_OPTIONS)
    if not target.words or not _ONLY_TELL.isdisjoint(own):
        return
    try:
        train_without(command_of(target, _python(own)), not_begun(error))
    except RlprofError as missing:
        _end_with(missing)


def end_without_library(error: BaseException) -> None:
    """End where ``error`` is a library or package that could not be loaded: no bug of rlprof's."""
    is_ours = not isinstance(error, ImportError) or (error.name or "").startswith("rlprof")
    if not is_ours and not str(error).startswith("cannot import name"):
        missing = f"rlprof needs what cannot be loaded here: {error}"
        _end_with(OutputError(missing, slug="library-not-loaded", hint=_HIDDEN))


def _end_with(error: RlprofError) -> NoReturn:
    say_in_time(f"rlprof: error: {error.message}\n  {error.hint}\n  {error.see}\n")
    sys.exit(error.exit_code)


def _python(own: Sequence[str]) -> Path | None:
    """The value of ``--python``."""
    for word, following in zip_longest(own, own[1:], fillvalue=""):
        name, equals, value = word.partition("=")
        if name == "--python":
            return Path(value if equals else following)
    return None
