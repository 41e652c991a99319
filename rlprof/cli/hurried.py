"""Text for a reader who may not be there, on stderr."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Final

from rlprof.recording.room import PIECE, takes_more
from rlprof.recording.terminals import unstopped

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
