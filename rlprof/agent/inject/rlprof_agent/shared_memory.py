"""Map a memfd for the life of the process, without a descriptor that stays open behind it.

``mmap.mmap`` keeps a copy of the descriptor and closes that number when it goes: a daemon
that closed everything at its start would lose one of the files it has opened since.
"""

from __future__ import annotations

from . import c_functions

PROT_READ_WRITE = 3
MAP_SHARED = 1
MAP_PRIVATE = 2
MAP_FIXED = 0x10
MAP_ANONYMOUS = 0x20
RLIMIT_FSIZE = 1

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Callable


def expect_room(size: int) -> None:
    """Raise OSError where a limit on files allows less than ``size`` bytes: to find out by trying may kill,
    for a memfd is a file to the kernel, which sends SIGXFSZ. Raises ImportError without ctypes.
    """
    ctypes = c_functions.ctypes()

    # Soft and hard. The module ``resource`` would be one more in ``sys.modules``.
    limits = (ctypes.c_ulong * 2)(0, 0)
    if c_functions.library().getrlimit(RLIMIT_FSIZE, limits) or limits[0] < size:
        raise OSError("too little room in a file")


def map_shared(fd: int, size: int) -> tuple[memoryview, Callable[[], Any]]:
    """``size`` bytes of ``fd`` as writable memory, never unmapped, and C code that puts memory of
    this process's own in the place of it.

    Raises ImportError without ctypes and OSError when the kernel refuses.
    """
    ctypes = c_functions.ctypes()

    # The C module behind functools, which is more than an interpreter imports that starts.
    from _functools import partial  # type: ignore[import-not-found]

    library = c_functions.library()
    address = library.mmap(None, size, PROT_READ_WRITE, MAP_SHARED, fd, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")
    own = MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS
    return (
        memoryview((ctypes.c_char * size).from_address(address)).cast("B"),
        partial(library.mmap, address, size, PROT_READ_WRITE, own, -1, 0),
    )
