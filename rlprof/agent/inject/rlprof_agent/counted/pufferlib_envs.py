"""PufferLib: its vector environments count by the actions sent to them."""

from __future__ import annotations

from ..counters import counter, stated
from . import outermost
from .class_methods import count_methods
from .gymnasium_envs import without_envs_within

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from ..counters import EventCounter


def count_native_envs(module: ModuleType) -> None:
    """Environments that are vector environments themselves."""
    base = getattr(module, "PufferEnv", None)
    if base is not None:
        count_methods(base, ["send", "step"], _steps())


def count_vector_envs(module: ModuleType) -> None:
    for candidate in list(vars(module).values()):
        is_own_class = isinstance(candidate, type) and candidate.__module__ == module.__name__
        if is_own_class and hasattr(candidate, "send") and hasattr(candidate, "recv"):
            count_methods(candidate, ["send"], _steps())
    work = getattr(module, "_worker_process", None)
    if work is not None:
        # What a worker steps the main process has counted.
        outermost.count_apart(work.__code__, None)


def _steps() -> EventCounter:
    return without_envs_within(counter("steps:pufferlib", _agents))


def _agents(env: Any) -> int:
    """Agents that act at each call."""
    return int(stated(env, "agents_per_batch") or env.num_agents)
