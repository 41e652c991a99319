"""Tell how a process ended that is no child of ours, though its parent takes its exit code at once."""

from __future__ import annotations

import fcntl
import os
import resource
import selectors
import struct
from collections.abc import Callable
from functools import partial
from typing import Final

from rlprof.recording.attaching import DESCRIPTORS_KEPT, MAX_SAMPLERS

_GET_INFO: Final = 0xC040FF0B
"""``PIDFD_GET_INFO`` with the 64 bytes of its first version."""
_WANTS_EXIT: Final = 1 << 3
"""``PIDFD_INFO_EXIT`` of the mask, which stays set where the kernel (Linux 6.15) tells it."""
_INFO: Final = struct.Struct("=Q52xi")
"""The mask, and the status as ``waitpid`` would give it."""


class EndWatch:
    """Holds a pidfd of each process: it becomes readable at the end, and remembers the exit code after the parent's wait.

    Its own descriptor is readable when there is something to :meth:`hear`.
    """

    def __init__(self, on_end: Callable[[int], None]) -> None:
        self._selector = selectors.DefaultSelector()
        self._on_end = on_end
        self._handles: dict[int, int] = {}
        self._most = _most_handles()

    def fileno(self) -> int:
        return self._selector.fileno()

    def hear(self) -> None:
        """Call ``on_end`` for those that have ended since, in the order in which they did."""
        for key, _ in self._selector.select(0):
            key.data()

    def watch(self, pid: int) -> None:
        """Have ``on_end(pid)`` called once the process ends; not where the kernel or the limit on open files has no pidfd to give."""
        if pid in self._handles or len(self._handles) >= self._most:
            return
        try:
            handle = os.pidfd_open(pid)
        # Python may have been built where there was none yet.
        except (OSError, AttributeError):
            return
        self._handles[pid] = handle
        self._selector.register(handle, selectors.EVENT_READ, partial(self._ended, pid))

    def take_leave(self, pid: int) -> int | None:
        """End the watch, and return the exit code of a process that is gone, ``-n`` for signal n; None where nobody knows it."""
        handle = self._handles.pop(pid, None)
        if handle is None:
            return None
        self._unregister(handle)
        status = _status(handle)
        os.close(handle)
        return None if status is None else os.waitstatus_to_exitcode(status)

    def close(self) -> None:
        for handle in self._handles.values():
            os.close(handle)
        self._handles.clear()
        self._selector.close()

    def _ended(self, pid: int) -> None:
        # It stays readable, for as long as its parent does not wait for it.
        self._unregister(self._handles[pid])
        self._on_end(pid)

    def _unregister(self, handle: int) -> None:
        if handle in self._selector.get_map():
            self._selector.unregister(handle)


def _status(handle: int) -> int | None:
    info = bytearray(_INFO.size)
    _INFO.pack_into(info, 0, _WANTS_EXIT, 0)
    try:
        fcntl.ioctl(handle, _GET_INFO, info)
    except OSError:
        return None  # An older kernel.
    told, status = _INFO.unpack(info)
    return status if told & _WANTS_EXIT else None


def _most_handles() -> int:
    """As many as leave room for every sampler, and for the mailbox of each process."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return 1 << 16
    return max(0, (soft - DESCRIPTORS_KEPT - 2 * MAX_SAMPLERS) // 2)
