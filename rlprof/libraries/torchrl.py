"""TorchRL."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Duty, Library, Sink, StepSource
from rlprof.model.activity import WaitKind

LIBRARY: Final = Library(
    name="TorchRL",
    packages=("torchrl",),
    samples=(
        "data/replay_buffers/storages.py",
        "envs/batched_envs.py",
        "envs/common.py",
        "envs/transforms/transforms.py",
        "objectives/ppo.py",
        "record/loggers/csv.py",
    ),
    environment="envs/",
    wrappers="envs/(utils|transforms|vec_env)",
    learner="objectives/",
    data="data/",
    # Spins on flags in shared memory (torchrl 0.14); a library's source is not read.
    waits={r"envs/batched_envs\.py$": {"_wait_for_workers": WaitKind.POLL}},
    sinks={Sink.METRICS: "record/loggers/"},
    duties={r"envs/common\.py$": {"rollout": Duty.PLAYS_EPISODES}},
    environment_classes=("torchrl.envs.common.EnvBase",),
    drives=EVERYTHING,
    in_process_envs="SerialEnv",
    step_sources=(
        StepSource("steps:torchrl.batched", "TorchRL batched env", rank=40),
        StepSource("steps:torchrl.env", "TorchRL env", rank=50, is_own_env=True),
    ),
)
