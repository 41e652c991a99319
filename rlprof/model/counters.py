"""The names under which a recording counts; those of libraries' steps stand in ``rlprof/libraries/``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

STEPS: Final = "steps"
"""Steps told by ``rlprof.step``."""

STEPS_CUSTOM: Final = "steps:custom"
"""Calls of the target of ``--steps-from``, times its ``num_envs``."""

STEPS_RECOGNISED: Final = "steps:recognised"
"""Steps of an environment of the program's own, which was recognised by how it is used and by what it returns."""

EVALUATION_STEPS: Final = "evaluation_steps"
"""Steps in evaluations that a library makes by itself: none of the training's, whose counters leave them out."""

OUTPUT_STEPS: Final = "output_steps"
"""Growth of a step count that the program prints."""

UPDATES: Final = "updates"
"""Steps of torch optimizers."""

ITERATIONS: Final = "iterations:tqdm"
"""Iterations done, as bars of tqdm were told."""

BATCHES: Final = "batches"
"""Batches that a torch ``DataLoader`` handed out."""

IPC_MESSAGES: Final = "ipc_messages"
"""Messages sent through connections of ``multiprocessing``; its queues and pipes are such."""

IPC_BYTES: Final = "ipc_bytes"
"""Bytes of those messages."""

LOG_RECORDS: Final = "log_records"
"""Records that ``logging`` handled: those below the level are none."""

CONFIG_ACCESSES: Final = "config_accesses"
"""Values read from configurations of OmegaConf or ml_collections."""

PROCESS_STARTS: Final = "process_starts"
"""Processes of any program that Python processes of the run started."""

PROCESSES: Final = "processes"
"""Python processes of a run, whoever started them: of a check alone, which counts them itself."""

GC_COLLECTIONS: Final = "gc_collections"
"""Full (oldest generation) garbage collections."""

GPU_SYNCS: Final = "gpu_syncs"
"""Calls that made the host wait for a GPU: tensors read, and copies through pageable memory."""

WOULD_SYNC: Final = "would_sync"
"""Reads of tensors on the CPU that would be such calls if the tensors were on a GPU."""

H2D_BYTES: Final = "h2d_bytes"
"""Bytes copied from the host to a GPU by methods of tensors."""

D2H_BYTES: Final = "d2h_bytes"
"""The same in the other direction."""

OF_A_GPU: Final = (GPU_SYNCS, H2D_BYTES, D2H_BYTES)
"""Those that only a program with a GPU counts."""

KERNEL_LAUNCHES: Final = "kernel_launches"
"""Launches of kernels in updates, as windows of torch's profiler tell; not counted."""

COMPILES: Final = "torch_compiles"
"""Compilations of ``torch.compile``; in the steady phase they are recompilations."""

COST_COUNTERS: Final[Mapping[str, str]] = {
    CONFIG_ACCESSES: "values read from configurations of OmegaConf or ml_collections",
    LOG_RECORDS: "log records that were handled: those below the level are none",
    PROCESS_STARTS: "starts of processes, whatever program runs in them",
    PROCESSES: "Python processes of the run",
    IPC_MESSAGES: "messages sent between processes",
    IPC_BYTES: "bytes of the messages sent between processes, pickled",
    GPU_SYNCS: "calls that made the host wait for a GPU",
    WOULD_SYNC: "reads of tensors on the CPU, which on a GPU would make the host wait",
    H2D_BYTES: "bytes copied to a GPU",
    D2H_BYTES: "bytes copied from a GPU",
    KERNEL_LAUNCHES: "launches of kernels on a GPU",
    COMPILES: "compilations of torch.compile",
    UPDATES: "steps of torch optimizers, those that a replayed CUDA graph makes included",
    BATCHES: "batches that torch's data loaders handed out",
    GC_COLLECTIONS: "full garbage collections",
}
"""Things that a step may do too much of: the counters of ``rlprof check``, with what each counts."""

TOLD_ON_DEMAND: Final = frozenset({GC_COLLECTIONS, KERNEL_LAUNCHES})
"""Those of the stack probe, and of the windows that it ends: a run that is only counted has neither."""

_OF_PHASES: Final = "phase:"


def counter_of_phase(phase: str, what: str) -> str:
    return f"{_OF_PHASES}{phase}:{what}"


def phase_of_counter(name: str) -> tuple[str, str] | None:
    """Phase and ``wall_ns``, ``cpu_ns`` or ``entered`` of a counter of ``rlprof.phase``; else None."""
    if not name.startswith(_OF_PHASES):
        return None
    phase, _, what = name.removeprefix(_OF_PHASES).rpartition(":")
    return phase, what
