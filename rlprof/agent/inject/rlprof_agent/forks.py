"""Tell which forks are for what."""

from __future__ import annotations

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import FrameType
    from typing import Optional


def is_for_another_program(caller: Optional[FrameType]) -> bool:
    """Tell whether a fork is by ``subprocess``, whose C code execs next. Python tells of those only that have a
    ``preexec_fn``.
    """
    return (
        caller is not None
        and caller.f_code.co_name == "_execute_child"
        and caller.f_globals.get("__name__") == "subprocess"
    )
