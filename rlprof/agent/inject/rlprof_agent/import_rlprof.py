"""Make ``import rlprof`` work in an interpreter that does not have rlprof installed."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from typing import Any, Optional

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))


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


def install() -> None:
    sys.meta_path.append(LastResort)
