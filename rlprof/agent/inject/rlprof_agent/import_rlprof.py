"""Make ``import rlprof`` work in an interpreter that does not have rlprof installed."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from typing import Any, Optional

_INJECTED = os.path.dirname(os.path.dirname(__file__))
_PACKAGE = os.path.dirname(os.path.dirname(_INJECTED))


class LastResort:
    """Finds ``rlprof``, and that name alone: the recorder's own ``rlprof/__init__.py``.

    It stands at the end of ``sys.meta_path``, so that an rlprof of the program's own
    environment comes first.
    """

    @staticmethod
    def find_spec(name: str, *_path_and_target: Any) -> Optional[ModuleSpec]:
        if name != "rlprof":
            return None
        # The frozen module behind importlib.util, which takes milliseconds to import.
        from _frozen_importlib_external import spec_from_file_location

        spec: Optional[ModuleSpec] = spec_from_file_location(
            name, os.path.join(_PACKAGE, "__init__.py")
        )
        return spec


class OnTheWay:
    """All of the agent that Python comes by when it looks for modules, but for the watch."""

    @staticmethod
    def step_aside() -> None:
        if _INJECTED in sys.path:
            sys.path.remove(_INJECTED)
        # Where rlprof is not installed, the program may be about to import it. No import system to ask:
        # it keeps what it has looked up.
        is_there = any(
            os.path.isfile(os.path.join(path, "rlprof/__init__.py")) for path in sys.path
        )
        if is_there and LastResort in sys.meta_path:
            sys.meta_path.remove(LastResort)

    @staticmethod
    def step_back() -> None:
        if _INJECTED not in sys.path:
            sys.path.insert(0, _INJECTED)
        if LastResort not in sys.meta_path:
            sys.meta_path.append(LastResort)


def install() -> None:
    sys.meta_path.append(LastResort)
