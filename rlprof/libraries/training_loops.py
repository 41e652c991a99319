"""Libraries with training loops of their own."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library, Sink, StepSource
from rlprof.model.activity import WaitKind

LIBRARIES: Final = (
    Library(
        name="Lightning",
        packages=("lightning",),
        also=("pytorch_lightning",),
        samples=("pytorch/loggers/csv_logs.py",),
        sinks={Sink.METRICS: r".*loggers/"},
        drives=EVERYTHING,
        is_launcher=True,
    ),
    Library(
        name="Stable-Baselines3",
        packages=("stable_baselines3",),
        samples=(
            "common/atari_wrappers.py",
            "common/buffers.py",
            "common/logger.py",
            "common/policies.py",
            "common/save_util.py",
            "common/vec_env/subproc_vec_env.py",
        ),
        environment=r"common/(vec_env|envs)/",
        wrappers="common/(utils|vec_env|monitor|atari_wrappers)",
        policy=r"common/(policies|distributions|torch_layers)\.py$",
        data=r"common/buffers\.py$",
        logging=r"common/(logger|monitor)\.py$",
        passes_on=r"common/vec_env/subproc_vec_env\.py$",
        sinks={Sink.METRICS: r"common/(logger|monitor)\.py$"},
        saving=r"common/save_util\.py$",
        drives=EVERYTHING,
        step_sources=(StepSource("steps:sb3.vec", "Stable-Baselines3 vector env", rank=20),),
        in_process_envs="DummyVecEnv",
    ),
    Library(
        name="TorchRL",
        packages=("torchrl",),
        samples=(
            "data/replay_buffers/storages.py",
            "envs/batched_envs.py",
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
        drives=EVERYTHING,
        step_sources=(
            StepSource("steps:torchrl.batched", "TorchRL batched env", rank=40),
            StepSource("steps:torchrl.env", "TorchRL env", rank=50, is_own_env=True),
        ),
    ),
    # All that is known of them is that they call back.
    Library(
        name="training loops",
        packages=("sample_factory", "tianshou", "transformers"),
        also=("acme", "optuna", "rl_games", "rsl_rl", "sb3_contrib", "skrl"),
        drives=EVERYTHING,
    ),
)
