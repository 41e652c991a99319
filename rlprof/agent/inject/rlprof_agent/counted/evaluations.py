"""Evaluations that a library makes by itself: the steps in them are no training's, and count apart."""

from __future__ import annotations

from ..counters import counter
from . import outermost

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType


def count_apart(module: ModuleType) -> None:
    """``module`` has Stable-Baselines3's ``evaluate_policy``, or that of its contributions."""
    evaluated = counter("evaluation_steps")
    outermost.count_apart(vars(module)["evaluate_policy"].__code__, evaluated)
