"""The kernel's clocks. Tests and simulations of the program's own replace functions of ``time``, also under the names by which
modules have imported them; those held by a class are left alone.
"""

from __future__ import annotations

import time


class Clocks:
    monotonic_ns = time.monotonic_ns
    perf_counter_ns = time.perf_counter_ns
    thread_time_ns = time.thread_time_ns
