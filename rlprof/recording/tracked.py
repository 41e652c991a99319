"""A process under observation: its sampler, its mailbox, and what both saw in this window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from rlprof.agent import INJECT_DIR
from rlprof.agent.inject.rlprof_agent import layout
from rlprof.model.calltree import Cost
from rlprof.model.recording import (
    GC_FRAME,
    NO_STACK_FRAME,
    TORN_FRAME,
    Frame,
    MemoryGrowth,
    Process,
    Thread,
    ThreadClock,
)
from rlprof.recording.clock_trust import ClockTrust
from rlprof.recording.combine import ThreadWindow, combine
from rlprof.recording.late_looks import LateLooks
from rlprof.recording.machine import procfs
from rlprof.recording.mailboxes.mailbox import MailboxReader
from rlprof.recording.misread_files import MisreadFiles
from rlprof.recording.samplers.austin import AustinProcess
from rlprof.recording.samplers.base import ClockStack, ClockTime
from rlprof.recording.settings import DEFAULT_INTERVAL_US
from rlprof.recording.stacks import StackTable

EYE_IS_DUE = 2
"""Intervals of CPU time after which the eye should have looked: if it has not, a long call hides what goes
on."""

TEARS_SILENTLY_BEFORE = (3, 11)
"""On older Pythons torn stacks come without a mark: outer frames missing, wrong lines."""

SILENT_US = 1_000_000
"""A main thread without a tick for so long has none: before Python 3.13 austin says nothing of a
process that sleeps from the start. Its time is then the scheduler's, its stack not known."""

MOST_ID = 2**31 - 1
"""Largest id of a thread, an ``int`` of C. One that has just begun or ended may be read with what lies in its memory then."""

BUSY_SHARE = 0.1
"""Share of a window, from which on a thread counts as busy."""

_AGENT_FOLDER = str(INJECT_DIR) + "/"
_COUNTED_FOLDER = _AGENT_FOLDER + "rlprof_agent/counted/"
"""Frames that stand between the program's own: what they call is the program's."""


@dataclass
class ProcessWindow:
    """Data that one process adds to a window of the run file."""

    samples: list[tuple[int, int, Cost]] = field(default_factory=list)
    """(thread, node, time)."""
    clocks: list[ThreadClock] = field(default_factory=list)
    counts: dict[str, float] = field(default_factory=dict)
    """Counts of the process, by name."""
    memory: list[MemoryGrowth] = field(default_factory=list)
    eye: Mapping[int, float] = field(default_factory=dict)
    """CPU time (µs) of the main thread by node, as the eye saw it."""


class _ThreadState:
    def __init__(self, number: int) -> None:
        self.number = number
        self.schedule: tuple[int, int] | None = None
        self.switches: tuple[int, int] | None = None


