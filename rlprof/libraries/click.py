"""Click."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import Library, Sink

LIBRARY: Final = Library(
    name="Click",
    also=("click",),
    samples=("utils.py",),
    sinks={Sink.PRINT: r"utils\.py$"},
    is_launcher=True,
)
