"""TorchRL: environments, batched ones, and pools.

Collectors call ``step_and_maybe_reset``, and transforms and workers ``_step``, so ``step`` is not
the place. Most ways lead through ``_step``: not those of batches, nor of a compiled environment.
"""

from __future__ import annotations

from ..counters import counter
from .class_methods import count_methods
from .gymnasium_envs import without_envs_within

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


def count_envs(module: ModuleType) -> None:
    _count(module.EnvBase, "steps:torchrl.env")


def count_batched_envs(module: ModuleType) -> None:
    _count(module.BatchedEnvBase, "steps:torchrl.batched")


def count_async_pools(module: ModuleType) -> None:
    """Driven in its asynchronous way a pool counts in its workers alone, as their environments."""
    _count(module.AsyncEnvPool, "steps:torchrl.batched")


def _count(base: type, name: str) -> None:
    steps = without_envs_within(counter(name, _batch))
    count_methods(base, ["_step", "step_and_maybe_reset"], steps)


def _batch(env: Any) -> int:
    return int(env.batch_size.numel())
