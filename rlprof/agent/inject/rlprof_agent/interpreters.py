"""Tell which interpreter of the process this is: the recorder knows one agent in each process."""

from __future__ import annotations

from . import c_functions


def is_main() -> bool:
    """Tell whether it is the one that the process began with. Raises ImportError without ctypes."""
    ctypes = c_functions.ctypes()

    # Not ``ctypes.pythonapi``, whose functions are the program's to declare.
    api = ctypes.PyDLL(None)
    for function in (api.PyInterpreterState_Get, api.PyInterpreterState_Main):
        function.restype = ctypes.c_void_p
    return bool(api.PyInterpreterState_Get() == api.PyInterpreterState_Main())
