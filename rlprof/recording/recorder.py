"""The recorder of one run: it starts the target, watches it to its end, and leaves one run file.

A single thread waits on one selector: announcements of agents, output of samplers,
our signals, and the clock that closes a window.
"""

from __future__ import annotations

import os
import selectors
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from rlprof import __version__
from rlprof.errors import LaunchError, RlprofError
from rlprof.model.recording import Note
from rlprof.recording.agents import MOST_WAITING, AgentServer
from rlprof.recording.attaching import Attacher
from rlprof.recording.census import AgentTotals, Census
from rlprof.recording.counting_notes import counting_notes
from rlprof.recording.experimenting import Bench, Experimenter, Experimenting
from rlprof.recording.gpus.reader import find_gpus
from rlprof.recording.guard import PartGuard
from rlprof.recording.looks.hot_lines import HotLines
from rlprof.recording.looks.look_times import SETTLED_READ_US, LookTimes
from rlprof.recording.looks.step_plan import StepPlan
from rlprof.recording.looks.value_plan import ValuePlan
from rlprof.recording.machine.clock import RunClock
from rlprof.recording.machine.disk_room import expect_room
from rlprof.recording.machine.host import usable_cores
from rlprof.recording.outliving import PATIENCE_S, notes_of_outliving
from rlprof.recording.pauses import PauseKeeper
from rlprof.recording.processes import RunProcesses
from rlprof.recording.program.escort import Escort
from rlprof.recording.program.output_log import ReadsOutput, logs_of_output
from rlprof.recording.run_facts import run_info
from rlprof.recording.samplers.austin import Austin, find_austin
from rlprof.recording.sampling_budget import SamplingBudget
from rlprof.recording.settings import RecordingSettings
from rlprof.recording.stacks import StackTable
from rlprof.recording.storing import WindowStore
from rlprof.recording.timeline import window_length_us
from rlprof.recording.torch_traces import TraceCollector
from rlprof.runfile.writer import RunWriter

MOST_LEAVING = 32
"""Processes that have ended wait for the end of the window to be written down; each holds a descriptor."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The end of a recorded run."""

    exit_code: int
    """The target's own; 128+n for signal n."""
    exit_signal: int | None
    """The signal that ended the target."""
    failure: RlprofError | None
    """Error that ended the recording early; the target was not touched by it."""
    told_by: int | None
    """The signal that came for it, which it may have met before it could die of it."""
    was_stopped: bool
    """True if one came, or it died of one that somebody sent it alone."""


