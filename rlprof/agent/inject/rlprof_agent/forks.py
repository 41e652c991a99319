"""Tell which forks are for what."""

from __future__ import annotations

import sys


def is_for_another_program() -> bool:
    """Tell a hook of forks whether the fork that it is called for is by ``subprocess``, whose C code execs next. Python tells of those only
    that have a ``preexec_fn``.
    """
    try:
        caller = sys._getframe(2)
    except Exception:
        return False  # The outermost, or an audit hook of the program's lets nobody see frames.
    return (
        caller.f_code.co_name == "_execute_child"
        and caller.f_globals.get("__name__") == "subprocess"
    )
