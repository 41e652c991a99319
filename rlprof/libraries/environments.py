"""Environments, and what wraps and gathers them."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, EVERYTHING, Library, StepSource, Transport

LIBRARIES: Final = (
    # Up to 0.26; its steps are counted as gymnasium's.
    Library(
        name="gym",
        packages=("gym",),
        samples=("wrappers/time_limit.py",),
        environment=EVERYTHING,
        wrappers="(wrappers|utils|vector)",
        drives=EVERYTHING,
    ),
    # Its counters count the steps of gym, too, which it came from.
    Library(
        name="gymnasium",
        packages=("gymnasium",),
        samples=(
            "wrappers/common.py",
            "vector/async_vector_env.py",
            "vector/utils/shared_memory.py",
        ),
        environment=EVERYTHING,
        wrappers="(wrappers|utils|vector)",
        transport={r"vector/utils/shared_memory\.py$": {ANY: Transport.PLUMBING}},
        passes_on=r"vector/async_vector_env\.py$",
        drives=EVERYTHING,
        step_sources=(
            StepSource("steps:gymnasium.vector", "gymnasium vector env", rank=30),
            StepSource("steps:gymnasium.env", "gymnasium env", rank=60, is_own_env=True),
        ),
        in_process_envs="SyncVectorEnv",
    ),
    # With SuperSuit, which wraps its environments.
    Library(
        name="PettingZoo",
        packages=("pettingzoo",),
        also=("supersuit",),
        samples=("utils/wrappers/base.py",),
        environment=EVERYTHING,
        wrappers="(wrappers|utils|vector)",
        drives=EVERYTHING,
    ),
    Library(
        name="PufferLib",
        packages=("pufferlib",),
        environment=EVERYTHING,
        drives=EVERYTHING,
        step_sources=(StepSource("steps:pufferlib", "PufferLib vector env", rank=10),),
    ),
    # It makes gymnasium environments of others.
    Library(
        name="Shimmy",
        also=("shimmy",),
        samples=("utils/dm_env.py",),
        environment=EVERYTHING,
        wrappers="(wrappers|utils|vector)",
    ),
    # All that is known of them is that they are environments.
    Library(
        name="simulators and games",
        packages=("ale_py", "brax", "dm_control", "dm_env", "mujoco"),
        also=(
            "babyai",
            "box2d",
            "Box2D",
            "craftax",
            "crafter",
            "envpool",
            "gymnax",
            "highway_env",
            "jumanji",
            "metaworld",
            "minigrid",
            "nle",
            r"overcooked\w*",
            "procgen",
            r"pybullet\w*",
            "pygame",
            "robosuite",
            "vizdoom",
        ),
        environment=EVERYTHING,
    ),
)
