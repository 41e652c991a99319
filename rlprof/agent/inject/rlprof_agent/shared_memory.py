"""Map a memfd for the life of the process, without a descriptor that stays open behind it.

``mmap.mmap`` keeps a copy of the descriptor and closes that number when it goes: a daemon
that closed everything at its start would lose one of the files it has opened since.
"""

from __future__ import annotations

PROT_READ_WRITE = 3
MAP_SHARED = 1


def map_shared(fd: int, size: int) -> memoryview:
    """``size`` bytes of ``fd`` as writable memory, never unmapped.

    Raises ImportError without ctypes and OSError when the kernel refuses.
    """
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    number, c_int = ctypes.c_size_t, ctypes.c_int
    library.mmap.argtypes = [ctypes.c_void_p, number, c_int, c_int, c_int, ctypes.c_ssize_t]
    address = library.mmap(None, size, PROT_READ_WRITE, MAP_SHARED, fd, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")
    return memoryview((ctypes.c_char * size).from_address(address)).cast("B")
