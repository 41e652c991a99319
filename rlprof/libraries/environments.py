"""Simulators and games, and what makes environments of others."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library, StepSource

SIMULATORS: Final = Library(
    name="simulators and games",
    packages=("ale_py", "brax", "dm_control", "mujoco"),
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
)
"""Simulators and games: all that is known of them is that they are environments."""
DM_ENV: Final = Library(
    name="dm_env",
    packages=("dm_env",),
    environment=EVERYTHING,
    environment_classes=("dm_env._environment.Environment",),
    step_sources=(StepSource("steps:dm_env", "dm_env environment", rank=70, is_own_env=True),),
)
"""dm_env, whose interface the environments of dm_control, bsuite and Acme have."""
PETTINGZOO: Final = Library(
    name="PettingZoo",
    packages=("pettingzoo",),
    also=("supersuit",),
    samples=("utils/wrappers/base.py",),
    environment=EVERYTHING,
    wrappers="(wrappers|utils|vector)",
    environment_classes=("pettingzoo.utils.env.AECEnv", "pettingzoo.utils.env.ParallelEnv"),
    drives=EVERYTHING,
    step_sources=(
        StepSource(
            "steps:pettingzoo.parallel", "PettingZoo parallel env", rank=80, is_own_env=True
        ),
        StepSource("steps:pettingzoo.aec", "PettingZoo AEC env", rank=90, is_own_env=True),
    ),
)
"""PettingZoo, and SuperSuit, which wraps its environments."""
PUFFERLIB: Final = Library(
    name="PufferLib",
    packages=("pufferlib",),
    environment=EVERYTHING,
    drives=EVERYTHING,
    step_sources=(StepSource("steps:pufferlib", "PufferLib vector env", rank=10),),
)
SHIMMY: Final = Library(
    name="Shimmy",
    also=("shimmy",),
    samples=("utils/dm_env.py",),
    environment=EVERYTHING,
    wrappers="(wrappers|utils|vector)",
)
"""Shimmy, which makes gymnasium environments of others."""
