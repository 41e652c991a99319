"""The module ctypes, as it was before the program began: a program may forbid itself to load it, as sandboxes for untrusted code do."""

from __future__ import annotations

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

_module: Any
try:
    import ctypes as _module
except (ImportError, OSError, MemoryError):
    _module = None


def ctypes() -> Any:
    """The module. Raises ImportError where this Python has none."""
    if _module is None:
        raise ImportError("no ctypes")
    return _module
