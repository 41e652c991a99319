"""Small builders of reports that read like the story they tell.

report = a_report(
    sps=657,
    findings=[a_finding("omegaconf-in-loop", saves=(0.82, 0.87), sps_after=(3400, 4100))],
)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rlprof.model.activity import Bound, BoundBy, Component
from rlprof.model.detail import Detail, Excerpt, Slice, TimeSeries
from rlprof.model.experiment import Experiment, TryOutcome
from rlprof.model.finding import Confidence, Finding, Location, PricedFinding, Range
from rlprof.model.flame import Flame, FlameFrame
from rlprof.model.memory import GrownLine, MemoryTrend, MemoryView, ProcessMemory
from rlprof.model.profile import GpuUse, Interval, Phase, PhaseKind, Throughput
from rlprof.model.recording import NO_PARENT, Frame, Node, Note, RunInfo, Samples, Thread
from rlprof.model.report import (
    Overhead,
    ProcessRow,
    Report,
    Resources,
    SyncSiteRow,
    TorchWindowRow,
    WaitRow,
)
from tests.experiment_factory import (
    a_ceiling,
    a_failed_experiment,
    a_gain,
    a_treatment_of_the_user,
)

SECOND = 1_000_000


def a_location(
    place: str = "/home/researcher/project/bandit/env.py:42",
    function: str = "step",
    *,
    share: float = 0.83,
    source: str = "reward = self.cfg.env.reward_scale * self.rng.normal()",
) -> Location:
    file, _, line = place.rpartition(":")
    return Location(file, int(line), function, share, source)


def a_finding(
    detector: str = "omegaconf-in-loop",
    title: str = "OmegaConf nodes are read in the hot loop",
    *,
    rank: int = 1,
    saves: tuple[float, float] = (0.82, 0.87),
    sps_after: tuple[float, float] | None = (3_400.0, 4_100.0),
    saved_s: tuple[float, float] = (8.2, 8.7),
    phase: PhaseKind = PhaseKind.STEADY,
    confidence: Confidence = Confidence.MEASURED,
    locations: Sequence[Location] | None = None,
    evidence: Sequence[str] = (
        "83 % of the main thread's busy time lies below this line, in omegaconf",
        "self.cfg.env is a DictConfig: each dot resolves, validates and copies a node",
    ),
    fix: str = "Read the values once, before the loop, into locals or a dataclass: "
    "reward_scale = float(cfg.env.reward_scale).",
    roles: tuple[str, ...] = ("main",),
) -> PricedFinding:
    found = tuple(locations) if locations is not None else (a_location(),)
    return PricedFinding(
        finding=Finding(
            title, (), found, tuple(evidence), fix, confidence, detector=detector, phase=phase
        ),
        rank=rank,
        saved_share=Range(*saves),
        sps_after=Range(*sps_after) if sps_after else None,
        saved_us=Range(saved_s[0] * SECOND, saved_s[1] * SECOND),
        process_roles=roles,
    )


def a_tried_finding(
    *, saves: tuple[float, float, float] = (0.40, 0.38, 0.45), **how: Any
) -> PricedFinding:
    """``saves`` is the median of the pairs, and its interval."""
    median, low, high = saves
    after = (657 / (1 - low), 657 / (1 - high))
    how = {"saves": (low, high), "sps_after": after, "confidence": Confidence.TRIED, **how}
    return replace(a_finding(**how), tried_share=median)


def a_hot_spot(
    place: str, source: str = "", *, rank: int = 2, share: float = 0.06
) -> PricedFinding:
    return a_finding(
        "hot-spot",
        "Heavy line with no known cause",
        rank=rank,
        saves=(0.0, share),
        sps_after=None,
        saved_s=(0.0, share * 10),
        confidence=Confidence.SUSPECTED,
        locations=[a_location(place, "update", share=share, source=source)],
        evidence=(),
        fix="Look at this line.",
    )


def a_process(
    pid: int = 1000, role: str = "main", *, sampled: bool = True, note: str = "", **changes: Any
) -> ProcessRow:
    values: dict[str, Any] = {
        "pid": pid,
        "ppid": 1 if role == "main" else 1000,
        "role": role,
        "command": "python train.py",
        "python": "3.11.7",
        "sampled": sampled,
        "wall_s": 12.0,
        "cpu_s": 11.4,
        "requested_hz": 100.0,
        "achieved_hz": 98.5 if sampled else 0.0,
        "note": note,
        "phases": (
            Phase(PhaseKind.START_UP, 0, 2 * SECOND),
            Phase(PhaseKind.STEADY, 2 * SECOND, 12 * SECOND),
        ),
    }
    return ProcessRow(**{**values, **changes})


def a_gpu(index: int = 0, **changes: Any) -> GpuUse:
    """A GPU of which everything is known, on which the first process holds 11 GiB."""
    values: dict[str, Any] = {
        "name": "NVIDIA H200",
        "utilisation": 0.37,
        "memory_bytes": 12.0 * 2**30,
        "memory_total_bytes": 140.0 * 2**30,
        "power_w": 310.4,
        "power_limit_w": 700.0,
        "clock_share": 0.95,
        "temperature_c": 61.0,
        "throttled_by_heat": 0.0,
        "throttled_by_power": 0.12,
        "process_bytes": ((0, 11.0 * 2**30),),
    }
    return GpuUse(index, **{**values, **changes})


def a_torch_window(**changes: Any) -> TorchWindowRow:
    row: dict[str, Any] = {
        "pid": 10,
        "role": "main",
        "kind": "plain",
        "fate": "written",
        "begun_s": 5.0,
        "cost_s": 0.02,
        "is_left_out": True,
        "updates": 10,
        "wall_s": 0.012,
        "ops": 3030,
        "launches": 0,
        "busy_share": None,
        "optimizer": "Adam (for-loop)",
        "compiling_s": 0.0,
    }
    return TorchWindowRow(**{**row, **changes})


def a_sync_site(**changes: Any) -> SyncSiteRow:
    row: dict[str, Any] = {
        "pid": 10,
        "role": "main",
        "file": f"{HOME}/train.py",
        "line": 11,
        "function": "act",
        "method": "item",
        "device": "cpu",
        "calls": 16_000,
        "per_step": 1.0,
        "wait_s": 0.0,
        "bytes": 0,
    }
    return SyncSiteRow(**{**row, **changes})


def a_report_with_gpus(*gpus: GpuUse) -> Report:
    return a_report(seen={"resources": Resources(8, 3.4, 0.2, 0.0, False, (), gpus)})


def a_flame(*stacks: tuple[float, str], metric: str = "wall", title: str = "train.py") -> Flame:
    """A flame of one process with one thread; each stack is (seconds, "a > b > c").

    A frame is ``function file:line kind``; a trailing ``~`` on a stack says it was waiting.
    """
    boxes: list[list[Any]] = [
        [-1, 0, "train.py", "", 0, "root", 0, 0],
        [0, 1, "train.py (pid 1000)", "", 0, "process", 0, 0],
        [1, 2, "MainThread", "", 0, "thread", 0, 0],
    ]
    index: dict[tuple[int, str], int] = {}
    for seconds, text in stacks:
        waiting = text.endswith("~")
        path = [0, 1, 2]
        for part in text.rstrip("~ ").split(" > "):
            parent = path[-1]
            if (parent, part) not in index:
                function, place, kind = part.split(" ")
                file, _, line = place.rpartition(":")
                index[parent, part] = len(boxes)
                boxes.append([parent, len(path), function, file, int(line), kind, 0, 0])
            path.append(index[parent, part])
        for box in path:
            boxes[box][6] += round(seconds * SECOND)
            boxes[box][7] += round(seconds * SECOND) if waiting else 0
    frames = tuple(
        FlameFrame(parent, depth, label, file, line, kind, wall, idle, wall - idle)
        for parent, depth, label, file, line, kind, wall, idle in _preorder(boxes)
    )
    return Flame(title=title, metric=metric, selection="", frames=frames)


def _preorder(boxes: list[list[Any]]) -> list[list[Any]]:
    children: dict[int, list[int]] = {}
    for number, box in enumerate(boxes):
        children.setdefault(box[0], []).append(number)
    ordered: list[list[Any]] = []
    pending = [(0, -1)]
    while pending:
        number, parent = pending.pop()
        position = len(ordered)
        ordered.append([parent, *boxes[number][1:]])
        below = sorted(children.get(number, ()), key=lambda n: (boxes[n][2], boxes[n][4]))
        pending.extend((child, position) for child in reversed(below))
    return ordered


HOME = "/home/researcher/project"
SITE = f"{HOME}/.venv/lib/python3.11/site-packages"
LIB = "/usr/lib/python3.11"


def a_bandit_flame() -> Flame:
    main = f"<module> {HOME}/train.py:31 yours > train {HOME}/train.py:12 yours"
    read = f"step {HOME}/bandit/env.py:42 yours > __getattr__ {SITE}/omegaconf/dictconfig.py:355 library"
    return a_flame(
        (3.1, f"{main} > {read} > _get_impl {SITE}/omegaconf/dictconfig.py:442 library"),
        (2.4, f"{main} > {read} > _resolve {SITE}/omegaconf/base.py:717 library"),
        (1.2, f"{main} > {read} > deepcopy {LIB}/copy.py:146 stdlib"),
        (1.6, f"{main} > choose {HOME}/bandit/agent.py:27 yours > argmax {HOME}/bandit/agent.py:9 yours"),
        (0.9, f"{main} > collect {HOME}/train.py:20 yours > recv {LIB}/multiprocessing/connection.py:250 stdlib ~"),
        (1.9, f"<module> {HOME}/train.py:3 yours > _find_and_load <frozen_importlib._bootstrap>:1176 stdlib"),
        (0.4, f"{main} > garbage-collection :0 runtime"),
    )  # fmt: skip


def a_detail(
    *steady: tuple[str, float, str],
    start_up: Sequence[tuple[str, float, str]] = (),
    **changes: Any,
) -> Detail:
    """Slices of one second, of which the first 2 are start-up and the last 10 steady.

    Each stack is ("0 MainThread", seconds, "a > b > c"): the place of its process in the report and
    the thread, the time over the whole phase, spread evenly, and the frames as for ``a_flame``. What
    does not wait is on a CPU for nine tenths.
    """
    slices = tuple(
        Slice(n * SECOND, (n + 1) * SECOND, PhaseKind.START_UP if n < 2 else PhaseKind.STEADY)
        for n in range(12)
    )
    threads: dict[str, Thread] = {}
    nodes: dict[tuple[int, Frame], Node] = {}
    rows = []
    for stacks, window_numbers in ((start_up, range(2)), (steady, range(2, 12))):
        for thread_name, seconds, text in stacks:
            thread = threads.setdefault(thread_name, _a_thread(len(threads), thread_name))
            node = _a_node(nodes, text)
            wall = round(seconds * SECOND / len(window_numbers))
            idle = wall if text.endswith("~") else 0
            cpu = (wall - idle) * 9 // 10
            rows += [(window, thread.id, node, wall, idle, cpu) for window in window_numbers]
    samples = Samples()
    for row in sorted(rows):
        samples.add(*row)
    values: dict[str, Any] = {
        "slices": slices,
        "threads": tuple(threads.values()),
        "nodes": tuple(nodes.values()),
        "samples": samples,
        "points_us": tuple((part.start_us, part.end_us) for part in slices),
        **changes,
    }
    return Detail(**values)


def _a_thread(number: int, text: str) -> Thread:
    process, _, name = text.partition(" ")
    is_main = name == "MainThread"
    return Thread(
        number, int(process), 1000 + int(process) if is_main else 5000 + number, name, is_main
    )


def _a_node(nodes: dict[tuple[int, Frame], Node], text: str) -> int:
    parent = NO_PARENT
    for part in text.rstrip("~ ").split(" > "):
        function, place, _ = part.split(" ")
        file, _, line = place.rpartition(":")
        key = (parent, Frame(file, function, int(line)))
        parent = nodes.setdefault(key, Node(len(nodes), *key)).id
    return parent


def a_bandit_detail() -> Detail:
    """Where the time of ``a_story`` went: its main process as in ``a_bandit_flame``, and two workers."""
    main = f"<module> {HOME}/train.py:31 yours > train {HOME}/train.py:12 yours"
    read = f"step {HOME}/bandit/env.py:42 yours > __getattr__ {SITE}/omegaconf/dictconfig.py:355 library"
    work = f"<module> {HOME}/train.py:31 yours > work {HOME}/bandit/worker.py:17 yours"
    detail = a_detail(
        ("0 MainThread", 3.1, f"{main} > {read} > _get_impl {SITE}/omegaconf/dictconfig.py:442 library"),
        ("0 MainThread", 2.4, f"{main} > {read} > _resolve {SITE}/omegaconf/base.py:717 library"),
        ("0 MainThread", 1.2, f"{main} > {read} > deepcopy {LIB}/copy.py:146 stdlib"),
        ("0 MainThread", 1.6, f"{main} > choose {HOME}/bandit/agent.py:27 yours > argmax {HOME}/bandit/agent.py:9 yours"),
        ("0 MainThread", 0.9, f"{main} > collect {HOME}/train.py:20 yours > recv {LIB}/multiprocessing/connection.py:250 stdlib ~"),
        ("0 MainThread", 0.4, f"{main} > :GC: :0 runtime"),
        ("0 writer", 9.8, f"write {HOME}/bandit/log.py:8 yours ~"),
        ("1 MainThread", 6.7, f"{work} > recv {LIB}/multiprocessing/connection.py:250 stdlib ~"),
        ("1 MainThread", 3.1, f"{work} > pull {HOME}/bandit/worker.py:31 yours"),
        ("2 MainThread", 6.6, f"{work} > recv {LIB}/multiprocessing/connection.py:250 stdlib ~"),
        ("2 MainThread", 3.2, f"{work} > pull {HOME}/bandit/worker.py:31 yours"),
        start_up=[("0 MainThread", 1.9, f"<module> {HOME}/train.py:3 yours > _find_and_load <frozen_importlib._bootstrap>:1176 stdlib")],
        steady_steps=6570.0,
        series=(
            TimeSeries("rate", "sps", "sps", (None, None, *(657.0 + n % 3 for n in range(10)))),
            TimeSeries("cores", "worker", "cores", (0.0, 0.4, *(2.5 + n % 2 / 10 for n in range(10)))),
            TimeSeries("cores", "main", "cores", (0.9,) * 12),
            TimeSeries("memory", "main", "bytes", tuple(4e8 + n * 7e7 for n in range(12))),
            TimeSeries("gpu", "GPU 0", "share", (None, None, *(0.37,) * 10)),
        ),
        excerpts={
            (f"{HOME}/bandit/env.py", 42): Excerpt(
                40,
                (
                    "    def step(self, action):",
                    "        self.steps += 1",
                    "        reward = self.cfg.env.reward_scale * self.rng.normal()",
                    "        return reward, self.steps >= self.limit",
                ),
            )
        },
    )  # fmt: skip
    touched = [
        frozenset(node.id for node in detail.nodes if "/omegaconf/" in node.frame.file),
        frozenset(node.id for node in detail.nodes if node.frame.function == "argmax"),
    ]
    return replace(detail, finding_nodes=((1, touched[0]), (3, touched[1])))


def a_report(
    *,
    sps: float | None = 657.0,
    findings: Sequence[PricedFinding] = (),
    also_seen: Sequence[PricedFinding] = (),
    processes: Sequence[ProcessRow] | None = None,
    notes: Sequence[Note] = (),
    flame: Flame | None = None,
    seen: Mapping[str, Any] | None = None,
    **run_changes: Any,
) -> Report:
    """A run of 12 s, the first 2 of them start-up; ``sps=None`` is one whose steps were not counted.

    ``seen``: further fields of the report, such as ``components``.
    """
    run: dict[str, Any] = {
        "id": "0123456789abcdef",
        "command": ("python", "train.py", "seed=1"),
        "script": "train.py",
        "cwd": HOME,
        "started_unix_s": 1_700_000_000.0,
        "wall_us": 12 * SECOND,
        "exit_code": 0,
        "complete": True,
        "host": {"cores": "8", "cpu_model": "Test CPU"},
        "rlprof_version": "0.0.0",
    }
    counted = sps is not None
    return Report(
        run=RunInfo(**{**run, **run_changes}),
        throughput=Throughput(
            unit="steps" if counted else "none",
            source="rlprof.step" if counted else "none",
            steady_sps=Interval(sps, sps * 0.974, sps * 1.02) if sps is not None else None,
            total_steps=sps * 10 if sps is not None else 0,
        ),
        phases=(
            Phase(PhaseKind.START_UP, 0, 2 * SECOND),
            Phase(PhaseKind.STEADY, 2 * SECOND, 12 * SECOND),
        ),
        processes=tuple(processes) if processes is not None else (a_process(),),
        findings=tuple(findings),
        also_seen=tuple(also_seen),
        overhead=Overhead(0.02, 0.03, 0.005, 0.0, 0.0006),
        notes=tuple(notes),
        flame=flame or a_bandit_flame(),
        run_file=".rlprof/run.rlprof",
        **(seen or {}),
    )


def a_story() -> Report:
    """A bandit with a known cause, a hot line without one, workers, and things that were not seen."""
    workers = [
        a_process(
            1001 + n, "worker", command="python -c from multiprocessing.spawn", cpu_s=3.1 + n / 10
        )
        for n in range(8)
    ]
    lost = a_process(2000, "worker", sampled=False, note="ended before the sampler could attach")
    return a_report(
        findings=[
            a_finding(),
            a_finding(
                "eager-log-format",
                "An f-string is formatted for a log record that nobody reads",
                rank=2,
                saves=(0.041, 0.052),
                sps_after=(680.0, 695.0),
                saved_s=(0.4, 0.5),
                confidence=Confidence.BOUNDED,
                locations=[
                    a_location(
                        f"{HOME}/bandit/agent.py:31",
                        "choose",
                        share=0.06,
                        source='logger.debug(f"estimates {self.estimates}")',
                    )
                ],
                evidence=("the logger's level was WARNING in all of the samples",),
                fix='Let logging format it: logger.debug("estimates %s", self.estimates).',
            ),
            a_hot_spot(f"{HOME}/bandit/agent.py:27", "best = argmax(self.estimates)", rank=3, share=0.12),
            a_hot_spot(f"{SITE}/numpy/random/_generator.py:88", rank=4, share=0.04),
        ],
        also_seen=[
            a_finding(
                "array-conversion-in-loop",
                "A list is turned into an array at every step",
                rank=5,
                saves=(0.0, 0.004),
                sps_after=None,
                saved_s=(0.0, 0.04),
            )
        ],
        processes=[a_process(), *workers, lost],
        seen={
            "bound": Bound(BoundBy.PROCESS, (0,), 0.93, "the main process (pid 1000), working 93 % of the time"),
            "components": (
                Component("rollout", 0.71, 1_100.0, 1, 909.0, is_marked=True),
                Component("environment", 0.66, 1_010.0, 1, 990.0),
                Component("inference", 0.2, 300.0, 1, 3_333.0),
                Component("IPC wait", 0.08, 0.0, 0, None),
                Component("other", 0.06, 90.0, 1, 11_111.0),
            ),
            "waits": (
                WaitRow(1001, "worker", "", "pipe", 0.67, ((1000, "main", 0.93),)),
                WaitRow(1000, "main", "", "pipe", 0.3, tuple((1001 + n, "worker", 0.4) for n in range(8))),
            ),
            "memory": MemoryView(
                peak_bytes=3.1e9,
                is_shared_out=True,
                processes=(
                    ProcessMemory(0, "main", 1.2e9, 1.1e9, MemoryTrend(2.4e9, 2.2e9, 2.6e9, 6.6e6, True)),
                    ProcessMemory(1, "worker", 2.5e8, None, None),
                ),
                trend=MemoryTrend(2.4e9, 2.2e9, 2.6e9, 6.6e6, True),
                is_growing=True,
                bytes_per_step=1015.0,
                lines=(GrownLine(f"{HOME}/train.py", 20, "collect", "self.episodes.append(episode)", 6_000_000, 0.9, 0.1),),
            ),
            "resources": Resources(8, 3.4, 0.2, 0.0, False, (("worker", 8, 2.5), ("main", 1, 0.9))),
            "detail": a_bandit_detail(),
        },
        notes=[
            Note("warning", "process-missed", "Process 2000 was not sampled: it ended before the sampler could attach."),
            Note("info", "torn-stacks", "4.1 % of the busy time of process 1000 has no whole stack; the probe fills it in."),
        ],
    )  # fmt: skip


def experiments_of_all_kinds() -> tuple[Experiment, ...]:
    """A gain, a ceiling, one that was not clear, and one that was refused."""
    return (
        a_gain("omegaconf-in-loop", f"{HOME}/bandit/env.py:42 step"),
        a_ceiling(
            "eager-log-format",
            f"{HOME}/bandit/agent.py:31 choose",
            told=(0.041, 0.052),
            saves=(0.3, 0.28, 0.35),
        ),
        a_treatment_of_the_user(
            "train:publish", saves=(0.01, -0.1, 0.12), outcome=TryOutcome.NOT_CLEAR
        ),
        a_failed_experiment(
            TryOutcome.REFUSED,
            "array-conversion-in-loop",
            f"{HOME}/bandit/env.py:42 step",
            note="The function was compiled by torch.compile.",
        ),
    )


def a_tried_story() -> Report:
    """The story, told by ``rlprof try``: its first finding has been measured."""
    story = a_story()
    return replace(
        story,
        findings=(a_tried_finding(), *story.findings[1:]),
        experiments=experiments_of_all_kinds(),
    )
