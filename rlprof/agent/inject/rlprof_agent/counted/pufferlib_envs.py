"""PufferLib: its vector environments count by the actions sent to them."""

from __future__ import annotations

from ..counters import counter, stated
from .class_methods import CountedMethods
from .dressing import dressed
from .gymnasium_envs import stop_counting_envs, without_envs_within

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from ..counters import EventCounter

_is_worker = [False]


def count_native_envs(module: ModuleType) -> None:
    """Environments that are vector environments themselves."""
    base = getattr(module, "PufferEnv", None)
    if base is not None:
        CountedMethods(base, ["send", "step"], _steps()).install()


def count_vector_envs(module: ModuleType) -> None:
    for candidate in list(vars(module).values()):
        is_own_class = isinstance(candidate, type) and candidate.__module__ == module.__name__
        if is_own_class and hasattr(candidate, "send") and hasattr(candidate, "recv"):
            CountedMethods(candidate, ["send"], _steps()).install()
    work = getattr(module, "_worker_process", None)
    if work is not None:
        # A name of PufferLib's own, which ModuleType does not declare.
        module._worker_process = _without_counting(work)  # type: ignore[attr-defined]


def _steps() -> EventCounter:
    return without_envs_within(counter("steps:pufferlib", _agents))


def _agents(env: Any) -> int:
    """Agents that act at each call; none in a worker, whose steps the main process counts."""
    return 0 if _is_worker[0] else int(stated(env, "agents_per_batch") or env.num_agents)


def _without_counting(original: Any) -> Any:
    def work_uncounted(*args: Any, **kwargs: Any) -> Any:
        _is_worker[0] = True
        stop_counting_envs()
        try:
            return original(*args, **kwargs)
        except BaseException as error:
            BaseException.with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise

    return dressed(work_uncounted, original)
