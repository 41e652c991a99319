"""dm_env: the environments of dm_control, bsuite and Acme, and wrappers around them."""

from __future__ import annotations

from ..counters import counter
from .class_methods import count_methods
from .gymnasium_envs import without_envs_within

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType


def count_envs(module: ModuleType) -> None:
    count_methods(module.Environment, ["step"], without_envs_within(counter("steps:dm_env")))
