"""Ranges of torch's profiler that are open where a window ends.

torch writes the end of such a range to where its window kept it. That memory is free again by then; torch leaves it
alone only as long as no profiler is on in the thread (torch 2.13, ``onFunctionExit`` in profiler_kineto.cpp). So
no window may begin until every range of the one before has ended.
"""

from __future__ import annotations

import functools
import sys
import weakref
from _thread import get_ident

from .real import os

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

_NO_END = b'"finished": '
"""Text that torch's exporter writes about a range that was open at the end, and about no other."""

_PIECE = 1 << 20


class OpenRanges:
    """The ranges of ``record_function`` that began in a window, in the thread that made this, and have not ended.

    Of those that torch begins in C++ nobody learns when they end; :meth:`are_all` tells whether there are any.
    """

    def __init__(self) -> None:
        self._thread = get_ident()
        # One that is dropped has ended, too.
        self._open: weakref.WeakSet[Any] = weakref.WeakSet()
        self._enter: Any = None
        self._exit: Any = None

    def __bool__(self) -> bool:
        return bool(self._open)

    def watch(self) -> None:
        """Follow what begins from now on."""
        ranges = _record_function()
        enter, leave = self._enter, self._exit = ranges.__enter__, ranges.__exit__

        @functools.wraps(enter)
        def begin(own: Any) -> Any:
            if get_ident() == self._thread:
                self._open.add(own)
            return enter(own)

        @functools.wraps(leave)
        def end(own: Any, *error: Any) -> Any:
            try:
                return leave(own, *error)
            finally:
                # Otherwise it ends with a future.
                if own.run_callbacks_on_exit:
                    self._open.discard(own)

        ranges.__enter__, ranges.__exit__ = begin, end

    def restore(self) -> None:
        """Follow no further ones. A ``with`` statement that has begun ends with our function all the same."""
        if self._enter is not None:
            ranges = _record_function()
            ranges.__enter__, ranges.__exit__ = self._enter, self._exit
            self._enter = self._exit = None

    def are_all(self, trace: int) -> bool:
        """Tell whether no others were open at the end of the ``trace``, a descriptor."""
        return _count(trace, _NO_END) <= len(self._open)


def _record_function() -> Any:
    module: Any = sys.modules["torch.autograd.profiler"]
    return module.record_function


def _count(descriptor: int, wanted: bytes) -> int:
    """Occurrences in a file, which may be large."""
    found, kept = 0, b""
    for offset in range(0, os.fstat(descriptor).st_size, _PIECE):
        text = kept + os.pread(descriptor, _PIECE, offset)
        found += text.count(wanted)
        # Shorter than what is wanted: nothing is counted twice.
        kept = text[1 - len(wanted) :]
    return found
