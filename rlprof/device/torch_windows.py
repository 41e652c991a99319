"""The windows of torch's profiler in a recording, each read and analysed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rlprof.device.view import TraceView, view_trace
from rlprof.errors import TraceError
from rlprof.model.recording import TorchWindow
from rlprof.tracefile.reader import read_trace_in

UPDATE_KINDS: Final = ("plain", "stacks")
"""Windows that begin and end at updates."""


@dataclass(frozen=True, slots=True)
class WindowView:
    """A window, and what its trace says."""

    window: TorchWindow
    view: TraceView | None
    """None without a trace that can be read."""


def view_windows(windows: Iterable[TorchWindow]) -> tuple[WindowView, ...]:
    return tuple(WindowView(window, _view(window)) for window in windows)


def _view(window: TorchWindow) -> TraceView | None:
    if not window.trace:
        return None
    try:
        return view_trace(
            read_trace_in(window.trace, f"of window {window.number} of process {window.process}")
        )
    except TraceError:
        return None  # The window is listed without facts; the run file's other data stands.
