"""tqdm."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library, Sink

LIBRARY: Final = Library(
    name="tqdm",
    packages=("tqdm",),
    logging=EVERYTHING,
    sinks={Sink.PROGRESS: EVERYTHING},
)
