"""Tell what a torch.profiler trace holds, as values: rows of the host and of the devices.

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
    device: int = -1
    stream: int | str = -1
    bytes: int | str = 0
    kind: str | int = ""
    """Direction of a ROCm copy, on the row of the call: ``1`` to the device, ``2`` to the host."""
    call_stack: str = msgspec.field(default="", name="Call stack")
    """Call stack of an op, in traces of torch before 1.12: ``file(line): function;...``, innermost first."""
    sequence: int = msgspec.field(default=-1, name="Sequence number")
    """Number of an op that autograd records: the op of the backward that belongs to it has the same."""


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
    compute_major: int = 0
    """Major number of NVIDIA's compute capability: 7 for Volta and Turing, 8 for Ampere; 0 where it is not told."""


@dataclass(frozen=True, slots=True)
class TraceHeader:
    """Facts that stand beside the rows."""

    devices: tuple[DeviceProperties, ...] = ()
    with_stack: bool = False
    is_rocm: bool = False


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
    rows: int = 0
    damage: tuple[str, ...] = ()
    """Faults of the file, in words."""
    source_bytes: int = 0
