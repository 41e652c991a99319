"""Tell, as the process ends, which files its modules came from."""

from __future__ import annotations

import atexit
import os
import sys

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

_NAMES_OF: Any = vars(type(sys))["__dict__"].__get__
"""The names of a module, past all that its class may do at any look at it, as to load itself only now."""

_OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__)))) + os.sep
"""rlprof itself, which may lie in the very repository that is checked."""


def install(folder: str) -> None:
    """Have it told in a file of ``folder``."""
    atexit.register(_tell, folder)


def _tell(folder: str) -> None:
    """Absolute paths, each ended by a zero byte, in a file of this process."""
    try:
        told = b"".join(_path(module) for module in list(sys.modules.values()))
        # Appended to: numbers of processes come again.
        with open(os.path.join(folder, str(os.getpid())), "ab") as file:
            file.write(told)
    except Exception:
        pass  # The process ends as it would without us.


def _path(module: Any) -> bytes:
    try:
        names = _NAMES_OF(module)
        file = names.get("__file__")
        if file is None and names.get("__name__") == "__main__":
            # Python takes the script's from it before it calls us.
            file = names["__loader__"].path
        if type(file) is not str:
            return b""
        path = os.path.abspath(file)
        return b"" if path.startswith(_OURS) else os.fsencode(path) + b"\0"
    except Exception:
        return b""  # Programs may put anything among their modules.
