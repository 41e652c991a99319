"""What a torch.profiler trace holds, as values: rows of the host and of the devices.

Times are microseconds as doubles, as in the file: their origin differs between versions of torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec


class RowArgs(msgspec.Struct, frozen=True, gc=False):
    """The arguments of a row that rlprof reads; what a row has not is the default."""

    correlation: int = 0
    """Joins a call on the host with its work on the device; a graph launch has many."""
    external_id: int = msgspec.field(default=0, name="External id")
    device: int = -1
    stream: int | str = -1
    bytes: int | str = 0
    kind: str | int = ""
    """Direction of a ROCm copy, on the row of the call: ``1`` to the device, ``2`` to the host."""
    python_id: int = msgspec.field(default=0, name="Python id")
    python_parent: int | None = msgspec.field(default=None, name="Python parent id")
    sequence: int = msgspec.field(default=-1, name="Sequence number")
    input_types: Sequence[str] = msgspec.field(default=(), name="Input type")
    call_stack: str = msgspec.field(default="", name="Call stack")
    """Of an op, in traces of torch before 1.12: ``file(line): function;...``, innermost first."""
    graph: int = msgspec.field(default=0, name="graph id")
    reserved_bytes: int = msgspec.field(default=0, name="Total Reserved")
    device_type: int = msgspec.field(default=0, name="Device Type")


NO_ARGS = RowArgs()


class Row(msgspec.Struct, frozen=True, gc=False):
    """One row of a trace, as written: an op, a call, a kernel, a Python frame."""

    name: str = ""
    ph: str = ""
    cat: str = ""
    ts: float = 0.0
    dur: float = 0.0
    pid: int | str = 0
    tid: int | str = 0
    args: RowArgs = NO_ARGS

    @property
    def end(self) -> float:
        return self.ts + self.dur

    @property
    def thread(self) -> tuple[int | str, int | str]:
        return self.pid, self.tid


class DeviceProperties(NamedTuple):
    """One GPU as the header describes it; NVIDIA's lists all of the machine, used or not."""

    id: int
    name: str
    memory_bytes: int
    compute: tuple[int, int]
    """Compute capability, (major, minor)."""
    multiprocessors: int


@dataclass(frozen=True, slots=True)
class TraceHeader:
    """What stands beside the rows."""

    devices: tuple[DeviceProperties, ...] = ()
    with_stack: bool = False
    record_shapes: bool = False
    profile_memory: bool = False
    is_rocm: bool = False
    base_ns: int = 0
    """Added to the times gives nanoseconds of the clock; 0 where the times are of the clock already."""
    rank: int | None = None
    """Of a distributed training."""


@dataclass(frozen=True, slots=True)
class Trace:
    """One trace. Rows of each kind are in the order of their start."""

    header: TraceHeader
    ops: Sequence[Row] = ()
    annotations: Sequence[Row] = ()
    """Regions that torch or the program named: ``ProfilerStep#3``, ``Optimizer.step#Adam.step``."""
    calls: Sequence[Row] = ()
    """CUDA and HIP calls of the host, runtime and driver."""
    python: Sequence[Row] = ()
    kernels: Sequence[Row] = ()
    copies: Sequence[Row] = ()
    memsets: Sequence[Row] = ()
    overheads: Sequence[Row] = ()
    """The profiler's own: buffers flushed, modules loaded."""
    memory: Sequence[Row] = ()
    launches_flowing: int = 0
    """Arrows from a launch to its work that begin: a launch whose work was lost has one, too."""
    window: tuple[float, float] | None = None
    """The recorded window, where the trace marks it."""
    rows: int = 0
    damage: tuple[str, ...] = ()
    """What was wrong with the file, in words."""
    source_bytes: int = 0
