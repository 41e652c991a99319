"""Put windows into the run file as they close, and keep their number bounded."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean

from rlprof.errors import BusyError, OutputError, RlprofError
from rlprof.model.experiment import Experiment
from rlprof.model.gauges import OUTPUT_SPS
from rlprof.model.recording import (
    Counter,
    Gauge,
    MemoryGrowth,
    Note,
    ThreadClock,
    TorchWindow,
    Window,
)
from rlprof.recording.census import Census, summarise
from rlprof.recording.gauges import GaugeReader
from rlprof.recording.gpus.reader import GpuReader
from rlprof.recording.guard import PartGuard
from rlprof.recording.looks.value_plan import ValuePlan
from rlprof.recording.machine.disk_room import expect_room
from rlprof.recording.program.output_log import ReadsOutput
from rlprof.recording.sources import AT_THE_END_S, MEANWHILE_S, read_sources
from rlprof.recording.stacks import StackTable
from rlprof.recording.timeline import (
    MAX_SAMPLE_ROWS,
    MAX_WINDOWS,
    MIN_TAIL_WINDOWS,
    TAIL_WINDOWS,
    merged,
    plan_merge,
)
from rlprof.recording.tracked import ProcessWindow, TrackedProcess
from rlprof.runfile.writer import RunWriter, SampleRow

ROOM_WINDOWS = 4
"""The disk's room is asked for after so many windows, about once a second: a network file system answers in a millisecond."""

FIRST_SOURCES = 60
"""After so many windows, after twice as many and so on sources are kept, so that a killed rlprof leaves them
too. Each time takes a tenth of a second or two."""


MOST_WAITING = 1_200
"""Writes that wait for another program to let go of the run file: some minutes of a recording, and some megabytes."""

PATIENCE_AT_THE_END_S = 1.0
"""Time after the target's end in which those that still wait are tried: rlprof is to end within 2 s."""

_TOO_MANY = 1 << 63
"""Events of one window that no cell holds: a program has counted up to its bounds and back."""


