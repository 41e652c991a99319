"""Environment workers that hold memory of a GPU: each pays for a CUDA context of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from rlprof.detectors.base import Detector, InSamples
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Finding
from rlprof.model.profile import GpuUse, Profile
from rlprof.profile.roles import ENVIRONMENT_WORKER
from rlprof.units import percent, size

MIN_BYTES: Final = calibrated(
    64 << 20,
    unit="bytes",
    source="discuss.pytorch.org/t/133162: a context of torch with no tensor in it took 153 MiB",
    date="2026-11-21",
)
"""Held by a worker, from which on it has a context of CUDA; newer GPUs and more kernels take more."""

SHOWN: Final = 5


class _Held(NamedTuple):
    process: int
    byte_count: float


def detect(profile: Profile) -> Iterable[Finding]:
    by_gpu = {gpu: found for gpu in profile.gpus if (found := _held(gpu, profile))}
    if not by_gpu:
        return
    workers = {held.process for found in by_gpu.values() for held in found}
    total = sum(held.byte_count for found in by_gpu.values() for held in found)
    number = (
        "an environment worker holds"
        if len(workers) == 1
        else (f"{len(workers)} environment workers hold")
    )
    yield Finding(
        title=f"{number} {size(total)} of GPU memory",
        savings=(),
        locations=(),
        evidence=tuple(_evidence(profile, by_gpu)),
        fix='Keep CUDA out of the workers: no tensor or module on "cuda" where they are made, and what '
        'they send as numpy arrays or CPU tensors. CUDA_VISIBLE_DEVICES="" in them shows what still '
        "asks for it. If the environment itself simulates on the GPU, many in one process share a context.",
    )


def _held(gpu: GpuUse, profile: Profile) -> Sequence[_Held]:
    return [
        _Held(process, byte_count)
        for process, byte_count in gpu.process_bytes
        if byte_count >= MIN_BYTES and profile.process_roles.get(process) == ENVIRONMENT_WORKER
    ]


def _evidence(profile: Profile, by_gpu: dict[GpuUse, Sequence[_Held]]) -> Iterator[str]:
    for gpu, found in by_gpu.items():
        shown = ", ".join(
            f"pid {profile.processes[held.process].pid} {size(held.byte_count)}"
            for held in found[:SHOWN]
        )
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        yield f"on GPU {gpu.index} {gpu.name}".rstrip() + f": {shown}{more}"
        if gpu.memory_total_bytes:
            part = sum(held.byte_count for held in found) / gpu.memory_total_bytes
            yield f"that is {percent(part)} of the memory of GPU {gpu.index}"


DETECTOR: Final = Detector(
    id="cuda-in-env-workers",
    name="environment workers that hold GPU memory",
    in_samples=InSamples(detect),
)
