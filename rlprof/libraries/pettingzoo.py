"""PettingZoo, and SuperSuit, which wraps its environments."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library

LIBRARY: Final = Library(
    name="PettingZoo",
    packages=("pettingzoo",),
    also=("supersuit",),
    samples=("utils/wrappers/base.py",),
    environment=EVERYTHING,
    wrappers="(wrappers|utils|vector)",
    environment_classes=("pettingzoo.utils.env.AECEnv", "pettingzoo.utils.env.ParallelEnv"),
    drives=EVERYTHING,
)
