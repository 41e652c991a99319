"""Streams that take no more: a full disk, a reader that has gone."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, TextIO, cast

from rlprof.errors import OutputError
from rlprof.recording.program.terminals import unstopped


class _GuardedStream:
    def __init__(
        self,
        stream: TextIO,
        on_error: Callable[[OSError], None],
        around: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._stream = stream
        self._on_error = on_error
        self._around = around

    def write(self, text: str) -> int:
        if text == "":
            return 0  # So click asks for a stream of text, and heeds no error.
        try:
            with self._around():
                return self._stream.write(text)
        except OSError as error:
            self._lose(error)
            return len(text)

    def flush(self) -> None:
        try:
            with self._around():
                self._stream.flush()
        except OSError as error:
            self._lose(error)

    def _lose(self, error: OSError) -> None:
        send_nowhere(self._stream)
        self._on_error(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def send_nowhere(stream: TextIO) -> None:
    """Python flushes each stream once more at its end, and would end in 120 if that failed."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def unbreakable(stream: TextIO | None) -> TextIO | None:
    """``stream``, which raises no ``OSError`` any more: a full disk, a reader that has gone. What is lost with it
    changes no exit code. A terminal does not stop who writes to it from the background, be it a training's group.
    """
    return _guarded(stream, lambda _: None, unstopped)


def telling(stream: TextIO | None) -> TextIO | None:
    """``stream``, which raises ``OutputError`` when it takes no more; a reader that has gone has seen enough."""
    return _guarded(stream, tell_loss)


def _guarded(
    stream: TextIO | None,
    on_error: Callable[[OSError], None],
    around: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> TextIO | None:
    return None if stream is None else cast("TextIO", _GuardedStream(stream, on_error, around))


def tell_loss(error: OSError) -> None:
    """Raise what tells the user of it; a reader that has gone has seen enough."""
    if isinstance(error, BrokenPipeError):
        return
    raise cannot_print(error.strerror or str(error)) from error


def cannot_print(why: str) -> OutputError:
    """The error of a command whose result could not be written."""
    return OutputError(
        f"cannot write to standard output: {why}",
        slug="cannot-write",
        hint="write to a file, or make room where the output goes",
    )
