"""Stable-Baselines3."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Duty, Library, Sink, StepSource

LIBRARY: Final = Library(
    name="Stable-Baselines3",
    packages=("stable_baselines3",),
    samples=(
        "common/atari_wrappers.py",
        "common/buffers.py",
        "common/env_util.py",
        "common/evaluation.py",
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
    duties={
        r"common/env_util\.py$": {"make_vec_env": Duty.MAKES_ENVIRONMENTS},
        r"common/evaluation\.py$": {"evaluate_policy": Duty.EVALUATES},
    },
    drives=EVERYTHING,
    step_sources=(StepSource("steps:sb3.vec", "Stable-Baselines3 vector env", rank=20),),
    in_process_envs="DummyVecEnv",
)
