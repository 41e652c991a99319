"""The JSON report: its keys, in order. ``report.schema.json`` in the folder above is made from these.

Within a format version keys are only ever added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from rlprof.documents.json import Note, Number, means
from rlprof.model.activity import BoundBy
from rlprof.model.experiment import TreatmentKind, TryOutcome
from rlprof.model.finding import Confidence
from rlprof.model.profile import PhaseKind
from rlprof.renderers.json_report.usage import Compute, Memory, Resources, SyncSite, TorchWindow

NotNegative = Annotated[float, Meta(ge=0)] | None
Rank = Annotated[int, Meta(ge=1)]


class Interval(Struct, frozen=True):
    """A 95 % interval around the best guess."""

    median: Number
    low: Number
    high: Number


class Range(Struct, frozen=True):
    low: Number
    high: Number


# --- The run -------------------------------------------------------------------------------


class DeadWorker(Struct, frozen=True):
    pid: int
    role: str
    exit_code: Annotated[int, means("128+n for signal n.")]
    ended_s: Number


class Crash(Struct, frozen=True):
    exit_code: Annotated[int | None, means("Of the program; null where only workers died.")]
    workers: Annotated[Sequence[DeadWorker], means("In the order in which they died.")]
    before_steady: Annotated[
        bool, means("Whether nothing was steady before it: then there are no findings.")
    ]


class Hang(Struct, frozen=True):
    start_s: Number
    end_s: Number
    pid: int
    role: str
    kind: Annotated[str, means("What it waits in, as in `waits`.")]
    file: Annotated[str, means("Of the line that waits; empty when it is not known.")]
    line: int
    function: str
    for_the_dead: Annotated[bool, means("Whether a worker had died before.")]


class Run(Struct, frozen=True):
    id: str
    command: Annotated[Sequence[str], means("The target's argv.")]
    script: Annotated[str, means("Empty when the command is not a script.")]
    cwd: str
    started: Annotated[
        str, means("UTC, ISO 8601."), Meta(extra_json_schema={"format": "date-time"})
    ]
    wall_s: NotNegative
    left_out_s: Annotated[
        NotNegative,
        means(
            "Left out of every figure, for windows of torch's profiler slowed it: phases, hangs and windows are on a clock without it; processes live on that of `wall_s`."
        ),
    ]
    exit_code: Annotated[
        int | None,
        means("The target's own, 128+n for signal n; null when rlprof did not live to see it."),
    ]
    complete: Annotated[bool, means("False when the recording was cut off, or goes on.")]
    crash: Annotated[
        Crash | None, means("How the run ended badly; null when it ended well or was stopped.")
    ]
    hang: Annotated[
        Hang | None,
        means(
            "The longest stretch in which nobody worked: one process waits for a worker that died, or all for each other. No part of the steady phase; null, as nearly always, where there is none."
        ),
    ]
    label: str | None
    git: str | None
    host: Mapping[str, str]
    file: Annotated[str | None, means("The run file, when known.")]


class Rate(Struct, frozen=True):
    start_s: Number
    end_s: Number
    sps: Annotated[Number | None, means("Null where the rate is none of steps.")]
    rate: Annotated[Number, means("`unit` per second.")]


class Phase(Struct, frozen=True):
    kind: PhaseKind = field(name="name")
    start_s: Number
    end_s: Number


class Drift(Struct, frozen=True):
    first: Number
    last: Number


class Throughput(Struct, frozen=True):
    unit: Annotated[
        str,
        means(
            "`steps`; `updates` or `iterations` (of progress bars) where these stand in for steps that nothing counted; `none` when nothing was counted."
        ),
    ]
    source: Annotated[str, means("What counted the steps; `none` when nothing did.")]
    steady_sps: Annotated[
        Interval | None, means("Steps per second of the steady phase; null when it is not known.")
    ]
    steady_rate: Annotated[
        Interval | None,
        means("`unit` per second of the steady phase: of steps, the same as `steady_sps`."),
    ]
    drift: Annotated[
        Drift | None,
        means(
            "Rates of the first and of the last third of the steady phase; null where it is too short to tell. Where one is twice the other, sps_after is null."
        ),
    ]
    total_steps: NotNegative
    series: Sequence[Rate]
    phases: Sequence[Phase]


class Process(Struct, frozen=True):
    pid: int
    ppid: int
    role: str
    command: str
    python: Annotated[str, means("Empty when not a Python process, or not known.")]
    sampled: bool
    wall_s: Number
    cpu_s: Number
    requested_hz: Number
    achieved_hz: Annotated[Number, means("0 when seen for too short a time to tell.")]
    note: str
    phases: Annotated[
        Sequence[Phase], means("Its own start-up, then those phases of the run that it lives in.")
    ]


# --- Findings ------------------------------------------------------------------------------


class Location(Struct, frozen=True):
    file: str
    line: Annotated[int, Meta(ge=0)]
    function: str
    share: Annotated[Number, means("Of the critical time; of the run for a start-up finding.")]
    source: Annotated[str, means("Text of the line; empty when it is not in the run file.")]


class Finding(Struct, frozen=True):
    id: Annotated[str, means("Id of the detector: `rlprof explain ID` tells more.")]
    rank: Rank
    title: str
    phase: PhaseKind
    confidence: Confidence
    process_roles: Sequence[str]
    saved_share: Annotated[
        Range,
        means(
            "Saved by this fix alone, of steady wall time per step; of the whole run for a start-up finding."
        ),
    ]
    likely_share: Annotated[
        Number,
        means(
            "The likely value of saved_share: measured by a try, or that whose rate is the geometric mean of the rates at its ends."
        ),
    ]
    added_share: Annotated[
        Range,
        means(
            "What of it is saved besides the findings before it: the shares of several findings add up by it."
        ),
    ]
    sps_after: Annotated[
        Range | None,
        means(
            "Steps per second with the fix; null when sps is not known, drifts by factors, or is not what the fix changes."
        ),
    ]
    rate_after: Annotated[Range | None, means("The same in `unit` of the throughput per second.")]
    counted_in: Annotated[
        Rank | None,
        means(
            "Rank of the finding in `findings` whose price holds most of this one's time; null where that time is its own."
        ),
    ]
    saved_s: Annotated[
        Number, means("Seconds of this run that the fix saves: the middle of saved_s_range.")
    ]
    saved_s_range: Range
    locations: Annotated[Sequence[Location], means("The heaviest first.")]
    evidence: Sequence[str]
    fix: str
    docs: Annotated[str, means("The detector's page, from the root of the project.")]


# --- Experiments ---------------------------------------------------------------------------


class TriedPlace(Struct, frozen=True):
    file: str
    line: Annotated[int, Meta(ge=0)]
    function: str


class MeasuredShare(Struct, frozen=True):
    """Median over pairs of slots with and without the treatment, and its 90 % interval; below 0 it made steps slower."""

    median: Number
    low: Number
    high: Number


class Experiment(Struct, frozen=True):
    finding: Annotated[
        str,
        means(
            "Id of the detector whose finding was tried; empty for a treatment of the user's own."
        ),
    ]
    treatment: str
    kind: Annotated[
        TreatmentKind,
        means(
            "gain: the program's results stay as they are; ceiling: they change, and no fix saves more."
        ),
    ]
    outcome: TryOutcome
    predicted: Annotated[
        Range | None,
        means("Saved share as samples told it; null for a treatment of the user's own."),
    ]
    measured: Annotated[
        MeasuredShare | None, means("Null unless the outcome is measured or not-clear.")
    ]
    pairs: Annotated[int, Meta(ge=0)]
    slot_s: Annotated[Number, means("Length of a slot, the longest that was used.")]
    seconds: Annotated[Number, means("Wall time that the experiment took.")]
    note: Annotated[
        str, means("Why it was refused, or what the machine did meanwhile; empty for none.")
    ]
    location: Annotated[
        TriedPlace,
        means("The finding's heaviest line, or the place that the user gave."),
    ]


# --- Where time and memory went ------------------------------------------------------------


class Bound(Struct, frozen=True):
    kind: BoundBy
    pids: Sequence[int]
    share: Number
    text: str


class Component(Struct, frozen=True):
    name: str
    is_marked: bool = field(name="marked")
    share: Annotated[
        float,
        means(
            "Of the time, waits for a core left out: they, and other waits, are components of their own. All that are not marked add up to 1."
        ),
    ]
    priced_share: Annotated[
        float,
        means(
            "Of the critical time, its waits for a core with it, as findings and prices count it; 0 for marked ones."
        ),
    ]
    per_step_s: Annotated[Number, means("CPU time of all processes together per step.")] = field(
        name="cpu_per_step_s"
    )
    parallel: Annotated[float, means("Threads that do it side by side, at most the cores.")]
    ceiling_sps: Annotated[Number, means("Steps per second if all else were free.")]


class WaitedFor(Struct, frozen=True):
    pid: int
    role: str
    part: Annotated[float, means("Part of the wait in which it worked.")]


class Wait(Struct, frozen=True):
    pid: int
    role: str
    thread: Annotated[str, means("Empty for a main thread.")]
    kind: str
    share: Annotated[float, means("Of the steady phase.")]
    on: Sequence[WaitedFor]


class Overhead(Struct, frozen=True):
    samplers_cpu_s: Number
    recorder_cpu_s: Number
    probe_cpu_s: Number
    torch_windows_cpu_s: Number
    share_of_cores: Annotated[Number, means("CPU of rlprof over wall time times usable cores.")]


class Quality(Struct, frozen=True):
    overhead: Overhead
    notes: Sequence[Note]


class ReportDocument(Struct, frozen=True):
    """Document of `rlprof report --format json`. Within a version keys are only ever added: ignore those you do not know. Durations are in seconds, shares run from 0 to 1; a value that could not be measured is null."""

    format: Literal["rlprof-report"]
    version: Literal[1]
    """1: the first."""
    rlprof: Annotated[str, means("Version of rlprof that recorded the run.")]
    run: Run
    throughput: Throughput
    processes: Sequence[Process]
    findings: Annotated[Sequence[Finding], means("What is worth fixing, the dearest first.")]
    also_seen: Annotated[Sequence[Finding], means("Seen, and priced at nearly nothing.")]
    experiments: Annotated[
        Sequence[Experiment],
        means("Treatments that were switched on and off in turns, in the order of their ends."),
    ]
    bound_by: Annotated[Bound, means("What keeps the steady rate from being higher, in words too.")]
    components: Annotated[
        Sequence[Component],
        means(
            "Where the time of the steady phase goes: parts of training and waits, the largest first; before them those that the program marked by rlprof.phase."
        ),
    ]
    waits: Annotated[
        Sequence[Wait], means("The wait graph of the steady phase, the longest first.")
    ]
    resources: Annotated[
        Resources | None, means("CPU in the steady phase, in cores; null without one.")
    ]
    memory: Annotated[Memory | None, means("Memory of the run; null where no gauge told it.")]
    torch_windows: Annotated[
        Sequence[TorchWindow], means("Short stretches under torch's profiler.")
    ]
    compute: Annotated[
        Compute | None,
        means("Floating-point operations of updates; null without a window that has shapes."),
    ]
    sync_sites: Annotated[
        Sequence[SyncSite],
        means(
            "Lines that read tensors on the host or copy them to a GPU, the longest waits first."
        ),
    ]
    counters_per_step: Mapping[str, Number]
    quality: Quality
