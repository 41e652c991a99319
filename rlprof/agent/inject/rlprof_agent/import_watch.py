"""Take notice of a module right after it was imported, without standing in its way."""

from __future__ import annotations

import sys

from .plain_reads import MISSING, in_classes, is_metaclass

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import FrameType, ModuleType
    from typing import Any, Callable, Optional

    Act = Callable[[ModuleType], None]

_BOOTSTRAP = "<frozen importlib._bootstrap>"
"""Where ``import`` is done: its functions call each other, and finders."""


class ImportWatch:
    """A finder in front of all others that finds nothing itself.

    For a watched module that is being imported it asks the others, and lets their loader act once after it has executed
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
        # Who only asks for a spec may pickle it, or compare it with another.
        if act is None or not _is_imported(sys._getframe(1)):
            return None
        is_behind = False
        for finder in sys.meta_path:
            if not is_behind:
                # Those before this one were asked.
                is_behind = finder is self
                continue
            find = getattr(finder, "find_spec", None)
            if find is None:
                return None  # One of the old kind, which Python asks in another way.
            spec: Optional[ModuleSpec] = find(name, path, target)
            if spec is not None:
                _act_after_execution(spec.loader, act)
                return spec
        return None


def _is_imported(asking: FrameType) -> bool:
    """Tell whether an import, or ``importlib.reload``, is what asks, and not the program."""
    caller = asking.f_back
    if asking.f_code.co_filename != _BOOTSTRAP or caller is None:
        return False
    return (
        caller.f_code.co_filename == _BOOTSTRAP or caller.f_globals.get("__name__") == "importlib"
    )


def _is_plain(loader: Any) -> bool:
    """Tell whether it keeps what is set on it, as no code of the program's would be asked to do."""
    kind = type(loader)
    return (
        not is_metaclass(kind)
        and in_classes(kind, "__setattr__") is object.__setattr__
        and in_classes(kind, "__delattr__") is object.__delattr__
        and in_classes(kind, "__getattribute__") is object.__getattribute__
        and in_classes(kind, "__getattr__") is MISSING
        and in_classes(kind, "exec_module") is not MISSING
    )


def _act_after_execution(loader: Any, act: Act) -> None:
    """Have ``loader`` call ``act`` after the next module that it executes; one that puts that off has another for it."""
    if type(loader) is getattr(sys.modules.get("importlib.util"), "LazyLoader", None):
        loader = loader.loader
    if not _is_plain(loader):
        return  # A loader that all modules share, or one of the program's with a mind of its own.

    def exec_module(module: ModuleType) -> None:
        del loader.exec_module
        loader.exec_module(module)
        act(module)

    # Python leaves its import system's own frames out of tracebacks, up to the module's; with one
    # in between that is not its own, a module that fails would show them all.
    exec_module.__code__ = exec_module.__code__.replace(co_filename=_BOOTSTRAP)
    try:
        loader.exec_module = exec_module
    except AttributeError:
        pass  # A loader that cannot be told anything.
