"""Record one run: start the target, watch it to its end, leave one run file.

A single thread waits on one selector: announcements of agents, output of samplers,
our signals, and the clock that closes a window.
"""

from __future__ import annotations

import os
import secrets
import selectors
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from rlprof import __version__
from rlprof.agent import INJECT_DIR
from rlprof.errors import LaunchError, RlprofError
from rlprof.model.recording import Note, RunInfo
from rlprof.recording import procfs
from rlprof.recording.agents import AgentServer
from rlprof.recording.attaching import Attacher
from rlprof.recording.census import Census
from rlprof.recording.counting_notes import counting_notes
from rlprof.recording.escort import Escort
from rlprof.recording.gpus.reader import find_gpus
from rlprof.recording.host import git_state, host_facts, usable_cores
from rlprof.recording.live import LiveLine
from rlprof.recording.redact import redact_arguments, redact_environment
from rlprof.recording.samplers.austin import Austin, find_austin
from rlprof.recording.stacks import StackTable
from rlprof.recording.storing import WindowStore
from rlprof.recording.timeline import window_length_us
from rlprof.recording.torch_traces import TraceCollector
from rlprof.recording.tracked import TrackedProcess
from rlprof.runfile.writer import RunWriter
from rlprof.settings import DEFAULT_INTERVAL_US, RecordingSettings

READ_US = 100_000
"""How often samplers are read: a terminal holds 64 KiB back, which is 200 ms of the finest rate."""

SCAN_US = 250_000
"""How often the process tree is looked through."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a recorded run ended."""

    exit_code: int
    """The target's own; 128+n for signal n."""
    failure: RlprofError | None
    """What ended the recording early; the target was not touched by it."""


def record(settings: RecordingSettings) -> Outcome:
    """Run the target under observation and write ``settings.run_file``.

    Raises :class:`LaunchError` when the target could not be started and
    :class:`OutputError` when the run file could not even be begun; the target has
    not run then.
    """
    recorder = Recorder(settings)
    try:
        return recorder.run()
    finally:
        recorder.close()


