"""Streams that take no more: what is lost with them changes no exit code."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any, TextIO, cast


class _UnbreakableStream:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError:
            send_nowhere(self._stream)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            send_nowhere(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def send_nowhere(stream: TextIO) -> None:
    """Python flushes each stream once more at its end, and would end in 120 if that failed."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def unbreakable(stream: TextIO | None) -> TextIO | None:
    """``stream``, which raises no ``OSError`` any more: a full disk, a reader that has gone."""
    return None if stream is None else cast("TextIO", _UnbreakableStream(stream))
