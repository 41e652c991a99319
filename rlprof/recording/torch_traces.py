"""Windows of torch's profiler: where agents put their traces, and how these get into the run file."""

from __future__ import annotations

import gzip
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from rlprof.agent.inject.rlprof_agent import layout
from rlprof.model.recording import Note, TorchWindow
from rlprof.recording.mailbox import WindowTold
from rlprof.recording.tracked import TrackedProcess
from rlprof.settings import RecordingSettings, TorchWindows
from rlprof.units import size

MOST_BYTES: Final = 256 << 20
"""Of a trace before packing. Windows are short so that traces stay far below it."""

_KINDS: Final = {
    layout.WINDOW_PLAIN: "plain",
    layout.WINDOW_STACKS: "stacks",
    layout.WINDOW_ROLLOUT: "rollout",
    layout.WINDOW_TIMED: "timed",
}
_FATES: Final = {
    layout.WINDOW_WRITTEN: "written",
    layout.WINDOW_GIVEN_UP: "given-up",
    layout.WINDOW_FAILED: "failed",
}

_REMARKS: Final = {
    layout.TORCH_OTHER_PROFILER: Note(
        "info",
        "torch-profiler-of-its-own",
        "A profiler of torch's was on in the program, so rlprof took no further windows there.",
    ),
    layout.TORCH_FAILED: Note(
        "info",
        "torch-window-failed",
        "A window of torch's profiler could not be taken or written (no room for temporary files?). "
        "The program was not touched by it.",
    ),
    layout.TORCH_OTHER_THREAD: Note(
        "info",
        "torch-in-a-thread",
        "Updates are made outside of the main thread of a process; windows of torch's profiler are of "
        "main threads alone.",
    ),
    layout.TORCH_NO_PROBE: Note(
        "info",
        "torch-without-probe",
        "Windows of torch's profiler were not taken: without the stack probe nothing would end one that "
        "grows long.",
    ),
    layout.TORCH_TOO_OLD: Note(
        "info",
        "torch-too-old",
        "This torch has no hook after each optimizer step, so no windows of its profiler were taken. "
        "torch 2.1 and newer have it.",
    ),
}
"""What states of an agent tell the user."""


class _Packing(NamedTuple):
    window: TorchWindow
    trace: Future[bytes]


class TraceCollector:
    """The traces of one run. Packing is done beside the recording, which must not stand still."""

    def __init__(self, settings: RecordingSettings, start: float) -> None:
        """``start`` is the run's, by the monotonic clock (seconds)."""
        self._settings = settings
        self._start_ns = round(start * 1e9)
        self._folder: Path | None = None
        self._seen: set[tuple[int, int]] = set()
        self._packing: list[_Packing] = []
        self._packer: ThreadPoolExecutor | None = None
        self._too_large = 0
        self._has_no_room = False
        """Whether there is no folder for temporary files, and so no windows."""

    def environment(self) -> dict[str, str]:
        """What the agents read; nothing when no windows are wanted."""
        if self._settings.torch is TorchWindows.OFF:
            return {"RLPROF_TORCH": TorchWindows.OFF.value}
        try:
            self._folder = Path(tempfile.mkdtemp(prefix="rlprof-"))
        except OSError:
            self._has_no_room = True
        return {
            "RLPROF_TORCH": self._settings.torch.value,
            "RLPROF_TORCH_STEPS": str(self._settings.torch_steps),
            "RLPROF_TORCH_DIR": "" if self._folder is None else str(self._folder),
        }

    def collect(self, processes: Iterable[TrackedProcess]) -> Iterator[TorchWindow]:
        """Yield the windows that have ended and are packed, in any order."""
        for tracked in processes:
            if tracked.mailbox is not None and tracked.mailbox.torch_state:
                for told in tracked.mailbox.torch_windows():
                    self._take_note(tracked, told)
        ready = [packing for packing in self._packing if packing.trace.done()]
        self._packing = [packing for packing in self._packing if not packing.trace.done()]
        for packing in ready:
            yield self._packed(packing)

    def finish(self, processes: Sequence[TrackedProcess]) -> Iterator[TorchWindow]:
        """Yield those that are left, after the run; those that were open then are lost."""
        yield from self.collect(processes)
        for packing in self._packing:
            yield self._packed(packing)
        self._packing = []
        for tracked in processes:
            for told in [] if tracked.mailbox is None else tracked.mailbox.torch_windows():
                if told.fate == layout.WINDOW_OPEN:
                    yield self._lost(tracked, told)

    def notes(self, processes: Iterable[TrackedProcess]) -> list[Note]:
        """Why there are fewer windows than one would expect."""
        states = {layout.TORCH_FAILED} if self._has_no_room else set()
        states |= {tracked.mailbox.torch_state for tracked in processes if tracked.mailbox}
        notes = [remark for state, remark in _REMARKS.items() if state in states]
        if self._too_large:
            notes.append(
                Note(
                    "warning",
                    "torch-trace-too-large",
                    f"{self._too_large} of the traces of torch's profiler were larger than "
                    f"{size(MOST_BYTES)} and were not kept. Give fewer --torch-steps.",
                )
            )
        return notes

    def close(self) -> None:
        """Leave nothing behind."""
        if self._packer is not None:
            self._packer.shutdown(wait=True, cancel_futures=True)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _take_note(self, tracked: TrackedProcess, told: WindowTold) -> None:
        key = (tracked.process.id, told.number)
        if told.fate == layout.WINDOW_OPEN or key in self._seen or not told.begun_ns:
            return
        self._seen.add(key)
        window = self._window(tracked, told, _FATES.get(told.fate, "failed"), told.ended_ns)
        if self._packer is None:
            self._packer = ThreadPoolExecutor(1, thread_name_prefix="pack-traces")
        assert self._folder is not None, "agents take windows only where a folder was given"
        path = self._folder / f"{tracked.pid}-{told.number}.json"
        self._packing.append(_Packing(window, self._packer.submit(_packed_trace, path)))

    def _packed(self, packing: _Packing) -> TorchWindow:
        window = packing.window
        try:
            trace = packing.trace.result()
        except _TooLargeError:
            self._too_large += 1
            trace = b""
        except (OSError, MemoryError):
            trace = b""
        fate = "failed" if window.fate == "written" and not trace else window.fate
        return TorchWindow(
            window.process, window.number, window.kind, fate, window.begun_us, window.ended_us,
            window.updates, trace,
        )  # fmt: skip

    def _lost(self, tracked: TrackedProcess, told: WindowTold) -> TorchWindow:
        ended_us = tracked.process.ended_us
        ended_ns = time.monotonic_ns() if ended_us is None else self._start_ns + ended_us * 1000
        return self._window(tracked, told, "lost", ended_ns)

    def _window(
        self, tracked: TrackedProcess, told: WindowTold, fate: str, ended_ns: int
    ) -> TorchWindow:
        begun_us = max(0, (told.begun_ns - self._start_ns) // 1000)
        return TorchWindow(
            process=tracked.process.id,
            number=told.number,
            kind=_KINDS.get(told.kind, "plain"),
            fate=fate,
            begun_us=begun_us,
            ended_us=max(begun_us, (ended_ns - self._start_ns) // 1000),
            updates=told.updates,
        )


class _TooLargeError(Exception):
    """The trace is larger than ``MOST_BYTES``."""


def _packed_trace(path: Path) -> bytes:
    """The file, gzipped; it is removed. Raises OSError when it is not there."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise _TooLargeError
        return gzip.compress(path.read_bytes(), compresslevel=6, mtime=0)
    finally:
        path.unlink(missing_ok=True)
