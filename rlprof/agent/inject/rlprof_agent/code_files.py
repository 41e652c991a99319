"""Name the file in which code was written."""

from __future__ import annotations

from .layout import UNNAMED_FILE

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any


def file_of(code: CodeType, names: dict[str, Any]) -> str:
    """Return the file of ``code``, whose globals are ``names``: cloudpickle leaves the name of the file there."""
    if code.co_filename == UNNAMED_FILE:
        # Not by its method: a program may run code in a dict of its own kind.
        file = dict.get(names, "__file__")
        if type(file) is str:
            return file
    return code.co_filename