class Recorder:
    """The state of one recording."""

    def __init__(self, settings: RecordingSettings) -> None:
        self._settings = settings
        # Before the run's clock starts: a driver that wakes up is none of its start-up.
        self._gpus = find_gpus(os.environ)
        # One after the other: by the second, what is seen from outside is laid over the recording.
        self._start = time.monotonic()
        self._started_unix_s = time.time()
        self._notes: list[Note] = []
        self._usable_cores = usable_cores()
        self._selector = selectors.DefaultSelector()
        self._stacks = StackTable()
        self._census = Census(self._stacks, self._elapsed_us, expects_agents=settings.agent)
        self._server = AgentServer()
        self._attacher = Attacher(
            self._find_austin() if settings.sampling else None,
            self._selector,
            interval_us=settings.interval_us,
            usable_cores=self._usable_cores,
            elapsed_us=self._elapsed_us,
            on_first_sample=lambda tracked: self._server.release(tracked.pid),
        )
        self._traces = TraceCollector(settings, self._start)
        writer = RunWriter(settings.run_file, self._run_info())
        self._store = WindowStore(writer, self._stacks, self._gpus)
        self._next_scan_us = 0
        self._next_read_us = 0
        self._is_recording = True
        self._live = LiveLine()
        self._escort = Escort(self._selector)

    def run(self) -> Outcome:
        self._selector.register(self._server, selectors.EVENT_READ, self._accept)
        try:
            target = self._escort.start(
                self._settings.command, self._environment(), self._settings.sps_pattern
            )
        except Exception:
            self._store.discard()
            raise
        self._census.root_pid = target.pid
        try:
            while target.exit_code is None:
                self._turn()
            self._finish(target.exit_code)
        except Exception as bug:
            # Whatever it is, the training must not pay for it.
            self._store.fail(_bug_report(bug))
            self._server.close()
            self._attacher.kill_all(self._census.all)
            return Outcome(self._escort.see_to_the_end(), self._store.failure)
        return Outcome(target.exit_code, self._store.failure)

    def close(self) -> None:
        """Leave no sampler behind, and signals and descriptors as they were found."""
        self._attacher.kill_all(self._census.all)
        self._server.close()
        self._selector.close()
        self._escort.close()
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

    def _run_info(self) -> RunInfo:
        settings = self._settings
        cwd = os.getcwd()  # noqa: PTH109 - a text is wanted
        interval = settings.interval_us
        return RunInfo(
            id=secrets.token_hex(8),
            command=redact_arguments(settings.command),
            script=settings.script,
            cwd=cwd,
            started_unix_s=self._started_unix_s,
            wall_us=0,
            exit_code=None,
            complete=False,
            label=settings.label,
            git=git_state(Path(cwd)),
            host=host_facts(self._gpus),
            environment=redact_environment(os.environ),
            settings={
                "interval": "default" if interval is None else f"{interval} us",
                "agent": str(settings.agent).lower(),
                "probe": str(settings.probe).lower(),
                "sampling": str(settings.sampling).lower(),
                "torch": settings.torch.value,
            },
            rlprof_version=__version__,
        )

    def _environment(self) -> dict[str, str]:
        environment = dict(os.environ)
        if self._settings.agent:
            interval = self._settings.interval_us or DEFAULT_INTERVAL_US
            environment |= self._server.environment(
                probe_interval_us=interval if self._settings.probe else 0,
                tracer_pid=os.getpid() if procfs.yama_restricts() else None,
                steps_from=self._settings.steps_from,
            )
            environment |= self._traces.environment()
            theirs = environment.get("PYTHONPATH")
            environment["PYTHONPATH"] = os.pathsep.join(
                [str(INJECT_DIR), *([theirs] if theirs else [])]
            )
        return environment

    # The loop

    def _turn(self) -> None:
        """Wait for whatever comes first, and deal with what is due."""
        due_s = self._server.release_overdue()
        now_us = self._elapsed_us()
        timeout = max(0.0, (self._next_read_us - now_us) / 1e6) if self._is_recording else None
        if due_s is not None:
            timeout = max(0.0, due_s if timeout is None else min(timeout, due_s))
        for key, _ in self._selector.select(timeout):
            key.data()
        self._escort.handle_signals()
        self._reap()
        if self._is_recording:
            self._look_after_processes()

    def _look_after_processes(self) -> None:
        now_us = self._elapsed_us()
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
        if now_us < self._next_read_us:
            return
        self._next_read_us = now_us + READ_US
        for tracked in self._census.live():
            self._attacher.read(tracked)
        if now_us >= self._next_scan_us:
            self._next_scan_us = now_us + SCAN_US
            self._scan()
        if now_us - self._store.window_start_us >= window_length_us(now_us):
            self._close_window(now_us)

    def _scan(self) -> None:
        ours = self._sampler_pids()
        alive = [pid for pid in procfs.descendants(os.getpid()) if pid not in ours]
        # Who has ended by now has announced itself before, or never will: only then is it missed.
        while self._server.has_callers():
            self._accept()
            self._server.release_overdue()
        for tracked in self._census.scan(alive):
            self._attach(tracked)
        for tracked in list(self._census.notice_ends()):
            self._end(tracked.pid, exit_code=None)
        live = self._census.live()
        # On a full machine a wait takes its core from the training; and a pool that is made again
        # and again would wait for longer than its processes live.
        wait = len(live) < self._usable_cores and not self._census.expects_short_life()
        for tracked in live:
            self._attacher.tend(tracked, live=len(live))
            if tracked.mailbox is not None:
                tracked.mailbox.let_children_wait(wait)

    def _close_window(self, now_us: int) -> None:
        self._store.close_window(now_us, self._census, self._escort.taps)
        if self._store.failure is not None:
            self._stop_sampling()
        self._store.keep_traces(self._traces.collect(self._census.all))
        self._live.update(
            elapsed_us=now_us,
            processes=len(self._census.live()),
            samples=sum(tracked.clock_samples for tracked in self._census.all),
            sps=self._store.recent_sps(),
        )

    def _accept(self) -> None:
        announcement = self._server.accept()
        if announcement is None:
            return
        before = self._census.get(announcement.pid)
        tracked = self._census.announced(announcement)
        if before is not None and before is not tracked:
            self._attacher.stop(before)
        if not self._is_recording:
            announcement.mailbox.request_interval(0)
        is_attached = False
        if tracked is not before and self._is_recording:
            if self._census.expects_short_life():
                self._attacher.put_off(tracked)
            else:
                is_attached = self._attach(tracked)
        # The wait keeps a core busy: on a full machine that is the training's.
        if not is_attached or len(self._census.live()) > self._usable_cores:
            self._server.release(tracked.pid)

    def _attach(self, tracked: TrackedProcess) -> bool:
        return self._attacher.attach(tracked, live=len(self._census.live()))

    def _reap(self) -> None:
        """Take leave of every child that has ended, adopted ones included."""
        target = self._escort.target
        samplers = self._sampler_pids()
        while True:
            try:
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if found is None:
                return
            if found.si_pid in samplers:
                # Its own Popen reaps it, once its output has been read.
                if not self._read_ended_sampler(found.si_pid):
                    return
                continue
            pid, status = os.waitpid(found.si_pid, os.WNOHANG | os.WUNTRACED)
            if pid == target.pid:
                target.changed(status)
            if pid and not os.WIFSTOPPED(status):
                self._end(pid, os.waitstatus_to_exitcode(status))

    def _read_ended_sampler(self, pid: int) -> bool:
        """Read the last of a sampler that has ended, which also reaps it."""
        for tracked in self._census.all:
            for sampler in tracked.samplers:
                if sampler.process.pid == pid and not sampler.is_over:
                    while not sampler.is_over:
                        self._attacher.read_sampler(tracked, sampler)
                    return True
        return False

    def _end(self, pid: int, exit_code: int | None) -> None:
        tracked = self._census.get(pid)
        if tracked is not None:
            self._attacher.stop(tracked)
            if exit_code is not None and exit_code < 0:
                exit_code = 128 - exit_code
            self._census.ended(pid, exit_code)

    # The end

    def _finish(self, exit_code: int) -> None:
        self._live.clear()
        # Before the last window closes: steps may be in what the target wrote last.
        self._escort.drain()
        if self._is_recording:
            self._stop_recording()
        self._store.keep_traces(self._traces.finish(self._census.all))
        self._store.finish(
            exit_code=exit_code,
            census=self._census,
            overhead=self._overhead(),
            notes=[
                *self._notes,
                *(self._gpus.notes if self._gpus is not None else ()),
                *counting_notes(self._census.all, self._settings),
                *self._traces.notes(self._census.all),
            ],
        )

    def _stop_sampling(self) -> None:
        for tracked in self._census.live():
            self._attacher.stop(tracked)
            if tracked.mailbox is not None:
                tracked.mailbox.request_interval(0)  # Nobody reads what a probe would find.
        self._is_recording = False

    def _stop_recording(self) -> None:
        for tracked in list(self._census.notice_ends()):
            self._end(tracked.pid, exit_code=None)
        self._census.last_glimpses()
        self._stop_sampling()
        self._store.close_window(self._elapsed_us(), self._census, self._escort.taps)

    def _overhead(self) -> dict[str, float]:
        probes = [tracked.mailbox.probe_cost_us for tracked in self._census.all if tracked.mailbox]
        return {
            "samplers_cpu_us": self._attacher.cpu_us,
            "recorder_cpu_us": round(time.process_time() * 1e6),
            "probe_cpu_us": round(sum(probes)),
        }

    def _sampler_pids(self) -> set[int]:
        return {
            sampler.process.pid
            for tracked in self._census.all
            for sampler in tracked.samplers
            if not sampler.is_over
        }

    def _elapsed_us(self) -> int:
        return round((time.monotonic() - self._start) * 1e6)


def _bug_report(bug: Exception) -> RlprofError:
    lines = "".join(traceback.format_exception(bug)).rstrip()
    return RlprofError(
        f"a bug in rlprof {__version__} ended the recording:\n{lines}",
        slug="recorder-bug",
        hint="please report it, with the lines above",
    )