class TrackedProcess:
    """One incarnation of a process; ``exec`` begins a new one under the same pid."""

    def __init__(
        self,
        process: Process,
        *,
        start_ticks: int,
        mailbox: MailboxReader | None,
        stacks: StackTable,
        new_thread: Callable[[int, int, str, bool], Thread],
    ) -> None:
        self.process = process
        self.start_ticks = start_ticks
        self.mailbox = mailbox
        self.samplers: list[AustinProcess] = []
        """Oldest first; two for the moment in which one takes over from the other."""
        self.attempts = 0
        self.next_attempt_us: int | None = None
        self.attached_us = 0
        self.next_rate_us = 0
        """When its sampler may be replaced by one of another rate."""
        self.last_tick_us = -SILENT_US
        self.clock_samples = 0
        self.clock_invalid_us = 0
        self.clock_covered_us = 0
        self.is_busy = True
        """True if a thread of it ran, or waited for a core, for a good part of the last window."""
        self.end_heard_us: int | None = None
        """When the kernel told that it has ended."""
        self.end_heard_code: int | None = None
        """How it ended, as its parent had not asked for it by then; ``-n`` for signal n."""
        self.runs_its_program = False
        """True if it was last seen with the program that its agent is in; a fork of the program's own may become another one."""
        self.probe_interval_us = DEFAULT_INTERVAL_US
        """CPU time between two looks of its probe."""
        self.interruption: str | None = None
        """Why the clock stopped or did not start; a reason to tell unless a further attempt mends it."""
        self.reasons: list[str] = []
        """Why the clock is missing, or was for a while."""
        self._stacks = stacks
        self._new_thread = new_thread
        self._threads: dict[int, _ThreadState] = {}
        self._has_kernel_ids = False
        """True once the main thread was told by its id of the kernel's."""
        self._trust = ClockTrust(stacks.callers)
        self._late = LateLooks(stacks)
        self._misread = MisreadFiles(stacks.known)
        self._eye_us = 0.0
        """CPU time that the eye explained in this window."""
        self._unseen_us = 0.0
        """CPU time of the main thread that it did not, up to now."""
        self._last_eye: dict[int, float] = {}
        self._torn_node = stacks.node((TORN_FRAME,))
        self._unseen_node = stacks.node((NO_STACK_FRAME,))
        main = self._thread(process.pid)
        main.schedule = procfs.read_schedule(process.pid, process.pid)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def is_alive(self) -> bool:
        return self.process.ended_us is None

    def meet_agent(self, mailbox: MailboxReader, python: str, start_method: str) -> None:
        """Its agent announces it late: the scan had found it before."""
        self.mailbox = mailbox
        self.process = replace(self.process, python=python, start_method=start_method)

    def look_at_program(self, parent: TrackedProcess | None) -> None:
        executable = procfs.read_executable(self.pid)
        if executable:  # It has not ended since.
            # Its own was perhaps read after it had become another.
            like = self if parent is None or self.process.start_method != "fork" else parent
            self.runs_its_program = executable == like.process.executable

    def look_every(self, interval_us: int) -> None:
        """Have its probe look once in so much CPU time; never again for 0."""
        if interval_us == self.probe_interval_us:
            return
        self.probe_interval_us = interval_us
        if self.mailbox is not None:
            self.mailbox.request_interval(interval_us)

    def release(self) -> None:
        """Give back what was held for the live process, once its last words are in the run file."""
        self._threads.clear()
        self._last_eye.clear()
        if self.mailbox is not None:
            self.mailbox.close()

    def forget_clock(self) -> None:
        """Drop what samplers have said since the last window."""
        for sampler in self.samplers:
            sampler.reader.drain()

    def close_window(self, now_us: int, length_us: int) -> ProcessWindow:
        """Return what was seen since the last call, with thread and node ids of the run."""
        threads: dict[int, ThreadWindow] = {}
        if self.process.fate != "left-out":
            threads = self._read_clock(now_us)
            self._read_eye(threads, length_us)
            if self.pid not in threads and now_us - self.last_tick_us > SILENT_US:
                threads[self.pid] = ThreadWindow()
        result = ProcessWindow()
        worked_us = 0
        for tid, seen in threads.items():
            state = self._thread(tid)
            self._read_schedule(tid, state, seen)
            worked_us = max(worked_us, (seen.on_cpu_us or 0) + seen.run_queue_us)
            if tid == self.pid and not seen.clock_wall_us:
                self._do_without_clock(seen, now_us, length_us)
            if tid == self.pid:
                if self._marks_torn():
                    seen.eye = self._late.placed(seen)
                result.eye = seen.eye
                self._remember_eye(seen)
            for node, time in combine(
                seen, torn_node=self._torn_node, unseen_node=self._unseen_node
            ).items():
                result.samples.append((state.number, node, time))
            result.clocks.append(self._thread_clock(state, seen))
            result.memory += [
                MemoryGrowth(state.number, node, grown, released)
                for node, (grown, released) in seen.memory.items()
            ]
        self.is_busy = worked_us >= BUSY_SHARE * length_us
        if self.mailbox is not None:
            result.counts.update(self.mailbox.new_counts())
        return result

    def _do_without_clock(self, seen: ThreadWindow, now_us: int, length_us: int) -> None:
        """The life of a process that no sampler saw; once it is gone, only the eye knows its work."""
        until = now_us if self.process.ended_us is None else min(now_us, self.process.ended_us)
        since = max(now_us - length_us, self.process.started_us)
        seen.bare_wall_us = max(0, until - since)
        if seen.on_cpu_us is None and seen.eye:
            seen.on_cpu_us = min(seen.bare_wall_us, round(sum(seen.eye.values())))

    def _remember_eye(self, seen: ThreadWindow) -> None:
        """Let what was seen last stand for a window in which the eye was not due."""
        if seen.on_cpu_us is None:
            return
        self._unseen_us = max(0.0, self._unseen_us + seen.on_cpu_us - self._eye_us)
        if seen.eye:
            self._last_eye = dict(seen.eye)
        if self._unseen_us <= EYE_IS_DUE * self.probe_interval_us:
            seen.eye_before = self._last_eye

    def _read_clock(self, now_us: int) -> dict[int, ThreadWindow]:
        threads: dict[int, ThreadWindow] = {}
        for sampler in self.samplers:
            parse = sampler.reader.parse
            stacks = [(parse(key), time) for key, time in sampler.reader.drain().items()]
            with_frames = {stack.tid for stack, _ in stacks if stack.frames}
            # Where none is told by the kernel's id, as of a libc that austin does not know, they are all that there is.
            self._has_kernel_ids |= self.pid in with_frames
            for stack, time in stacks:
                if stack.tid > MOST_ID and self._has_kernel_ids:
                    continue
                # A thread that is about to start shows as an empty stack under its creator's id.
                if not stack.frames and not stack.is_torn and stack.tid in with_frames:
                    continue
                seen = threads.setdefault(stack.tid, ThreadWindow())
                self._book(stack, time, seen)
                self.clock_samples += time.ticks
                self.last_tick_us = now_us
        self.samplers = [sampler for sampler in self.samplers if not sampler.is_over]
        main = threads.get(self.pid)
        if main is not None:
            self.clock_covered_us += main.clock_wall_us
            self._trust.heard(main.busy, main.torn_us, main.clock_busy_us)
        return threads

    def _book(self, stack: ClockStack, time: ClockTime, seen: ThreadWindow) -> None:
        frames = self._misread.mended(_without_agent(stack.frames))
        node = self._stacks.node(frames) if frames else self._torn_node
        if time.idle_us:
            # A sleeping stack does not move: even one marked torn is as good as it gets.
            seen.idle[node] = seen.idle.get(node, 0) + time.idle_us
        if time.grown_bytes or time.released_bytes:
            grown, released = seen.memory.get(node, (0, 0))
            seen.memory[node] = (grown + time.grown_bytes, released + time.released_bytes)
        if not time.busy_us:
            return
        if stack.is_torn:
            seen.torn_us += time.busy_us
            self.clock_invalid_us += time.busy_us
        elif stack.is_gc:
            node = self._stacks.node((*frames, GC_FRAME))
            seen.gc[node] = seen.gc.get(node, 0) + time.busy_us
        else:
            seen.busy[node] = seen.busy.get(node, 0) + time.busy_us

    def _read_eye(self, threads: dict[int, ThreadWindow], length_us: int) -> None:
        self._eye_us = 0.0
        stacks = self.mailbox.take_stacks() if self.mailbox is not None else []
        if not stacks:
            return
        self._eye_us = sum(cpu_us for _, cpu_us in stacks)
        seen = threads.setdefault(self.pid, ThreadWindow())
        for stack, cpu_us in stacks:
            frames = _without_agent(stack)
            if frames:
                node = self._stacks.node(frames)
                # A longer one began in an earlier window, where the clock had to explain it.
                seen.eye[node] = seen.eye.get(node, 0.0) + min(cpu_us, length_us)
        self._trust.saw(seen.eye)
        # The version is known once its agent has announced itself.
        seen.trust_clock = self._marks_torn() and self._trust.holds

    def _marks_torn(self) -> bool:
        version = self.process.python.split(".")[:2]
        return tuple(int(part) for part in version if part.isdigit()) >= TEARS_SILENTLY_BEFORE

    def _read_schedule(self, tid: int, state: _ThreadState, seen: ThreadWindow) -> None:
        now = procfs.read_schedule(self.pid, tid)
        before, state.schedule = state.schedule, now
        if now is not None and before is not None:
            seen.on_cpu_us = now[0] - before[0]
            seen.run_queue_us = now[1] - before[1]
        if tid == self.pid:
            self._read_switches(state, seen)

    def _read_switches(self, state: _ThreadState, seen: ThreadWindow) -> None:
        status = procfs.read_status(self.pid)
        now = None if status is None else (status.voluntary_switches, status.involuntary_switches)
        before, state.switches = state.switches, now
        if now is not None and before is not None and now != before:
            slept = now[0] - before[0]
            seen.sleeps = slept / (slept + now[1] - before[1])

    def _thread_clock(self, state: _ThreadState, seen: ThreadWindow) -> ThreadClock:
        wall = seen.clock_wall_us or seen.bare_wall_us
        on_cpu = seen.clock_busy_us if seen.on_cpu_us is None else min(wall, seen.on_cpu_us)
        run_queue = min(wall - on_cpu, seen.run_queue_us)
        idle = sum(seen.idle.values()) if seen.on_cpu_us is None else wall - on_cpu - run_queue
        return ThreadClock(0, state.number, wall, idle, seen.torn_us, on_cpu, run_queue)

    def _thread(self, tid: int) -> _ThreadState:
        state = self._threads.get(tid)
        if state is None:
            is_main = tid == self.pid
            name = "MainThread" if is_main else procfs.read_thread_name(self.pid, tid)
            thread = self._new_thread(self.process.id, tid, name or f"thread {tid}", is_main)
            state = self._threads[tid] = _ThreadState(thread.id)
        return state


@lru_cache(maxsize=65536)
def _without_agent(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """The frames without those that count, and up to the probe's handler, which the clock may
    catch at work: both wake on the kernel's tick.
    """
    kept = []
    for frame in frames:
        if frame.file == layout.COUNTED_FILE or frame.file.startswith(_COUNTED_FOLDER):
            continue
        if frame.file.startswith(_AGENT_FOLDER):
            break
        kept.append(frame)
    return frames if len(kept) == len(frames) else tuple(kept)