class WindowStore:
    """The run file while it grows. A write that fails ends the storing, never the target; one that finds the file locked waits, and so do
    those after it.
    """

    def __init__(
        self,
        writer: RunWriter,
        stacks: StackTable,
        gpus: GpuReader | None = None,
        values: ValuePlan | None = None,
    ) -> None:
        """``values``: which values to look at; None for none."""
        self.failure: RlprofError | None = None
        self.window_start_us = 0
        self._writer = writer
        self._stacks = stacks
        self._gauges = GaugeReader(gpus=gpus)
        self._values = values
        self._windows: list[Window] = []
        self._tail_windows = TAIL_WINDOWS
        self._closed = 0
        self._next_sources = FIRST_SOURCES
        self._total_us = 0
        self._output_steps = 0.0
        self._waiting: deque[Callable[[], None]] = deque()

    def close_window(
        self, now_us: int, census: Census, output: Sequence[ReadsOutput], guard: PartGuard
    ) -> None:
        """Write what was seen since the last call, and begin the next window.

        A fault in what one process tells costs the window of that process.
        """
        if self.failure is not None:
            self._let_go(census)
        if self.failure is not None or now_us <= self.window_start_us:
            return
        window = Window(len(self._windows), self.window_start_us, now_us)
        self.window_start_us = now_us
        samples: list[SampleRow] = []
        clocks: list[ThreadClock] = []
        counters: list[Counter] = []
        memory: list[MemoryGrowth] = []
        # Ended processes are asked once more: their mailboxes and samplers hold their last words.
        asked = list(census.present)
        for tracked in asked:
            seen = ProcessWindow()
            with guard.part("what a process told"):
                seen = tracked.close_window(now_us, window.length_us)
            if self._values is not None and tracked.mailbox is not None:
                with guard.part("the looks at values"):
                    self._values.follow(tracked.process.id, tracked.mailbox, seen, now_us)
            for thread, node, cost in seen.samples:
                samples.append((window.id, thread, node, *cost))
                self._total_us += cost.wall_us
            memory += seen.memory
            clocks += [clock._replace(window=window.id) for clock in seen.clocks]
            counters += [
                Counter(window.id, tracked.process.id, name, value)
                for name, value in seen.counts.items()
                if value and abs(value) < _TOO_MANY
            ]
        counters += self._output_counters(window, output)
        gauges = self._printed_rate(window, output)
        with guard.part("the gauges"):
            gauges += self._gauges.read(window, asked)
        frames, nodes = self._stacks.take_new()
        new_threads, census.new_threads = census.new_threads, []
        self._guard(
            lambda: self._writer.write_window(
                window,
                samples=samples,
                clocks=clocks,
                counters=counters,
                gauges=gauges,
                memory=memory,
                frames=frames,
                nodes=nodes,
                processes=[summarise(tracked) for tracked in asked],
                threads=new_threads,
            )
        )
        self._let_go(census)
        self._windows.append(window)
        self._closed += 1
        if not self._closed % ROOM_WINDOWS:
            self._guard(lambda: expect_room(self._writer.path))
        if self._closed == self._next_sources:
            self._next_sources *= 2
            self.keep_texts()
            self._keep_sites(census.present)
        if len(self._windows) > MAX_WINDOWS:
            self._merge()

    def stood_still(self) -> None:
        """Leave out the time up to now, in which the run stood still."""
        self._gauges.leave_out_until_now()

    def keep_traces(self, windows: Iterable[TorchWindow]) -> None:
        """Write windows of torch's profiler as they come."""
        for window in windows:
            self._guard(partial(self._writer.write_torch_window, window))

    def keep_texts(self) -> None:
        """Write what is known of hot lines by now, their sources and values: somebody is to read the run file."""
        self._guard(lambda: self._keep_sources(MEANWHILE_S))
        self._guard(self._keep_values)

    def keep_experiments(self, experiments: Sequence[Experiment]) -> None:
        """Write ``experiments``, all of them, in place of those written before."""
        kept = tuple(experiments)
        self._guard(lambda: self._writer.write_experiments(kept))

    def finish(
        self,
        *,
        exit_code: int,
        told_to_end_us: int | None = None,
        census: Census,
        overhead: Mapping[str, float],
        notes: Sequence[Note],
    ) -> None:
        """Complete the file, or leave it marked incomplete after a failure."""
        until = time.monotonic() + PATIENCE_AT_THE_END_S
        self._write_waiting(until)
        if len(self._windows) > TAIL_WINDOWS:
            self._merge()
        self._guard(lambda: self._keep_sources(AT_THE_END_S))
        self._guard(self._keep_values)
        self._keep_sites(census.present)
        self._guard(lambda: self._writer.write_notes(notes))
        self._guard(
            lambda: self._writer.finish(
                wall_us=self.window_start_us,
                exit_code=exit_code,
                told_to_end_us=told_to_end_us,
                processes=[summarise(tracked) for tracked in census.present],
                threads=census.new_threads,
                overhead=overhead,
            )
        )
        self._write_waiting(until)
        if self._waiting and self.failure is None:
            self.fail(_locked_to_the_end(self._writer))

    def fail(self, error: RlprofError) -> None:
        """End the file here; what was committed stays readable, and says that it is incomplete."""
        if self.failure is None:
            self.failure = error
            self._writer.abandon()

    def discard(self) -> None:
        """Nothing ran: leave no file."""
        self._writer.discard()

    def _merge(self) -> None:
        """Make fewer windows of many, unless writes wait, or the file is locked: they get other numbers by it, which those that wait do not know."""
        if self._waiting or self.failure is not None:
            return
        try:
            if self._writer.sample_rows() > MAX_SAMPLE_ROWS:
                self._tail_windows = max(MIN_TAIL_WINDOWS, self._tail_windows // 2)
            groups = plan_merge(self._windows, self._tail_windows)
            self._writer.merge_windows(groups)
        except BusyError:
            return
        except OutputError as error:
            self.fail(error)
        else:
            self._windows = merged(self._windows, groups)

    def _keep_sources(self, most_s: float) -> None:
        costs = dict(self._writer.file_costs())
        # What a hot line calls has to be readable, however little time it takes itself.
        called = self._values.files() if self._values is not None else ()
        costs |= {file: 0 for file in called if file not in costs}
        self._writer.write_sources(read_sources(costs.items(), self._total_us, most_s))

    def _keep_values(self) -> None:
        if self._values is not None:
            self._writer.write_values(self._values.seen())

    def _let_go(self, census: Census) -> None:
        """Let go of processes that have ended, whose last words are written or never will be."""
        ended = [tracked for tracked in census.present if not tracked.is_alive]
        self._keep_sites(ended)
        for tracked in ended:
            census.leave(tracked)

    def _keep_sites(self, processes: Iterable[TrackedProcess]) -> None:
        sites = [
            site
            for tracked in processes
            if tracked.mailbox is not None
            for site in tracked.mailbox.sites.sites(tracked.process.id)
        ]
        if sites:
            self._guard(lambda: self._writer.write_sync_sites(sites))

    def _guard(self, write: Callable[[], None]) -> None:
        """Run ``write``, after those that wait, unless a write has failed before; the first failure ends the file."""
        self._waiting.append(write)
        self._write_waiting()
        if len(self._waiting) > MOST_WAITING and self.failure is None:
            self.fail(_locked_to_the_end(self._writer))

    def _write_waiting(self, until: float = 0.0) -> None:
        """Run what waits, in its order, for as long as the file takes it; ``until`` then it is tried again and again."""
        while self._waiting and self.failure is None:
            try:
                self._waiting[0]()
            except BusyError:
                if time.monotonic() >= until:
                    return
                continue
            except OutputError as error:
                self.fail(error)
            else:
                self._waiting.popleft()

    def _output_counters(self, window: Window, output: Sequence[ReadsOutput]) -> list[Counter]:
        seen = [each.steps for each in output if each.steps is not None]
        if not seen:
            return []
        new = max(seen) - self._output_steps
        self._output_steps = max(seen)
        return [Counter(window.id, 0, "output_steps", new)] if new > 0 else []

    def _printed_rate(self, window: Window, output: Sequence[ReadsOutput]) -> list[Gauge]:
        """In the window in which it was printed alone: it says nothing of the next one.

        A rate on each stream counts as their mean, as when windows merge.
        """
        rates = [rate for each in output if (rate := each.take_sps()) is not None]
        if not rates:
            return []
        return [Gauge(window.id, 0, OUTPUT_SPS, fmean(rates))]


def _locked_to_the_end(writer: RunWriter) -> OutputError:
    return OutputError(
        f"cannot write the run file {writer.path}: another program has locked it",
        slug="run-file-not-written",
        hint="end what writes to it (an SQLite shell or browser with an open change); what was recorded before is readable",
    )
