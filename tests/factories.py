"""Small builders of recordings that read like the story they tell.

    recording = (
        a_run("train.py")
        .process("main", steps=1000)
        .spends(8.0, "train.py:12 step", "numpy/core/arrayprint.py:736 array2string")
        .spends(2.0, "train.py:14 step")
        .recording()
    )

Time is given in seconds of the whole run and spread evenly over the windows of a phase.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from rlprof.model.experiment import Experiment
from rlprof.model.recording import (
    NO_PARENT,
    Counter,
    Frame,
    Gauge,
    MemoryGrowth,
    Node,
    Note,
    Process,
    Recording,
    RunInfo,
    Samples,
    SeenValue,
    SyncSite,
    Thread,
    ThreadClock,
    TorchWindow,
    Window,
)

SECOND = 1_000_000
_PLACE = re.compile(r"(?P<file>.+?):(?P<line>\d+) (?P<function>.+)", re.DOTALL)


def frame(text: str) -> Frame:
    """``"train.py:12 step"`` -> Frame("train.py", "step", 12); ``":GC:"`` stays a pseudo-frame."""
    parts = _PLACE.match(text)
    if parts is None:
        return Frame("", text, 0)
    return Frame(parts["file"], parts["function"], int(parts["line"]))


class RunBuilder:
    """Windows of half a second: ``start_up_s`` of start-up, then ``steady_s`` in which steps happen."""

    def __init__(self, script: str, *, start_up_s: float, steady_s: float) -> None:
        self._run = RunInfo(
            id="0123456789abcdef",
            command=("python", script),
            script=script,
            cwd="/home/researcher/project",
            started_unix_s=1_700_000_000.0,
            wall_us=round((start_up_s + steady_s) * SECOND),
            exit_code=0,
            complete=True,
            host={"cores": "8", "usable_cores": "8", "cpu_model": "Test CPU"},
            rlprof_version="0.0.0",
        )
        half = SECOND // 2
        self._start_windows = round(start_up_s * 2)
        count = self._start_windows + round(steady_s * 2)
        self._windows = tuple(Window(i, i * half, (i + 1) * half) for i in range(count))
        self._processes: list[Process] = []
        self._threads: list[Thread] = []
        self._nodes: list[Node] = []
        self._index: dict[tuple[int, Frame], int] = {}
        self._samples = Samples()
        self._counters: list[Counter] = []
        self._clock: dict[tuple[int, int], list[int]] = {}
        self._gauges: list[Gauge] = []
        self._memory: list[MemoryGrowth] = []
        self._torch_windows: list[TorchWindow] = []
        self._sync_sites: list[SyncSite] = []
        self._values: list[SeenValue] = []
        self._experiments: list[Experiment] = []
        self._sources: dict[str, str] = {}
        self._notes: list[Note] = []

    def process(
        self, name: str = "main", *, steps: float = 0, python: str = "3.11.7", fate: str = "sampled"
    ) -> RunBuilder:
        """A further process; what follows happens on its main thread. ``steps`` are made evenly."""
        number = len(self._processes)
        self._processes.append(
            Process(
                id=number,
                pid=1000 + number,
                ppid=1000 if number else 1,
                argv=("python", self._run.script) if number == 0 else ("python", "-c", name),
                executable="/usr/bin/python3",
                python=python,
                start_method="root" if number == 0 else "fork",
                started_us=0,
                ended_us=self._run.wall_us,
                exit_code=0,
                fate=fate,
                requested_interval_us=10_000,
                clock_samples=self._run.wall_us // 10_000,
                clock_covered_us=self._run.wall_us,
                probe_samples=self._run.wall_us // 10_000,
            )
        )
        self.thread("MainThread")
        steady = self._windows[self._start_windows :]
        for window in steady if steps else ():
            self._counters.append(Counter(window.id, number, "steps", steps / len(steady)))
        return self

    def thread(self, name: str) -> RunBuilder:
        """A further thread of the last process; what follows happens on it."""
        process = len(self._processes) - 1
        number = len(self._threads)
        is_main = not any(thread.process == process for thread in self._threads)
        self._threads.append(
            Thread(number, process, 1000 + process if is_main else 5000 + number, name, is_main)
        )
        return self

    def spends(
        self,
        seconds: float,
        *stack: str,
        idle: bool = False,
        cpu: float = 1.0,
        start_up: bool = False,
    ) -> RunBuilder:
        """The current thread spends ``seconds`` in ``stack`` (outermost first); ``cpu`` is the part on a CPU."""
        node = self._node(stack)
        thread = len(self._threads) - 1
        windows = (
            self._windows[: self._start_windows]
            if start_up
            else self._windows[self._start_windows :]
        )
        total = round(seconds * SECOND)
        for position, window in enumerate(windows):
            # Whole µs that add up exactly to the total.
            wall = total * (position + 1) // len(windows) - total * position // len(windows)
            if wall:
                idle_us = wall if idle else 0
                cpu_us = 0 if idle else round(wall * cpu)
                self._samples.add(window.id, thread, node, wall, idle_us, cpu_us)
                clock = self._clock.setdefault((window.id, thread), [0, 0, 0])
                clock[0] += wall
                clock[1] += idle_us
                clock[2] += cpu_us
        return self

    def counts(self, name: str, total: float) -> RunBuilder:
        """The last process counts ``total`` events in the steady phase, evenly."""
        steady = self._windows[self._start_windows :]
        number = len(self._processes) - 1
        for window in steady:
            self._counters.append(Counter(window.id, number, name, total / len(steady)))
        return self

    def gauge(self, name: str, *values: float) -> RunBuilder:
        """A gauge of the last process: ``values`` at equal distances over the steady windows, lines
        between them, and the first value before.
        """
        last = len(self._windows) - 1 - self._start_windows
        for window in self._windows:
            at = max(0, window.id - self._start_windows) * (len(values) - 1) / max(1, last)
            left = min(int(at), max(0, len(values) - 2))
            right = min(left + 1, len(values) - 1)
            value = values[left] + (values[right] - values[left]) * (at - left)
            self._gauges.append(Gauge(window.id, len(self._processes) - 1, name, value))
        return self

    def remembers(self, grown_bytes: int, *stack: str, released_bytes: int = 0) -> RunBuilder:
        """Resident memory grew (and shrank) over the run while the current thread was in ``stack``."""
        thread = len(self._threads) - 1
        self._memory.append(MemoryGrowth(thread, self._node(stack), grown_bytes, released_bytes))
        return self

    def torch_window(
        self,
        begun_s: float,
        ended_s: float,
        *,
        trace: bytes = b"",
        kind: str = "plain",
        fate: str = "written",
        updates: int = 10,
    ) -> RunBuilder:
        """torch's profiler was on in the last process; ``trace`` is what it wrote, gzipped."""
        process = len(self._processes) - 1
        number = sum(window.process == process for window in self._torch_windows)
        begun, ended = round(begun_s * SECOND), round(ended_s * SECOND)
        self._torch_windows.append(
            TorchWindow(process, number, kind, fate, begun, ended, updates, trace)
        )
        return self

    def reads(self, *sites: SyncSite) -> RunBuilder:
        """Places that read tensors on the host."""
        self._sync_sites += sites
        return self

    def sees(self, line: str, /, **operands: str | Sequence[str]) -> RunBuilder:
        """Looks at the values of a line, by operand with ``__`` for a dot: fields as ``name=value``, parted by
        spaces, or several of these, one for each look.
        """
        place = frame(line)
        for operand, looks in operands.items():
            told = [looks] if isinstance(looks, str) else looks
            for number, fields in enumerate(told):
                self._values.append(
                    SeenValue(
                        process=0,
                        file=place.file,
                        function=place.function,
                        line=place.line,
                        operand=operand.replace("__", "."),
                        first_us=number * SECOND,
                        last_us=number * SECOND,
                        looks=1,
                        fields=dict(field.split("=", 1) for field in fields.split(" ")),
                    )
                )
        return self

    def tries(self, *experiments: Experiment) -> RunBuilder:
        """Treatments that were switched on and off in turns."""
        self._experiments += experiments
        return self

    def source(self, file: str, text: str) -> RunBuilder:
        self._sources[file] = text
        return self

    def note(self, level: str, slug: str, text: str) -> RunBuilder:
        self._notes.append(Note(level, slug, text))
        return self

    def with_run(self, **changes: object) -> RunBuilder:
        self._run = replace(self._run, **changes)  # type: ignore[arg-type]
        return self

    def recording(self) -> Recording:
        clocks = tuple(
            ThreadClock(window, thread, wall, idle, 0, cpu, max(0, wall - idle - cpu))
            for (window, thread), (wall, idle, cpu) in sorted(self._clock.items())
        )
        return Recording(
            run=self._run,
            processes=tuple(self._processes),
            threads=tuple(self._threads),
            nodes=tuple(self._nodes),
            windows=self._windows,
            samples=self._samples,
            clocks=clocks,
            counters=tuple(self._counters),
            gauges=tuple(sorted(self._gauges)),
            memory=tuple(sorted(self._memory)),
            torch_windows=tuple(self._torch_windows),
            sync_sites=tuple(self._sync_sites),
            values=tuple(self._values),
            experiments=tuple(self._experiments),
            sources=self._sources,
            overhead={"samplers_cpu_us": 20_000, "recorder_cpu_us": 30_000, "probe_cpu_us": 5_000},
            notes=tuple(self._notes),
        )

    def _node(self, stack: tuple[str, ...]) -> int:
        parent = NO_PARENT
        for text in stack:
            key = (parent, frame(text))
            if key not in self._index:
                self._index[key] = len(self._nodes)
                self._nodes.append(Node(len(self._nodes), parent, key[1]))
            parent = self._index[key]
        return parent


def a_run(
    script: str = "train.py", *, start_up_s: float = 2.0, steady_s: float = 10.0
) -> RunBuilder:
    return RunBuilder(script, start_up_s=start_up_s, steady_s=steady_s)
