"""gymnasium, and gym before it: environments and vector environments."""

from __future__ import annotations

from .. import layout
from ..counters import counted, counter, stated
from ..real import os, sys
from .class_methods import CountedMethods

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import FrameType, ModuleType
    from typing import Any, Optional

    from ..counters import EventCounter

_AGENT = layout.__file__[: -len("layout.py")]

_DRIVEN_ELSEWHERE = {
    "gym.vector.async_vector_env",
    "gymnasium.vector.async_vector_env",
    "stable_baselines3.common.vec_env.subproc_vec_env",
}
"""Modules whose workers step single environments for a vector environment."""

_ENVS = "steps:gymnasium.env"
_BY_THEMSELVES = 100
"""Steps of single environments from which on a program makes them itself, not only its vector environments."""

_env_methods: list[CountedMethods] = []


def count_envs(module: ModuleType) -> None:
    steps = _steps_of_envs()
    steps.on_first = _leave_to_the_vector
    methods = CountedMethods(module.Env, ["step"], steps)
    methods.install()
    methods.take_turns()
    _env_methods.append(methods)


def count_vector_envs(module: ModuleType) -> None:
    """``step_wait`` too: an asynchronous one may be driven by ``step_async`` and ``step_wait``."""
    steps = without_envs_within(counter("steps:gymnasium.vector", _num_envs))
    CountedMethods(module.VectorEnv, ["step", "step_wait"], steps).install()


def without_envs_within(steps: EventCounter) -> EventCounter:
    """``steps`` of vector environments, which count for the environments that they step in their own thread."""
    steps.inner = _steps_of_envs().held
    steps.on_first = _stop_where_it_is_dear
    return steps


def stop_counting_envs() -> None:
    """Leave the steps of single environments alone from here on."""
    while _env_methods:
        _env_methods.pop().remove()


def _stop_where_it_is_dear() -> None:
    """Stop where no turns of the probe bound what it costs to see that a vector environment makes a step.

    Not where the program has stepped environments by themselves: it evaluates in vector environments, and does not train there.
    """
    has_turns = os.environ.get("RLPROF_PART_TIME") and os.environ.get("RLPROF_PROBE_US") != "0"
    if not has_turns and counted(_ENVS) < _BY_THEMSELVES:
        stop_counting_envs()


def _steps_of_envs() -> EventCounter:
    return counter(_ENVS, _copies)


def _leave_to_the_vector() -> None:
    """Stop in a worker of a vector environment, which counts where it is driven: the worker's few microseconds a step are dear.

    Only where the worker itself steps: a method of the environment that it is told to call may make steps that nobody else counts.
    """
    frame: Optional[FrameType] = sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith((_AGENT, layout.COUNTED_FILE)):
        frame = frame.f_back
    if frame is not None and frame.f_globals.get("__name__") in _DRIVEN_ELSEWHERE:
        stop_counting_envs()


def _num_envs(env: Any) -> int:
    return int(env.num_envs)


def _copies(env: Any) -> int:
    """1, or ``num_envs`` of an environment that is many at once, as simulators on a GPU are."""
    for each in (env, stated(env, "unwrapped")):
        number = stated(each, "num_envs")
        if type(number) is int:
            return number
    return 1
