"""Windows of torch's profiler: who may have them, and how their traces get into the run file."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from threading import Event
from typing import Final, NamedTuple

from rlprof.agent.inject.rlprof_agent import layout
from rlprof.model.recording import Note, TorchWindow
from rlprof.recording.agents import TraceArrival
from rlprof.recording.machine.clock import RunClock
from rlprof.recording.mailboxes.mailbox import WindowTold
from rlprof.recording.redaction.ranges import RangeNames
from rlprof.recording.settings import RecordingSettings, TorchWindowPolicy
from rlprof.recording.tracked import TrackedProcess
from rlprof.tracefile.packing import GZIP_WINDOW, MOST_BYTES_IN_A_RUN
from rlprof.units import size

MOST_PROCESSES: Final = 8
"""Processes of a run that may have windows: the first that ask. Each keeps some megabytes."""

_PIECE: Final = 1 << 20
"""Bytes packed at once: 10 to 20 ms, after which packing can be stopped."""


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
        "A window of torch's profiler could not be taken or handed over. The program was not touched by "
        "it.",
    ),
    layout.TORCH_NO_ROOM: Note(
        "info",
        "torch-without-room",
        "No window of torch's profiler could be kept: there is no room for a temporary name in TMPDIR, "
        "/tmp or /dev/shm. Nothing else was lost.",
    ),
    layout.TORCH_NOT_SILENT: Note(
        "info",
        "torch-not-silent",
        "Windows of torch's profiler were not taken: nothing keeps the profiler from printing to the program's stderr, be it this build of "
        "torch or KINETO_LOG_LEVEL in the environment.",
    ),
    layout.TORCH_TOO_DEAR: Note(
        "info",
        "torch-window-too-dear",
        "There are fewer windows of torch's profiler than usual: a further one would have taken more "
        "than 1 % of the run up to then.",
    ),
    layout.TORCH_OPEN_RANGE: Note(
        "info",
        "torch-range-open",
        "There are fewer windows of torch's profiler than usual: one ended inside of an operation or of "
        "compiled code that it had seen begin, and torch may crash where that ends in a later window.",
    ),
    layout.TORCH_WOULD_SLOW: Note(
        "info",
        "torch-no-windows-on-cuda",
        "No window of torch's profiler was taken in a process that uses CUDA: after one, each launch of a kernel "
        "stays slower until the process ends. --torch always takes them, for findings on the GPU itself.",
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
"""Notes that tell the user the states of an agent."""


class _Packing(NamedTuple):
    window: TorchWindow
    trace: Future[bytes]


class TraceCollector:
    """The traces of one run. Packing is done beside the recording, which must not stand still."""

    def __init__(self, settings: RecordingSettings, clock: RunClock) -> None:
        self._settings = settings
        self._clock = clock
        self._granted: set[int] = set()
        """Ids of the processes that may have windows."""
        self._arrived: dict[tuple[int, int], int] = {}
        """Descriptors of traces whose window was not told yet, by pid and number."""
        self._seen: set[tuple[int, int]] = set()
        self._packing: list[_Packing] = []
        self._packer: ThreadPoolExecutor | None = None
        self._is_over = Event()
        self._too_large = 0

    def environment(self) -> dict[str, str]:
        """Return what the agents read; nothing when no windows are wanted."""
        if self._settings.torch is TorchWindowPolicy.OFF:
            # Without windows, but updates and batches may be all that tells the pace.
            counts = self._settings.is_try
            return {"RLPROF_TORCH": "counts" if counts else TorchWindowPolicy.OFF.value}
        return {
            "RLPROF_TORCH": self._settings.torch.value,
            "RLPROF_TORCH_STEPS": str(self._settings.torch_steps),
        }

    def take(self, arrival: TraceArrival) -> None:
        """Keep a trace that an agent has sent, until it tells of its window."""
        key = arrival.pid, arrival.number
        is_one_of_few = len(self._arrived) < MOST_PROCESSES * layout.MAX_WINDOWS
        if key in self._arrived or not is_one_of_few:
            os.close(arrival.descriptor)
        else:
            self._arrived[key] = arrival.descriptor

    def collect(self, processes: Iterable[TrackedProcess]) -> Iterator[TorchWindow]:
        """Answer agents that ask for windows, and yield those that are packed, in any order."""
        for tracked in processes:
            if tracked.mailbox is not None and tracked.mailbox.torch_state:
                self._answer(tracked)
                for told in tracked.mailbox.torch_windows():
                    self._take_note(tracked, told)
        ready = [packing for packing in self._packing if packing.trace.done()]
        self._packing = [packing for packing in self._packing if not packing.trace.done()]
        for packing in ready:
            yield self._packed(packing)

    def finish(
        self, processes: Sequence[TrackedProcess], deadline_s: float = 2.0
    ) -> Iterator[TorchWindow]:
        """Yield those that are left, after the run. Lost are those that were open then, and the traces
        that cannot be packed in ``deadline_s``.
        """
        yield from self.collect(processes)
        wait([packing.trace for packing in self._packing], timeout=deadline_s)
        self._is_over.set()
        for packing in self._packing:
            yield self._packed(packing)
        self._packing = []
        for tracked in processes:
            for told in [] if tracked.mailbox is None else tracked.mailbox.torch_windows():
                if (tracked.process.id, told.number) not in self._seen:
                    yield self._lost(tracked, told)

    def notes(self, states: set[int]) -> list[Note]:
        """Say why there are fewer windows than one would expect, from the states of all agents."""
        notes = [remark for state, remark in _REMARKS.items() if state in states]
        if self._too_large:
            notes.append(
                Note(
                    "warning",
                    "torch-trace-too-large",
                    f"{self._too_large} of the traces of torch's profiler were larger than "
                    f"{size(MOST_BYTES_IN_A_RUN)} and were not kept. Give fewer --torch-steps.",
                )
            )
        return notes

    def close(self) -> None:
        """Leave nothing behind, whatever is still being packed."""
        self._is_over.set()
        if self._packer is not None:
            self._packer.shutdown()  # What is queued ends at once, and closes its descriptor.
        for descriptor in self._arrived.values():
            os.close(descriptor)
        self._arrived.clear()

    def _answer(self, tracked: TrackedProcess) -> None:
        assert tracked.mailbox is not None, "only agents ask"
        if tracked.mailbox.torch_state == layout.TORCH_ASKS:
            may = tracked.process.id in self._granted or len(self._granted) < MOST_PROCESSES
            if may:
                self._granted.add(tracked.process.id)
            tracked.mailbox.grant_windows(may)

    def _take_note(self, tracked: TrackedProcess, told: WindowTold) -> None:
        key = (tracked.process.id, told.number)
        if told.fate == layout.WINDOW_OPEN or key in self._seen or not told.begun_ns:
            return
        descriptor = self._arrived.pop((tracked.pid, told.number), None)
        if descriptor is None and told.fate == layout.WINDOW_WRITTEN:
            return  # On its way: it was sent before the window was told.
        self._seen.add(key)
        ended_us = self._clock.at(told.ended_ns / 1e9)
        window = self._window(tracked, told, _FATES.get(told.fate, "failed"), ended_us)
        self._packing.append(_Packing(window, self._pack(descriptor)))

    def _pack(self, descriptor: int | None) -> Future[bytes]:
        if descriptor is None:
            return _done(b"")
        try:
            if self._packer is None:
                self._packer = ThreadPoolExecutor(1, thread_name_prefix="pack-traces")
            return self._packer.submit(_packed_trace, descriptor, self._is_over)
        except RuntimeError:  # No further thread may be started.
            os.close(descriptor)
            return _done(b"")

    def _packed(self, packing: _Packing) -> TorchWindow:
        window = packing.window
        try:
            trace = packing.trace.result() if packing.trace.done() else b""
        except _RunIsFullError:
            self._too_large += 1
            trace = b""
        except (OSError, MemoryError):
            trace = b""
        fate = "failed" if window.fate == "written" and not trace else window.fate
        return replace(window, fate=fate, trace=trace)

    def _lost(self, tracked: TrackedProcess, told: WindowTold) -> TorchWindow:
        ended_us = tracked.process.ended_us
        return self._window(
            tracked, told, "lost", self._clock.now_us() if ended_us is None else ended_us
        )

    def _window(
        self, tracked: TrackedProcess, told: WindowTold, fate: str, ended_us: int
    ) -> TorchWindow:
        begun_us = max(0, self._clock.at(told.begun_ns / 1e9))
        return TorchWindow(
            process=tracked.process.id,
            number=told.number,
            kind=_KINDS.get(told.kind, "plain"),
            fate=fate,
            begun_us=begun_us,
            ended_us=max(begun_us, ended_us),
            updates=told.updates,
        )


class _RunIsFullError(Exception):
    """A trace that is larger than ``MOST_BYTES_IN_A_RUN``."""


def _done(trace: bytes) -> Future[bytes]:
    future: Future[bytes] = Future()
    future.set_result(trace)
    return future


def _packed_trace(descriptor: int, is_over: Event) -> bytes:
    """The file without secrets, gzipped, and closed; nothing once all ``is_over``. Raises OSError."""
    try:
        length = os.fstat(descriptor).st_size
        if length > MOST_BYTES_IN_A_RUN:
            raise _RunIsFullError
        packer = zlib.compressobj(level=6, wbits=GZIP_WINDOW)
        names = RangeNames()
        packed = []
        for at in range(0, length, _PIECE):
            if is_over.is_set():
                return b""
            packed.append(packer.compress(names.hide(os.pread(descriptor, _PIECE, at))))
        return b"".join([*packed, packer.compress(names.rest()), packer.flush()])
    finally:
        os.close(descriptor)