class Recorder:
    """The state of one recording."""

    def __init__(
        self, settings: RecordingSettings, experimenter: Experimenter | None = None
    ) -> None:
        self._settings = settings
        # Before the run's clock starts: a driver that wakes up is none of its start-up.
        self._gpus = find_gpus(os.environ)
        # One after the other: by the second, what is seen from outside is laid over the recording.
        self._clock = RunClock()
        started_unix_s = time.time()
        self._notes: list[Note] = []
        self._guard = PartGuard()
        self._selector = selectors.DefaultSelector()
        self._stacks = StackTable()
        self._census = Census(self._stacks, self._clock.now_us, expects_agents=settings.agent)
        self._traces = TraceCollector(settings, self._clock)
        self._server = AgentServer(on_trace=self._traces.take)
        cores = usable_cores()
        budget = SamplingBudget(settings.interval_us, cores)
        self._attacher = Attacher(
            self._find_austin() if settings.sampling else None,
            self._selector,
            budget,
            elapsed_us=self._clock.now_us,
            on_first_sample=lambda tracked: self._server.release(tracked.pid),
        )
        self._processes = RunProcesses(
            server=self._server,
            census=self._census,
            attacher=self._attacher,
            budget=budget,
            guard=self._guard,
            usable_cores=cores,
            elapsed_us=self._clock.now_us,
            selector=self._selector,
        )
        lines = HotLines(self._stacks)
        self._steps = StepPlan(lines) if settings.recognises_steps else None
        expect_room(settings.run_file)
        info = run_info(settings, started_unix_s=started_unix_s, gpus=self._gpus)
        self._store = WindowStore(
            RunWriter(settings.run_file, info),
            self._stacks,
            self._gpus,
            ValuePlan(lines, self._steps) if settings.values else None,
        )
        self._looks = LookTimes()
        self._told_to_end_us: int | None = None
        self._escort = Escort(self._selector)
        self._logs = logs_of_output() if settings.recognises_steps else []
        self._pauses = PauseKeeper(
            self._clock,
            self._escort,
            self._census,
            self._attacher,
            close_window=self._close_window,
            go_on=self._go_on,
        )
        bench = Bench(
            census=self._census,
            processes=self._processes,
            own_pids=lambda: self._escort.own_pids,
            stop_recording=self._stop_recording,
            elapsed_us=self._clock.now_us,
            keep_texts=self._store.keep_texts,
            keep=self._store.keep_experiments,
            end_target=self._end_target,
            is_told_to_end=lambda: self._escort.was_stopped,
        )
        self._experiments = Experimenting(experimenter, bench, self._guard)

    def run(self, when_started: Callable[[], None]) -> RunEnd:
        self._selector.register(self._server, selectors.EVENT_READ, self._processes.accept)
        try:
            target = self._escort.start(
                self._settings.command, self._environment(), self._settings.sps_pattern
            )
        except Exception as error:
            if self._escort.has_target:
                return self._only_stay(error)
            self._store.discard()
            raise
        self._census.root_pid = target.pid
        try:
            with self._guard.part("what follows the start"):
                when_started()
            while target.exit_code is None:
                self._turn()
            self._finish(target.exit_code)
        except Exception as bug:
            return self._only_stay(bug)
        return self._end_of(target.exit_code)

    def _only_stay(self, bug: Exception) -> RunEnd:
        """Record nothing more, but stay with the target: whatever it is, the training must not pay for it."""
        for clear in (
            partial(self._store.fail, _bug_report(bug)),
            self._server.close,
            self._attacher.kill_all,
        ):
            # Where one thing was wrong another may be.
            with suppress(Exception):
                clear()
        exit_code = self._escort.see_to_the_end()
        return self._end_of(exit_code)

    def _end_of(self, exit_code: int) -> RunEnd:
        escort = self._escort
        return RunEnd(
            exit_code,
            escort.target.exit_signal,
            self._store.failure,
            told_by=escort.told_by,
            was_stopped=escort.was_stopped,
        )

    def close(self) -> None:
        """Leave no sampler behind, and signals and descriptors as they were found."""
        self._attacher.kill_all()
        self._server.close()
        self._processes.close()
        self._selector.close()
        self._escort.close()
        for log in self._logs:
            log.close()
        self._traces.close()
        if self._gpus is not None:
            self._gpus.close()

    # Beginning

    def _find_austin(self) -> Austin | None:
        try:
            return find_austin(self._settings.austin)
        except LaunchError as error:
            self._notes.append(
                Note(
                    "error", error.slug, f"{error.message}; {error.hint}. Only the stack probe ran."
                )
            )
            return None

    def _environment(self) -> dict[str, str]:
        environment = dict(os.environ)
        if self._settings.agent:
            environment |= self._server.environment(self._settings, environment)
            environment |= self._traces.environment()
        return environment

    # The loop

    def _turn(self) -> None:
        """Wait for whatever comes first, and deal with what is due."""
        due_s = self._server.release_overdue()
        events = self._selector.select(self._timeout_s(due_s))
        self._escort.handle_signals()
        if self._escort.told_by is not None:
            self._note_told_to_end()
        if self._processes.are_sampled:
            self._pauses.notice()
        for key, _ in events:
            self._call(key)
        self._escort.follow_target()
        if self._processes.are_sampled:
            self._pauses.follow_target()
        self._processes.reap(self._escort)
        if self._processes.are_sampled:
            self._look_after_processes()
        self._pauses.turned()
        if not self._pauses.is_on:
            self._experiments.turn()

    def _end_target(self, signum: int) -> None:
        self._note_told_to_end()
        self._escort.target.forward(signum, time.monotonic())

    def _note_told_to_end(self) -> None:
        """Keep when it was first told to: how it ends from then on is no crash."""
        if self._told_to_end_us is None:
            self._told_to_end_us = self._clock.now_us()

    def _timeout_s(self, due_s: float | None) -> float | None:
        """The time until something is due; None to wait for an event."""
        dues = [] if due_s is None else [due_s]
        if self._escort.follows_a_window:
            dues.append(SETTLED_READ_US / 1e6)
        if self._processes.are_sampled and not self._pauses.is_on:
            next_us: float = self._looks.next_read_us
            if self._settings.duration_s is not None:
                next_us = min(next_us, self._settings.duration_s * 1e6)
            dues.append((next_us - self._clock.now_us()) / 1e6)
        experiments_s = self._experiments.due_s()
        if experiments_s is not None:
            dues.append(experiments_s)
        return max(0.0, min(dues)) if dues else None

    def _call(self, key: selectors.SelectorKey) -> None:
        """Call back, but never again what has failed: its event would come for ever."""
        callback: Callable[[], None] = key.data
        is_done = False
        with self._guard.part("an event"):
            if self._is_registered(key):
                callback()
            is_done = True
        if not is_done and self._is_registered(key):
            self._selector.unregister(key.fileobj)
            if key.fileobj is self._server:
                self._server.close()  # Whoever calls goes on at once, where nobody would answer.

    def _is_registered(self, key: selectors.SelectorKey) -> bool:
        """An earlier call of this turn may have closed it, and its number may be another's by now."""
        return self._selector.get_map().get(key.fd) is key

    def _look_after_processes(self) -> None:
        if self._pauses.is_on:
            return
        now_us = self._clock.now_us()
        duration_s = self._settings.duration_s
        if duration_s is not None and now_us >= duration_s * 1e6:
            self._notes.append(
                Note(
                    "info",
                    "recording-stopped",
                    f"Recording stopped after {duration_s:g} s as asked (--duration); "
                    "the training went on.",
                )
            )
            self._stop_recording()
            return
        if not self._looks.is_read_due(now_us):
            return
        self._processes.read_samplers()
        if self._looks.is_scan_due(now_us):
            with self._guard.part("the scan for processes"):
                self._processes.scan(self._escort.own_pids)
        is_due = now_us - self._store.window_start_us >= window_length_us(now_us)
        if is_due or self._processes.leaving > MOST_LEAVING:
            self._close_window(now_us)

    @property
    def _output(self) -> list[ReadsOutput]:
        return [*self._escort.taps, *self._logs]

    def _close_window(self, now_us: int) -> None:
        self._store.close_window(now_us, self._census, self._output, self._guard)
        if self._store.failure is not None:
            self._processes.stop_sampling()
        with self._guard.part("a window of torch's profiler"):
            self._store.keep_traces(self._traces.collect(self._processes.with_windows))
        self._pauses.window_closed()

    def _go_on(self) -> None:
        """Sample again, after time that was nobody's."""
        self._store.stood_still()
        self._processes.sample_again()

    # The end

    def _finish(self, exit_code: int) -> None:
        self._pauses.end()
        self._escort.hear_terminal()
        if self._escort.told_by is not None:
            self._note_told_to_end()
        # Before the last window closes: steps may be in what the target wrote last.
        self._escort.drain()
        self._experiments.target_ended()
        if self._processes.are_sampled:
            self._stop_recording()
            if self._told_to_end_us is None:
                with self._guard.part("the look for what goes on"):
                    going_on = self._processes.that_go_on(self._escort.own_pids, PATIENCE_S)
                    self._notes += notes_of_outliving(going_on)
        with self._guard.part("a window of torch's profiler"):
            # Where recording stopped before, for the last traces.
            self._processes.accept_waiting(MOST_WAITING)
            self._store.keep_traces(self._traces.finish(self._processes.with_windows))
        told = self._census.agent_totals()
        self._store.finish(
            exit_code=exit_code,
            told_to_end_us=self._told_to_end_us,
            census=self._census,
            overhead=self._overhead(told),
            notes=[
                *self._notes,
                *self._pauses.notes(),
                *self._escort.notes(),
                *(self._gpus.notes if self._gpus is not None else ()),
                *counting_notes(told, self._settings),
                *(self._steps.notes() if self._steps is not None else ()),
                *self._traces.notes(told.torch_states),
                *self._attacher.notes(),
                *self._guard.notes(),
                *self._stacks.notes(),
            ],
        )

    def _stop_recording(self) -> None:
        self._processes.stop_sampling()
        # Whoever announced itself before the target ended has counts, and perhaps a last trace.
        self._processes.accept_waiting(MOST_WAITING)
        self._processes.notice_ends()
        self._census.list_unannounced()
        self._store.close_window(self._clock.now_us(), self._census, self._output, self._guard)

    def _overhead(self, told: AgentTotals) -> dict[str, float]:
        return {
            "samplers_cpu_us": self._attacher.cpu_us,
            "recorder_cpu_us": round(time.process_time() * 1e6),
            "probe_cpu_us": round(told.probe_cost_us),
            "torch_windows_cpu_us": round(told.torch_cost_us),
            "values_cpu_us": round(told.looks_cost_us),
        }


def _bug_report(bug: Exception) -> RlprofError:
    lines = "".join(traceback.format_exception(bug)).rstrip()
    return RlprofError(
        f"a bug in rlprof {__version__} ended the recording:\n{lines}",
        slug="recorder-bug",
        hint="please report it, with the lines above",
    )
