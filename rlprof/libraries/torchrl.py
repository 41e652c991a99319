"""TorchRL."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, EVERYTHING, Duty, Library, Sink, SlowCall, StepSource
from rlprof.model.activity import WaitKind
from rlprof.model.finding import Range

_LIST: Final = SlowCall(
    "a replay buffer keeps its rows in a list",
    "Where all rows have the same shapes, give it LazyTensorStorage(capacity) in place of ListStorage: one tensor for each key, from which a batch is "
    "picked at once. A list is gone through, and its rows are stacked.",
    # torchrl 0.14, by hand: of batches of 32 and 128 from a buffer of five keys 0.15 and 0.04 is left.
    Range(0.6, 0.96),
    # pyvers hands calls over to what fits the version of torch.
    through="(data/replay_buffers|pyvers)/",
)

LIBRARY: Final = Library(
    name="TorchRL",
    packages=("torchrl",),
    samples=(
        "data/replay_buffers/storages.py",
        "data/replay_buffers/storages/list.py",
        "data/replay_buffers/storages/utils.py",
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
    slow_calls={
        r"data/replay_buffers/storages/list\.py$": {ANY: _LIST},
        r"data/replay_buffers/storages/utils\.py$": {"_stack_anything": _LIST},
    },
    in_process_envs="SerialEnv",
    step_sources=(
        StepSource("steps:torchrl.batched", "TorchRL batched env", rank=40),
        StepSource("steps:torchrl.env", "TorchRL env", rank=50, is_own_env=True),
    ),
)
