"""Errors that are the program's though they come through our code: its signal handlers may raise them.

Python runs those between any two steps of any function of the main thread, ours as well.
"""

from __future__ import annotations

_FOLDER = __file__[: -len("foreign_errors.py")]


def trim(error: BaseException) -> bool:
    """Take our frames off the beginning of its traceback; whether others are left.

    Before Python 3.11 they stay: an error that is raised again has the traceback it had.
    """
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(_FOLDER):
        traceback = traceback.tb_next
    error.__traceback__ = traceback
    return traceback is not None


def goes_on(error: BaseException) -> bool:
    """Tell whether to raise ``error`` again, for it is the program's and not of our making."""
    return trim(error) or not isinstance(error, Exception)
