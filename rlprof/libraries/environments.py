"""Simulators and games: all that is known of them is that they are environments."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library

LIBRARY: Final = Library(
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
    environment_classes=("dm_env._environment.Environment",),
)
