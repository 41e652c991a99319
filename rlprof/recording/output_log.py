"""Read rates out of a file that the program's output goes to; nothing stands between the program and the file."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Protocol

from rlprof.recording.output_tap import number

_MOST_AT_ONCE: Final = 1 << 18
"""Bytes that are read in a window; of more the last."""

_NUMBER: Final = rb"(\d[\d,_]*(?:\.\d+)?(?:e[+-]?\d+)?)"
_OF_UPDATES: Final = rb"(?!\w*(?:grad|optim|updat|train|learn|eval))"
_RATE: Final = (
    rb"(?:sps|fps|"
    + _OF_UPDATES
    + rb"\w*steps?(?:[ _]|\b)(?:/|per[ _])s(?:ec|econd)?|"
    + _OF_UPDATES
    + rb"\w*throughput_per_sec)"
)
_FORMS: Final = (
    re.compile(rb"\b" + _RATE + rb"\b['\"]?[\s|:=]{1,60}" + _NUMBER + rb"\b", re.IGNORECASE),
    re.compile(rb"\b" + _NUMBER + rb"\s?" + _RATE + rb"\b", re.IGNORECASE),
)
"""``SPS: 4500`` (CleanRL), ``fps | 812`` (Stable-Baselines3), ``throughput_per_sec: 99.5`` (RLlib), ``1,234 steps/s``."""


class ReadsOutput(Protocol):
    """Whoever reads along with the target's output."""

    steps: float | None

    def take_sps(self) -> float | None:
        """Return the latest rate that was printed since the last call."""


class OutputLog:
    """The file that one stream of the target is written to."""

    def __init__(self, fd: int, size: int) -> None:
        self.steps: float | None = None
        """Never known: a rate alone is recognised by itself."""
        self._fd = fd
        self._at = size

    def take_sps(self) -> float | None:
        """Return the latest rate that was written since the last call."""
        with suppress(OSError):
            size = os.fstat(self._fd).st_size
            begin = max(min(self._at, size), size - _MOST_AT_ONCE)
            data = os.pread(self._fd, size - begin, begin)
            # A line that is not over yet is read again.
            whole = data.rfind(b"\n") + 1
            self._at = begin + (whole or (len(data) == _MOST_AT_ONCE) * len(data))
            return _latest_rate(data[:whole])
        return None

    def close(self) -> None:
        os.close(self._fd)


def logs_of_output(streams: Sequence[int] = (1, 2)) -> list[OutputLog]:
    """Open those of our streams, which are the target's, that are regular files; one that is both of them once."""
    logs: dict[tuple[int, int], OutputLog] = {}
    for stream in streams:
        with suppress(OSError):
            status = os.fstat(stream)
            if stat.S_ISREG(status.st_mode) and (status.st_dev, status.st_ino) not in logs:
                fd = os.open(f"/proc/self/fd/{stream}", os.O_RDONLY | os.O_CLOEXEC)
                logs[status.st_dev, status.st_ino] = OutputLog(fd, status.st_size)
    return list(logs.values())


def _latest_rate(text: bytes) -> float | None:
    found = [each for form in _FORMS for each in form.finditer(text)]
    for each in sorted(found, key=re.Match.end, reverse=True):
        rate = number(each[1])
        if rate:
            return rate
    return None
