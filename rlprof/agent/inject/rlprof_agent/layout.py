"""The mailbox: memory that the agent of one process shares with the recorder.

A memfd of ``SIZE`` bytes: 64-bit cells, then a ring of records. One writer (the
agent), one reader (the recorder). What the agent wrote outlives a crash of its
process; with the recorder gone the ring fills up and further records are counted
as lost. All numbers are native-endian: both sides are on one machine.
"""

from __future__ import annotations

import struct

MAGIC = 0x0001_464F_5250_4C52
"""``RLPROF`` and the version of this layout."""

SIZE = 1 << 18
"""256 KiB. Pages are only taken when written: a process that never works costs one page."""

RING_START = 256
RING_SIZE = SIZE - RING_START

# Cells, by index of 8 bytes.
CELL_MAGIC = 0
CELL_HEAD = 1
"""Bytes ever written to the ring; the agent's."""
CELL_TAIL = 2
"""Bytes ever read from the ring; the recorder's."""
CELL_STEPS = 3
"""Steps counted by ``rlprof.step``."""
CELL_LOST = 4
"""Stacks that found no room in the ring."""
CELL_PROBE_STATE = 5
CELL_PROBE_COST_NS = 6
"""CPU time spent inside the probe's handler."""
CELL_PROBE_TAKEN = 7
"""Stacks taken, lost ones included."""
CELL_INTERVAL_US = 8
"""CPU time between stacks; the recorder may change it, the agent obeys at its next stack."""

# States of the probe.
PROBE_OFF = 0
PROBE_ON = 1
PROBE_NOT_WANTED = 2
PROBE_NO_TIMER = 3
"""No CPU-time timer to be had (ctypes missing, or the C library refuses)."""
PROBE_OWN_SIGURG = 4
"""The program handles SIGURG itself."""
PROBE_WAKEUP_FD = 5
"""The program reads signal numbers from a wake-up descriptor, as asyncio's signal handlers do."""
PROBE_DEEP_STACK = 6
"""The stack came near the recursion limit, where a handler could be one frame too many."""
PROBE_TRACED = 7
"""A trace or profile function (debugger, coverage, cProfile) would see the handler."""

# Records of the ring: one tag byte, then the struct, then variable parts.
TAG_FRAME = 1
FRAME = struct.Struct("=BIiHH")
"""tag, frame id, line, bytes of the file name, bytes of the function name; then both names."""
TAG_STACK = 2
STACK = struct.Struct("=BIH")
"""tag, stack id, number of frames; then that many 32-bit frame ids, outermost first."""
TAG_SAMPLE = 3
SAMPLE = struct.Struct("=BIQ")
"""tag, stack id, CPU time in ns since the sample before."""
TAG_RESET = 4
"""All frame and stack ids are forgotten."""

MAX_NAME = 0x7FFF
"""Longest file or function name kept, in bytes."""
MAX_FRAMES = 800
"""Deepest stack walked. A deeper one makes the probe yield: see ``PROBE_DEEP_STACK``."""
