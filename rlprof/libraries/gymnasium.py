"""gymnasium, and steps of gym, which it came from and which the same counters count."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, EVERYTHING, Duty, Library, StepSource, Transport
from rlprof.libraries.gym import NOT_SPACES, SPACES

LIBRARY: Final = Library(
    name="gymnasium",
    packages=("gymnasium",),
    samples=(
        "envs/registration.py",
        "spaces/box.py",
        "wrappers/common.py",
        "utils/passive_env_checker.py",
        "vector/async_vector_env.py",
        "vector/utils/shared_memory.py",
    ),
    environment=NOT_SPACES,
    wrappers="(wrappers|utils|vector)",
    transport={r"vector/utils/shared_memory\.py$": {ANY: Transport.PLUMBING}},
    passes_on=r"vector/async_vector_env\.py$",
    duties={
        r"envs/registration\.py$": dict.fromkeys(("make", "make_vec"), Duty.MAKES_ENVIRONMENTS),
        r"utils/passive_env_checker\.py$": dict.fromkeys(
            ("env_reset_passive_checker", "env_step_passive_checker"), Duty.CHECKS_NEW_ENVIRONMENTS
        ),
    },
    slow_calls=SPACES,
    environment_classes=("gymnasium.core.Env", "gymnasium.vector.vector_env.VectorEnv"),
    drives=EVERYTHING,
    step_sources=(
        StepSource("steps:gymnasium.vector", "gymnasium vector env", rank=30),
        StepSource(
            "steps:gymnasium.env", "gymnasium env", rank=60, is_own_env=True, is_beside=True
        ),
    ),
    in_process_envs="SyncVectorEnv",
)
