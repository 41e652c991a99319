"""Take notice of a module right after it was imported, without standing in its way."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any, Callable, Optional

    Act = Callable[[ModuleType], None]


class ImportWatch:
    """A finder in front of all others that finds nothing itself.

    For a watched module it asks the others, and lets their loader act once after it has executed
    the module: spec and loader are the very ones that there would be without it.
    """

    def __init__(self, acts: dict[str, Act]) -> None:
        self._acts = acts

    def install(self) -> None:
        """Act on modules that are loaded already, and watch for the others."""
        for name, act in self._acts.items():
            module = sys.modules.get(name)
            if module is not None:
                act(module)
        self.step_back()

    def step_aside(self) -> None:
        """Watch no longer: an instrument of the program's would show the finder at each import."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def step_back(self) -> None:
        sys.meta_path.insert(0, self)

    def find_spec(
        self, name: str, path: Any = None, target: Optional[ModuleType] = None
    ) -> Optional[ModuleSpec]:
        act = self._acts.get(name)
        if act is None:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: Optional[ModuleSpec] = None if find is None else find(name, path, target)
            if spec is not None:
                _act_after_execution(spec.loader, act)
                return spec
        return None


def _act_after_execution(loader: Any, act: Act) -> None:
    """Have ``loader`` call ``act`` after the next module that it executes."""
    if isinstance(loader, type) or not hasattr(loader, "exec_module"):
        return  # A loader that all modules share.

    def exec_module(module: ModuleType) -> None:
        del loader.exec_module
        loader.exec_module(module)
        act(module)

    # Python leaves its import system's own frames out of tracebacks, up to the module's; with one
    # in between that is not its own, a module that fails would show them all.
    exec_module.__code__ = exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap>")
    try:
        loader.exec_module = exec_module
    except AttributeError:
        pass  # A loader that cannot be told anything.
