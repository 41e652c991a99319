"""Tell what ran on the devices: how short, of what kind, and how long after its launch."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final

from rlprof.device.timeline import SHORT_KERNEL_US
from rlprof.model.trace import Row, Trace

FP32_MATMUL: Final = re.compile(
    r"^(?!.*(tf32|tensorop|884|1688|16816|half|fp16|bf16))"
    r".*((?<!bla)sgemm|ffma|_simt_s|gemm.*_fp32_|scudnn)",
    re.I,
)
"""Without tensor cores. ``cublasGemv`` is no ``sgemm``: it is bound by memory."""

FP64: Final = re.compile(r"dgemm|(?<!optional)<double\b|lambda\(double\b", re.I)
"""By the type of the elements: scalars are double in kernels of any precision."""

ELEMENTWISE: Final = re.compile(r"elementwise", re.I)

COMMUNICATION: Final = re.compile(r"nccl|rccl", re.I)

_FAMILIES: Final = {
    "fp32 matmul": FP32_MATMUL,
    "fp64": FP64,
    "half precision matmul": re.compile(
        r"(?<![a-z])(h|bf|fp)?1?6?.*(884|1688|16816|hgemm|bf16|f16f16|tensorop)", re.I
    ),
    "elementwise": re.compile(r"elementwise|vectorized|unrolled|index_kernel|CatArray", re.I),
    "multi-tensor": re.compile(r"multi_tensor", re.I),
    "communication": COMMUNICATION,
    "compiled": re.compile(r"^triton", re.I),
}


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """All kernels of a trace. Times in µs."""

    count: int
    launches: int
    """Calls that launched them; a graph launches many at once."""
    lost_launches: int
    """Without a row of the device."""
    total_us: float
    median_us: float
    short_share: float
    """Share of the kernels under ``SHORT_KERNEL_US``."""
    median_delay_us: float
    """From the end of the launch to the start on the device: near nothing where it waits for work."""
    families: Mapping[str, float]
    """Part of the kernels' time by kind, told from their names; one may be of several."""
    heaviest: tuple[tuple[str, int, float], ...]
    """(name, count, µs), the heaviest first."""


_SHOWN: Final = 5


def kernels_named(trace: Trace, pattern: re.Pattern[str]) -> list[Row]:
    """The kernels whose name has ``pattern``, in order."""
    names = {name for name in {kernel.name for kernel in trace.kernels} if pattern.search(name)}
    return [kernel for kernel in trace.kernels if kernel.name in names] if names else []


def describe_kernels(trace: Trace, launches: Mapping[int, float]) -> KernelFacts:
    """``launches``: end of each call that launches, by correlation."""
    times: dict[str, list[float]] = defaultdict(list)
    delays = []
    seen = set()
    for kernel in trace.kernels:
        times[kernel.name].append(kernel.dur)
        launched = launches.get(kernel.args.correlation)
        if launched is not None:
            seen.add(kernel.args.correlation)
            delays.append(max(0.0, kernel.ts - launched))
    durations = [kernel.dur for kernel in trace.kernels]
    total = sum(durations)
    ranked = sorted(times.items(), key=lambda item: (-sum(item[1]), item[0]))[:_SHOWN]
    return KernelFacts(
        count=len(durations),
        launches=len(launches),
        lost_launches=len(launches) - len(seen),
        total_us=total,
        median_us=median(durations) if durations else 0.0,
        short_share=sum(us < SHORT_KERNEL_US for us in durations) / max(1, len(durations)),
        median_delay_us=median(delays) if delays else 0.0,
        families={
            family: sum(sum(us) for name, us in times.items() if pattern.search(name)) / total
            for family, pattern in _FAMILIES.items()
        }
        if total
        else {},
        heaviest=tuple((name, len(us), sum(us)) for name, us in ranked),
    )
