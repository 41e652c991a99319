"""Look after modules right after their import: those in which is counted, and a few others."""

from __future__ import annotations

from . import aside, dynamo, exits, foreign_errors, instruments, layout, torch_windows
from .counted import WATCHED
from .import_watch import ImportWatch
from .real import os

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable

    Tell = Callable[[int], None]


def install(tell_custom_state: Tell) -> None:
    """``tell_custom_state`` tells the recorder what became of the target of ``--steps-from``."""
    acts: dict[str, Any] = {
        name: _counting_by(*where)
        for name, where in WATCHED.items()
        if torch_windows.is_torch_counted() or not name.startswith("torch.")
    }
    acts["inspect"] = _counting_by("dressing", "sign_all")
    # With ``--torch off``, too: what counts steps is in functions that the program may compile.
    stay_out = acts["torch._dynamo.eval_frame"] = _unheard(dynamo.stay_out)
    acts["torch._dynamo.bytecode_transformation"] = _unheard(dynamo.read_own_code)
    if torch_windows.is_torch_counted():
        acts["torch"] = _unheard(torch_windows.load_tracer)
        count = _unheard(dynamo.count_compiles)
        acts["torch._dynamo.eval_frame"] = _one_after_another(count, stay_out)
    for name, function in (*instruments.WATCHED.items(), *exits.WATCHED.items()):
        acts[name] = _one_after_another(acts.get(name), _unheard(function))
    if "RLPROF_RESTART" in os.environ:
        from .treatments import restarts

        for name, change in restarts.watched(os.environ["RLPROF_RESTART"]).items():
            acts[name] = _one_after_another(acts.get(name), _unheard(change))
    module, colon, qualname = os.environ.get("RLPROF_STEPS_FROM", "").partition(":")
    if colon:
        tell_custom_state(layout.CUSTOM_NOT_IMPORTED)
        count = _counting_target(qualname, tell_custom_state)
        acts[module] = _one_after_another(acts.get(module), count)
    watch = ImportWatch(acts)
    watch.install()
    aside.takes_part(watch)


def _counting_by(file: str, function: str) -> Callable[[ModuleType], None]:
    """Import ``counted/FILE.py`` when there is something to count, and no sooner."""

    def act(module: ModuleType) -> None:
        family = __import__("rlprof_agent.counted." + file, fromlist=[function])
        dynamo.skip(family)
        getattr(family, function)(module)

    return _unheard(act)


def _one_after_another(first: Any, second: Any) -> Callable[[ModuleType], None]:
    """Both, or ``second`` where there is no ``first``."""

    def act(module: ModuleType) -> None:
        if first is not None:
            first(module)
        second(module)

    return act


def _unheard(act: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
    """``act``, failing in silence: a version of the library that is built otherwise is not counted."""

    def try_to_act(module: ModuleType) -> None:
        try:
            act(module)
        except Exception as error:
            foreign_errors.pass_on(error)

    return try_to_act


def _counting_target(qualname: str, tell_custom_state: Tell) -> Any:
    def act(module: ModuleType) -> None:
        try:
            from .counted.custom import count_target

            tell_custom_state(count_target(module, qualname))
        except Exception as error:
            foreign_errors.pass_on(error)
            tell_custom_state(layout.CUSTOM_READ_ONLY)

    return act
