"""Modules as they were before the program began: what tests and simulations of its own put in their place is not for us.

A clock that is frozen, a file system that is faked: whoever replaces functions looks in the modules that are loaded, and in what
these have imported. These copies are in neither.
"""

from __future__ import annotations

import gc
import os
import struct
import sys
import time

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if not TYPE_CHECKING:

    def _copied(module):
        copy = type(module)(module.__name__)
        copy.__dict__.update(module.__dict__)
        return copy

    gc, os, struct, sys, time = map(_copied, (gc, os, struct, sys, time))

__all__ = ["gc", "os", "struct", "sys", "time"]
