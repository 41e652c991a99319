"""The names of gauges, and what becomes of each when windows merge."""

from __future__ import annotations

from typing import Final

CPU_US: Final = "cpu_us"
"""CPU time of all threads of the process in the window, those that run no Python included."""

RSS_BYTES: Final = "rss_bytes"
"""Resident memory. Pages that several processes share count in each of them."""

PEAK_RSS_BYTES: Final = "peak_rss_bytes"
"""The most that was resident since the process began, by the kernel's own count."""

PSS_BYTES: Final = "pss_bytes"
"""Resident memory, shared pages divided by their users: it adds up over processes. Every few
seconds only, and not of large processes."""

VIRTUAL_BYTES: Final = "virtual_bytes"
"""Addresses asked for, used or not."""

THREADS: Final = "threads"

VOLUNTARY_SWITCHES: Final = "voluntary_switches"
"""How often the main thread gave its CPU away, to wait."""

INVOLUNTARY_SWITCHES: Final = "involuntary_switches"
"""How often the kernel took the main thread's CPU for another."""

READ_BYTES: Final = "read_bytes"
"""From storage; not from the file cache, pipes or sockets."""

WRITTEN_BYTES: Final = "written_bytes"

AFFINITY_CORES: Final = "affinity_cores"
"""Processors that the process may use, where they are not those that the run may use."""

HOST_CPU_US: Final = "host_cpu_us"
"""CPU time of the whole machine in the window, of others than the run too."""

HOST_RUN_QUEUE: Final = "host_run_queue"
"""Threads of the whole machine that run or wait for a processor, ours among them."""

HOST_MEMORY_AVAILABLE_BYTES: Final = "host_memory_available_bytes"
"""Memory that could still be taken: the machine's, or less where a control group limits it."""

HOST_THROTTLED_US: Final = "host_throttled_us"
"""Time in which the control group's CPU quota kept it from running."""

OUTPUT_SPS: Final = "output_sps"
"""A rate that the program prints."""

GPU_UTILISATION: Final = "gpu:N:utilisation"
"""Part of the time in which some kernel ran, 0 to 1, of others than the run too. ``N`` in this name
and those below stands for the GPU's index: see ``of_gpu``."""

GPU_MEMORY_BYTES: Final = "gpu:N:memory_bytes"
"""Taken by all its users and by the driver."""

GPU_POWER_W: Final = "gpu:N:power_w"

GPU_CLOCK_MHZ: Final = "gpu:N:clock_mhz"
"""Clock of the multiprocessors (compute units)."""

GPU_TEMPERATURE_C: Final = "gpu:N:temperature_c"

GPU_THROTTLED_BY_HEAT: Final = "gpu:N:throttled_by_heat"
"""1 while the clock is lowered because it is too hot, else 0: its mean is a part of the time."""

GPU_THROTTLED_BY_POWER: Final = "gpu:N:throttled_by_power"
"""As above, to stay within the power limit."""

GPU_PROCESS_MEMORY_BYTES: Final = "gpu:N:process_memory_bytes"
"""Memory that one process holds on it, its CUDA context included."""

SUMMED: Final = frozenset(
    {
        CPU_US,
        VOLUNTARY_SWITCHES,
        INVOLUNTARY_SWITCHES,
        READ_BYTES,
        WRITTEN_BYTES,
        HOST_CPU_US,
        HOST_THROTTLED_US,
    }
)
"""Amounts within a window: they add up when windows merge."""

HIGHEST: Final = frozenset({PEAK_RSS_BYTES})
"""Gauges whose highest value is kept when windows merge."""

# All others are levels: merged windows keep their mean, weighted by the length of the windows.


def of_gpu(name: str, index: int) -> str:
    """``gpu:0:power_w`` of ``gpu:N:power_w``."""
    return name.replace(":N:", f":{index}:")


def gpu_of(name: str) -> int | None:
    """The index of the GPU that a gauge is of; None for all other gauges."""
    kind, _, rest = name.partition(":")
    index = rest.partition(":")[0]
    return int(index) if kind == "gpu" and index.isdecimal() else None
