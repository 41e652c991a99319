"""tianshou."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Duty, Library

LIBRARY: Final = Library(
    name="tianshou",
    packages=("tianshou",),
    samples=(
        "data/batch.py",
        "data/buffer/buffer_base.py",
        "env/gym_wrappers.py",
        "env/venvs.py",
        "env/worker/subproc.py",
        "trainer.py",
        "trainer/base.py",
        "utils/logger/tensorboard.py",
        "utils/net/common.py",
    ),
    environment="env/",
    wrappers="env/",
    policy="utils/net/",
    # Not the collector, which is the loop around the environment.
    data="data/(batch|buffer/|utils/)",
    logging="utils/logger/",
    passes_on=r"env/worker/subproc\.py$",
    duties={r"trainer(/base)?\.py$": dict.fromkeys(("_test_step", "test_step"), Duty.EVALUATES)},
    drives=EVERYTHING,
    in_process_envs="DummyVectorEnv",
)
