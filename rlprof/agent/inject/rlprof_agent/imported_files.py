"""Tell, as the process ends, which files its modules came from."""

from __future__ import annotations

import atexit
import os
import sys

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any


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
        # Not as an attribute: modules that load themselves late would do so.
        names = module.__dict__
        # Python takes the script's from it before it calls us.
        file = names.get("__file__") or getattr(names.get("__loader__"), "path", None)
        return os.fsencode(os.path.abspath(file)) + b"\0" if isinstance(file, str) else b""
    except Exception:
        return b""  # Programs may put anything among their modules.
