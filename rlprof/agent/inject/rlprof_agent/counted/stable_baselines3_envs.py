"""Stable-Baselines3: vector environments, those that run in workers included."""

from __future__ import annotations

from ..counters import counter
from .class_methods import count_methods
from .gymnasium_envs import without_envs_within

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


def count_vec_envs(module: ModuleType) -> None:
    """``step_wait`` too, as for gymnasium's."""
    steps = without_envs_within(counter("steps:sb3.vec", _num_envs))
    count_methods(module.VecEnv, ["step", "step_wait"], steps)


def _num_envs(env: Any) -> int:
    return int(env.num_envs)
