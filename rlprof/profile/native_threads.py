"""Threads that run no Python, and use of GPUs.

The sampler sees Python threads alone. The kernel counts all threads of a process. The rest is native.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import isfinite

from rlprof.model import gauges as names
from rlprof.model.profile import GpuUse
from rlprof.model.recording import Recording
from rlprof.model.threads import ThreadUse
from rlprof.pace.steady_gauges import SteadyGauges
from rlprof.pace.steps import Span


def measure_threads(recording: Recording, steady: Span | None) -> ThreadUse | None:
    """Threads in the windows of ``steady``; None without a steady phase or without gauges."""
    if steady is None:
        return None
    gauges = SteadyGauges(recording, steady)
    counted = gauges.levels(names.THREADS)
    if not counted:
        return None
    python: dict[int, int] = defaultdict(int)
    for clock in recording.clocks:
        if steady.first <= clock.window <= steady.last:
            python[recording.threads[clock.thread].process] += 1
    return ThreadUse(
        native={
            process: max(
                0.0, threads - python[process] / max(1, gauges.seen(names.THREADS, process))
            )
            for process, threads in counted.items()
        },
        host_run_queue=gauges.levels(names.HOST_RUN_QUEUE).get(0),
    )


def measure_gpus(recording: Recording, steady: Span | None) -> tuple[GpuUse, ...]:
    """In order of their indices; empty without a steady phase or without gauges of GPUs.

    Of all that the run might have used, those on which its processes held memory; where the driver
    does not tell who holds what, all of them.
    """
    if steady is None:
        return ()
    gauges = SteadyGauges(recording, steady)
    indices = {index for name in gauges.names if (index := names.gpu_of(name)) is not None}
    found = [_gpu_use(index, gauges, recording.run.host) for index in sorted(indices)]
    used = [gpu for gpu in found if gpu.process_bytes]
    return tuple(used or found)


def _gpu_use(index: int, gauges: SteadyGauges, host: Mapping[str, str]) -> GpuUse:
    def level(name: str) -> float | None:
        return gauges.levels(names.of_gpu(name, index)).get(0)

    held = gauges.levels(names.of_gpu(names.GPU_PROCESS_MEMORY_BYTES, index))
    clock, most = level(names.GPU_CLOCK_MHZ), _fact(host, index, "max_clock_mhz")
    return GpuUse(
        index=index,
        name=host.get(f"gpu:{index}:name", ""),
        utilisation=level(names.GPU_UTILISATION),
        memory_bytes=level(names.GPU_MEMORY_BYTES),
        memory_total_bytes=_fact(host, index, "memory_bytes"),
        power_w=level(names.GPU_POWER_W),
        power_limit_w=_fact(host, index, "power_limit_w"),
        clock_share=clock / most if clock is not None and most else None,
        temperature_c=level(names.GPU_TEMPERATURE_C),
        throttled_by_heat=level(names.GPU_THROTTLED_BY_HEAT),
        throttled_by_power=level(names.GPU_THROTTLED_BY_POWER),
        process_bytes=tuple(sorted(held.items(), key=lambda item: (-item[1], item[0]))),
    )


def _fact(host: Mapping[str, str], index: int, name: str) -> float | None:
    """A number of the host's facts; None where it is not known."""
    try:
        found = float(host[f"gpu:{index}:{name}"])
    except (KeyError, ValueError):
        return None
    return found if isfinite(found) else None
