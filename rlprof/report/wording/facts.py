"""Counters, facts of the machine and what befell torch in words; JSON keeps their own names."""

from __future__ import annotations

from typing import Final

from rlprof.model import counters
from rlprof.model.device import IdleCause
from rlprof.names import printable
from rlprof.report import wording

_COUNTERS: Final = {
    counters.UPDATES: "Updates",
    counters.BATCHES: "Batches",
    counters.ITERATIONS: "Iterations",
    counters.IPC_MESSAGES: "Messages sent",
    counters.IPC_BYTES: "Sent in messages",
    counters.LOG_RECORDS: "Log records",
    counters.CONFIG_ACCESSES: "Config accesses",
    counters.PROCESS_STARTS: "Process starts",
    counters.PROCESSES: "Python processes",
    counters.GC_COLLECTIONS: "Full GC runs",
    counters.GPU_SYNCS: "Waits for a GPU",
    counters.EVALUATION_STEPS: "Steps of evaluations",
    counters.WOULD_SYNC: "CPU tensors read",
    counters.H2D_BYTES: "Copied to GPUs",
    counters.D2H_BYTES: "Copied from GPUs",
    counters.KERNEL_LAUNCHES: "Kernel launches",
    counters.COMPILES: "Compilations",
}
"""Short, for they stand in a column of names."""

_HOST: Final = {
    "cpu_model": "Processor",
    "cores": "Cores of the machine",
    "usable_cores": "Cores it may use",
    "memory_bytes": "Memory of the machine",
    "system": "Operating system",
    "machine": "Architecture",
    "name": "Name of the machine",
    "gpu_driver": "GPU driver",
}

_GPU: Final = {
    "name": "model",
    "memory_bytes": "memory",
    "max_clock_mhz": "highest clock (MHz)",
    "power_limit_w": "power limit (W)",
}

IDLE_CAUSES: Final = {
    IdleCause.SYNC: "after a wait for a result",
    IdleCause.BLOCKING_COPY: "after a blocking copy",
    IdleCause.ALLOCATOR: "allocating device memory",
    IdleCause.DATA: "data, environments, Python outside of torch",
    IdleCause.COMPILE: "compiling",
    IdleCause.LAUNCH_BOUND: "the host inside of torch, launching",
    IdleCause.OTHER: "other",
}

WINDOW_FATES: Final = {
    "given-up": "given up: the program started a profiler of its own",
    "failed": "failed",
    "lost": "lost: the process ended in it",
    "unreadable": "not readable",
}
"""Fates of windows of torch's profiler that were not read."""

_NAME_LIMIT: Final = 40

_LEAST_FIGURE: Final = 0.01
"""Figure below which a rate per step is one of more steps: a smaller one is read as nothing."""

_LEAST_TOLD: Final = 0.001


def counter_name(name: str) -> str:
    return _COUNTERS.get(name) or printable(name, _NAME_LIMIT)


def counter_value(name: str, value: float) -> str:
    """``12 480``, ``3.0 KiB``; ``under 0.001`` of what would have a long row of zeros."""
    if 0 < value < _LEAST_TOLD:
        return f"under {_LEAST_TOLD:g}"
    if not name.endswith("_bytes"):
        return wording.count(value)
    return wording.size(value) if value >= 1024 else f"{value:.3g}{wording.GLUE}B"


def counter_per_step(name: str, value: float) -> str:
    """``2.1 per step``, ``0.066 per 1 000 steps``; empty for what hardly ever happens."""
    steps, of_what = steps_to_tell(value)
    told = value * steps
    return f"{counter_value(name, told)} per {of_what}" if told >= _LEAST_FIGURE else ""


def steps_to_tell(per_step: float) -> tuple[int, str]:
    """``1, "step"``, or ``1000, "1 000 steps"`` for what is too little to read of one."""
    return (1, "step") if per_step >= _LEAST_FIGURE else (1000, f"1{wording.GLUE}000 steps")


def host_name(key: str) -> str:
    """``Processor``; ``GPU 0 memory`` for ``gpu:0:memory_bytes``."""
    if key.startswith("gpu:"):
        _, index, fact = [*key.split(":", 2), "", ""][:3]
        words = _GPU.get(fact, fact.replace("_", " "))
        return printable(f"GPU {index} {words}", _NAME_LIMIT).rstrip()
    return _HOST.get(key) or printable(key.replace("_", " "), _NAME_LIMIT)


def host_value(key: str, value: str) -> str:
    is_size = key.endswith("_bytes") and value.isdecimal()
    return wording.size(int(value)) if is_size else value
