"""Names of ranges in a trace of torch's profiler: the program chooses them, so they may hold anything."""

from __future__ import annotations

import re
from typing import Final

from rlprof.recording.redaction.literals import hide_words

# Kineto leaves quotes in a name as they are, so it ends where the next field begins.
_RANGE: Final = re.compile(rb'user_annotation",\s*"name": "(?P<name>[^\n]{0,4096}?)",\s*"pid"')
_BEGIN_OF_EVENT: Final = b'"ph"'
_OF_THE_COMPILER: Final = "## Call "
"""In these names stands the hash of a graph, which looks like a key."""


class RangeNames:
    """Takes the secrets out of a trace that comes in pieces; it is not parsed, which would take many times as long."""

    def __init__(self) -> None:
        self._begun = b""
        """The last event up to here, which may go on in the next piece."""

    def hide(self, piece: bytes) -> bytes:
        """As much of the trace up to ``piece`` as can be told already."""
        trace = self._begun + piece
        end = trace.rfind(_BEGIN_OF_EVENT)
        end = len(trace) if end < 0 else end
        self._begun = trace[end:]
        return _RANGE.sub(_hidden, trace[:end])

    def rest(self) -> bytes:
        return _RANGE.sub(_hidden, self._begun)


def _hidden(found: re.Match[bytes]) -> bytes:
    name = found["name"].decode(errors="surrogateescape")
    if name.startswith(_OF_THE_COMPILER):
        return found.group()
    told = hide_words(name).encode(errors="surrogateescape")
    start = found.start("name") - found.start()
    return b"".join((found.group()[:start], told, found.group()[start + len(found["name"]) :]))
