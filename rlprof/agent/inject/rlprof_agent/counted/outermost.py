"""Of calls within calls the outermost alone counts: wrappers of environments call each other, and vector environments those that they hold."""

from __future__ import annotations

from ..counters import counter
from .call_marks import NOT_AT_ALL, mark_in

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any

    from ..counters import EventCounter
    from .call_marks import Kind, Told

_DRIVEN_ELSEWHERE = {
    "gym.vector.async_vector_env",
    "gymnasium.vector.async_vector_env",
    "pufferlib.vector",
    "stable_baselines3.common.vec_env.subproc_vec_env",
}
"""Modules whose workers step single environments for a vector environment, which counts where it is driven."""
NAMED = "steps:custom"
"""Counter of ``--steps-from``."""
_MOST_FRAMES = 200
"""Frames above a call that are looked through."""

_evaluations: dict[int, CodeType] = {}
"""Code of evaluations that a library makes by itself, by number: the steps in them are no training's, and count apart."""


def are_evaluations(code: CodeType) -> None:
    """Have steps that are made within calls of ``code`` count apart."""
    _evaluations[id(code)] = code


def outermost(counter: EventCounter) -> Kind:
    """Tell of calls that ``counter`` counts, each for what its object is."""
    # What the user has named counts wherever it is called.
    is_of_steps = counter.name.startswith("steps:") and counter.name != NAMED

    def kind(frame: FrameType, stepped: Any) -> Told:
        above = frame.f_back
        if is_of_steps and above is not None and above.f_globals.get("__name__") in _DRIVEN_ELSEWHERE:
            return NOT_AT_ALL
        is_evaluated = False
        for _ in range(_MOST_FRAMES):
            if above is None:
                break
            code = above.f_code
            mark = mark_in(code)
            if mark is not None and counter in (mark.counter, mark.counter.inner):
                return NOT_AT_ALL
            is_evaluated |= id(code) in _evaluations
            above = above.f_back
        size = counter.size_of(stepped)
        return (_evaluated() if is_evaluated and is_of_steps else counter), size

    return kind


def _evaluated() -> EventCounter:
    return counter("evaluation_steps")
