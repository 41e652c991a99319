"""Count the outermost of calls within calls: wrappers of environments call each other, and vector environments those that they hold."""

from __future__ import annotations

from .call_kinds import NOT_AT_ALL
from .call_marks import mark_in

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Optional

    from ..counters import EventCounter
    from .call_kinds import Kind, Told

_DRIVEN_ELSEWHERE = {
    "gym.vector.async_vector_env",
    "gymnasium.vector.async_vector_env",
    "stable_baselines3.common.vec_env.subproc_vec_env",
}
"""Modules whose workers step single environments for a vector environment, which counts where it is driven."""
NAMED = "steps:custom"
"""Counter of ``--steps-from``."""
_MOST_FRAMES = 200
"""Frames above a call that are looked through."""

_apart: dict[int, tuple[CodeType, Optional[EventCounter]]] = {}
"""Code within whose calls steps count in another counter, or in none, by number."""


def count_apart(code: CodeType, elsewhere: Optional[EventCounter]) -> None:
    """Have steps that are made within calls of ``code`` count ``elsewhere``, or nowhere."""
    _apart[id(code)] = code, elsewhere


def outermost(counter: EventCounter) -> Kind:
    """Tell of calls that ``counter`` counts, each for what its object is."""
    calls = outermost_calls(counter)

    def kind(frame: FrameType, stepped: Any) -> Told:
        told = calls(frame, stepped)
        return told if told is NOT_AT_ALL else (told[0], counter.size_of(stepped))

    return kind


def outermost_calls(counter: EventCounter) -> Kind:
    """Tell of calls that ``counter`` counts, each for one."""
    # What the user has named counts wherever it is called.
    is_of_steps = counter.name.startswith("steps:") and counter.name != NAMED

    def kind(frame: FrameType, _stepped: Any) -> Told:
        above = frame.f_back
        if (
            is_of_steps
            and above is not None
            and above.f_globals.get("__name__") in _DRIVEN_ELSEWHERE
        ):
            return NOT_AT_ALL
        counts_in: Optional[EventCounter] = counter
        for _ in range(_MOST_FRAMES):
            if above is None:
                break
            code = above.f_code
            mark = mark_in(code)
            if mark is not None and counter in (mark.counter, mark.counter.inner):
                return NOT_AT_ALL
            if is_of_steps and (apart := _apart.get(id(code))) is not None:
                counts_in = apart[1]
            above = above.f_back
        return NOT_AT_ALL if counts_in is None else (counts_in, 1)

    return kind
