"""A trace on its way from torch's exporter to the recorder: it lies in memory, and on no disk."""

from __future__ import annotations

from . import foreign_errors
from .real import os
from .shared_memory import expect_room

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any


MOST_BYTES = 1 << 30
"""Far more than any trace of a window has; torch is never stopped by a limit on files as it writes one."""


class NoRoomError(Exception):
    """No folder for temporary files can be written to."""


def export(profile: Any) -> int:
    """Have torch write the trace; the descriptor of the memory that holds it.

    Raises :class:`NoRoomError`, or OSError when torch could not write it all.
    """
    expect_room(MOST_BYTES)
    descriptor = os.memfd_create("rlprof-trace", os.MFD_CLOEXEC)
    try:
        path = _name_for(descriptor)
        try:
            profile.export_chrome_trace(path)
        finally:
            for name in (path, path + ".tmp"):
                _remove(name)
        if not _is_whole(descriptor):
            raise OSError("torch has not written its trace")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _name_for(descriptor: int) -> str:
    """The exporter wants a path, writes to PATH.tmp and renames that: both are links to the memory."""
    memory = "/proc/self/fd/%d" % descriptor
    name = "rlprof-%d-%s.json" % (os.getpid(), os.urandom(8).hex())
    for folder in (os.environ.get("TMPDIR", ""), "/tmp", "/dev/shm"):
        path = os.path.join(folder, name)
        try:
            os.symlink(memory, path + ".tmp")
            os.symlink(memory, path)
        except OSError as error:
            _remove(path + ".tmp")
            foreign_errors.pass_on(error)
        else:
            return path
    raise NoRoomError


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError as error:
        foreign_errors.pass_on(error)


def _is_whole(descriptor: int) -> bool:
    """Look for the end of the trace: the exporter says nothing when a limit on files cuts it off."""
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, 8, max(0, size - 8)).rstrip().endswith(b"}")
