"""PettingZoo: environments in which agents act together, and those in which they take turns."""

from __future__ import annotations

from ..counters import counter
from .class_methods import count_methods
from .gymnasium_envs import without_envs_within

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType


def count_envs(module: ModuleType) -> None:
    """A step of all agents, and one of an agent: each its own counter, for one kind is made of the other."""
    for base, name in (
        (module.ParallelEnv, "steps:pettingzoo.parallel"),
        (module.AECEnv, "steps:pettingzoo.aec"),
    ):
        count_methods(base, ["step"], without_envs_within(counter(name)))
