"""TorchRL: environments, batched ones, and pools.

Collectors call ``step_and_maybe_reset`` and workers ``_step``, so ``step`` is not the place: every
way leads through ``_step``, but for the two classes of batches that override the first.
"""

from __future__ import annotations

from ..counters import counter
from .class_methods import CountedMethods
from .gymnasium_envs import stop_counting_envs

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from ..counters import Counter


def count_envs(module: ModuleType) -> None:
    CountedMethods(module.EnvBase, ["_step"], _steps("steps:torchrl.env")).install()


def count_batched_envs(module: ModuleType) -> None:
    _count_batch(module.BatchedEnvBase)


def count_async_pools(module: ModuleType) -> None:
    """Driven in its asynchronous way a pool counts in its workers alone, as their environments."""
    _count_batch(module.AsyncEnvPool)


def _count_batch(base: type) -> None:
    steps = _steps("steps:torchrl.batched")
    CountedMethods(base, ["_step", "step_and_maybe_reset"], steps).install()


def _steps(name: str) -> Counter:
    steps = counter(name, _batch)
    steps.on_first = stop_counting_envs
    return steps


def _batch(env: Any) -> int:
    return int(env.batch_size.numel())
