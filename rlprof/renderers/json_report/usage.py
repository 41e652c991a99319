"""Usage of a run in the JSON report: CPUs, memory, GPUs, and torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct, field

from rlprof.documents.json import Number, means, one_of


class RoleUse(Struct, frozen=True):
    role: str
    processes: int
    cores: Number


class GpuProcess(Struct, frozen=True):
    pid: int
    role: str
    memory_bytes: Number


class Gpu(Struct, frozen=True):
    index: Annotated[int, means("As the driver counts, in the order of PCI addresses.")]
    name: str
    utilisation: Annotated[
        Number, means("Part of the steady phase in which some kernel ran, 0 to 1.")
    ]
    memory_bytes: Annotated[Number, means("Taken by all its users and by the driver.")]
    memory_total_bytes: Number
    power_w: Number
    power_limit_w: Number
    clock_share: Annotated[Number, means("Mean clock over the highest, 0 to 1.")]
    temperature_c: Number
    throttled_by_heat: Annotated[
        Number, means("Part of the steady phase in which the clock was lowered, 0 to 1.")
    ]
    throttled_by_power: Annotated[
        Number, means("Part of the steady phase in which the clock was lowered, 0 to 1.")
    ]
    processes: Sequence[GpuProcess]


class Resources(Struct, frozen=True):
    cores: Number
    used: Number = field(name="used_cores")
    queued: Number = field(name="queued_threads")
    native: Number = field(name="native_cores")
    saturated: bool
    by_role: Sequence[RoleUse]
    gpus: Annotated[
        Sequence[Gpu], means("GPUs in the steady phase; empty where none could be asked.")
    ]


class Trend(Struct, frozen=True):
    """Growth over the steady phase; null where it cannot be told."""

    bytes_per_hour: Number
    low: Number
    high: Number
    is_steady: Annotated[bool, means("Whether it grew all along and did not level off.")] = field(
        name="steady"
    )


class ProcessMemory(Struct, frozen=True):
    pid: int
    role: str
    peak_rss_bytes: Number
    peak_pss_bytes: Number
    trend: Trend | None = field(name="growth")


class GrownLine(Struct, frozen=True):
    file: str
    line: int
    function: str
    source: str
    grown_bytes: int
    share_of_growth: Number


class Memory(Struct, frozen=True):
    peak_bytes: Annotated[float, means("Most of all processes together.")]
    is_shared_out: Annotated[bool, means("If not, peak_bytes is an upper bound.")] = field(
        name="shared_counted_once"
    )
    trend: Trend | None = field(name="growth")
    bytes_per_step: Number
    processes: Sequence[ProcessMemory]
    lines: Annotated[
        Sequence[GrownLine], means("The user's lines on which memory was seen to have grown.")
    ]


# --- torch ---------------------------------------------------------------------------------


class Operation(Struct, frozen=True):
    name: str
    calls: Annotated[int, Meta(ge=1)]
    time_s: Number


class TorchWindow(Struct, frozen=True):
    pid: int
    role: str
    kind: Annotated[str, one_of("plain", "stacks", "rollout", "timed")]
    fate: Annotated[str, one_of("written", "given-up", "failed", "lost", "unreadable")]
    begun_s: Number
    cost_s: Annotated[Number, means("Until its trace was written.")]
    is_left_out: Annotated[bool, means("Of every figure of the report.")] = field(name="left_out")
    updates: int
    wall_s: Annotated[Number, means("Of the trace, as are the keys that follow.")]
    ops: int
    launches: int = field(name="kernel_launches")
    busy_share: Annotated[Number, means("Of the busiest GPU; null without rows of one.")] = field(
        name="gpu_busy_share"
    )
    optimizer: str
    compiling_s: Number
    gpu_idle: Annotated[
        Mapping[str, Number],
        means(
            "Part of the trace for which the busiest GPU had nothing to do, by cause; empty without rows of one."
        ),
    ]
    top_ops: Annotated[
        Sequence[Operation],
        means("Operations that the program called itself, by the host's time in them."),
    ] = field(name="heaviest_ops")
    top_kernels: Annotated[Sequence[Operation], means("By the time of the GPU in them.")] = field(
        name="heaviest_kernels"
    )


class Compute(Struct, frozen=True):
    flops_per_update: Number
    flops_per_s: Number
    precision: str
    device: str
    utilisation: Annotated[
        Number, means("Of the GPU's highest rate (MFU), 0 to 1; null where that is not known.")
    ]


class SyncSite(Struct, frozen=True):
    pid: int
    role: str
    file: str
    line: int
    function: str
    method: str
    device: Annotated[
        str, one_of("gpu", "cpu"), means("cpu: nothing was waited for; on a GPU it would be.")
    ]
    calls: int
    per_step: Annotated[
        Number,
        means(
            "Per update or iteration where that is the `unit` of the throughput; null without any."
        ),
    ]
    wait_s: Annotated[Number, means("In the calls. Waiting is not what could be saved.")]
    bytes: int
