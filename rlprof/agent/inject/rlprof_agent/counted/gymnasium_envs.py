"""gymnasium, and gym before it: environments and vector environments."""

from __future__ import annotations

from ..counters import counter, stated
from .class_methods import count_methods

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from ..counters import EventCounter


def count_envs(module: ModuleType) -> None:
    count_methods(module.Env, ["step"], _steps_of_envs())


def count_vector_envs(module: ModuleType) -> None:
    """``step_wait`` too: an asynchronous one may be driven by ``step_async`` and ``step_wait``."""
    steps = without_envs_within(counter("steps:gymnasium.vector", _num_envs))
    count_methods(module.VectorEnv, ["step", "step_wait"], steps)


def without_envs_within(steps: EventCounter) -> EventCounter:
    """``steps`` of vector environments, which count for the environments that they step in their own thread."""
    steps.inner = _steps_of_envs()
    return steps


def _steps_of_envs() -> EventCounter:
    return counter("steps:gymnasium.env", _copies)


def _num_envs(env: Any) -> int:
    return int(env.num_envs)


def _copies(env: Any) -> int:
    """1, or ``num_envs`` of an environment that is many at once, as simulators on a GPU are."""
    for each in (env, stated(env, "unwrapped")):
        number = stated(each, "num_envs")
        if type(number) is int:
            return number
    return 1
