"""The mailbox: memory that the agent of one process shares with the recorder.

A memfd of ``SIZE`` bytes: 64-bit control cells, then counter cells, their names, and a
ring of records. One writer (the agent), one reader (the recorder). What the agent wrote outlives a crash of its
process; with the recorder gone the ring fills up and further records are counted
as lost. All numbers are native-endian: both sides are on one machine.
"""

from __future__ import annotations

import struct

MAGIC = 0x0006_464F_5250_4C52
"""``RLPROF`` and the version of this layout."""

UNNAMED_FILE = "<dynamic-code>"
"""The file of each function that cloudpickle (3.1.2 and later) sends by value, as Stable-Baselines3's ``SubprocVecEnv`` does with
environments that the script defines."""

COUNTED_FILE = "<frozen importlib._bootstrap of rlprof>"
"""The file that functions which count give as theirs. Python's warnings skip frames whose file has both
``importlib`` and ``_bootstrap`` in its name, when they look for the caller that ``stacklevel`` means."""

TREATED_FILE = COUNTED_FILE + ", treated"
"""The same of code that ``rlprof try`` has put in the place of a function's: it counts nothing."""

SIZE = 113 << 12
"""452 KiB. Pages are only taken when written: a process that never works costs one page."""

MAX_COUNTERS = 128
COUNTERS_START = 512
"""Counter cells follow the control cells, one for each name."""

NAMES_START = COUNTERS_START + 8 * MAX_COUNTERS
NAME_SIZE = 48
"""Bytes of a counter's name: UTF-8, padded with NUL."""

MAX_SITES = 256
SPARE_SITE = MAX_SITES - 1
"""Where further sites count, which have no name."""
SITES_START = 8192
"""The first page boundary after the names: places where tensors are read by the host."""
CELLS_PER_SITE = 3
SITE_COUNT = 0
SITE_WAIT_NS = 1
"""Wall time inside of these calls; 0 for tensors on the CPU, where nothing is waited for."""
SITE_BYTES = 2
SITE_NAMES_START = SITES_START + 8 * CELLS_PER_SITE * MAX_SITES
SITE_NAME_SIZE = 256
"""Bytes of what names a site: method, device, line, function and file, each but the last ended by
NUL; the file is cut at its beginning."""

LOOKS_START = 20 << 12
"""The first page boundary after them: the looks at values that the recorder asks for, at its own pace."""
LOOKS_SIZE = 1 << 12
LOOKS = struct.Struct("=II")
"""How often frames had been numbered anew, and the number of looks, each a ``LOOK_ASKED`` with its paths."""
LOOK_ASKED = struct.Struct("=IH")
"""frame id, bytes of the paths; then the paths, as ``value_looks.py`` has them."""

RING_START = LOOKS_START + LOOKS_SIZE
RING_SIZE = (97 << 12) - RING_START

TREATMENT_START = RING_START + RING_SIZE
"""The treatment, as ``marshal`` (version 2) has it; the recorder's. First its size, as a ``LENGTH``."""
TREATMENT_SIZE = 15 << 12
REPLY_START = TREATMENT_START + TREATMENT_SIZE
"""Reason why it was refused or withdrawn here, as UTF-8; the agent's. First its size, as a ``LENGTH``."""
REPLY_SIZE = SIZE - REPLY_START
LENGTH = struct.Struct("=I")

# Cells, by index of 8 bytes.
CELL_MAGIC = 0
CELL_HEAD = 1
"""Bytes ever written to the ring; the agent's."""
CELL_TAIL = 2
"""Bytes ever read from the ring; the recorder's."""
CELL_COUNTERS_USED = 3
"""Counters that have a name. Grows after the name was written, before the cell is used."""
CELL_LOST = 4
"""Stacks that found no room in the ring."""
CELL_PROBE_STATE = 5
CELL_PROBE_COST_NS = 6
"""CPU time spent inside the probe's handler."""
CELL_PROBE_TAKEN = 7
"""Stacks taken, lost ones included."""
CELL_INTERVAL_US = 8
"""CPU time between stacks; the recorder may change it, the agent obeys at its next stack."""
CELL_UNNAMED = 9
"""Where counters count that found no room in the table of names."""
CELL_CUSTOM_STATE = 10
"""State of the target of ``--steps-from`` in this process."""
CELL_NO_WAIT = 11
"""1: children forked from here do not wait for a sampler. The recorder's."""
CELL_TORCH_STATE = 12
"""State of the windows of torch's profiler in this process."""
CELL_WINDOWS = 13
"""The first cell of the first window; see ``window_cell``."""
CELL_SITES_USED = 28
"""Sites that have a name. Grows after the name was written, before the cells are used."""
CELL_WINDOWS_COST_NS = 30
"""CPU time that windows of torch's profiler took from the program."""
CELL_EXIT = 31
"""1 + the exit code that the process is about to end with; 0 where the agent does not know."""
CELL_LOOKS_ASKED = 32
"""Batches of looks at values that were asked for; the recorder's, which waits until the last one was taken."""
CELL_LOOKS_TAKEN = 33
CELL_LOOKS_COST_NS = 34
"""CPU time spent on them."""
CELL_TREATMENT_ASKED = 36
"""Number of the treatment that is asked for, 0 for none; the recorder's, which writes what it is before."""
CELL_TREATMENT_WANTED = 37
"""1: it is to be on; the recorder's."""
CELL_TREATMENT_STATE = 38
"""State of the treatment here: its number times ``TREATMENT_STATES``, and the state itself; the agent's."""
CELL_TREATMENT_REACHED = 39
"""Times that the treated place was come to while it was on; the agent's."""
CELL_TREATMENT_BEAT_NS = 40
"""CLOCK_MONOTONIC, as often as the recorder looks: where it no longer does, the agent takes the treatment away."""
CELL_ONLY_TREATED = 41
"""1: nobody reads stacks any more; samples are for treatments alone. The recorder's."""
CELL_TREATMENT_COST_NS = 42
"""Time that calls took which were answered without being made; the agent's."""
CELL_COUNTERS = COUNTERS_START // 8

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
"""An instrument of the program's own (debugger, coverage, cProfile, tracemalloc) would show the handler."""
PROBE_SIGURG_BLOCKED = 8
"""The main thread blocks SIGURG, or it was ignored from the start: one that pends could be seen."""

# States of a treatment.
TREATMENT_STATES = 16
TREATMENT_OFF = 1
TREATMENT_ON = 2
TREATMENT_ABSENT = 3
"""Nothing of what it treats is loaded in this process."""
TREATMENT_REFUSED = 4
"""It could not be applied exactly."""
TREATMENT_WITHDRAWN = 5
"""A treated call failed, or the recorder has gone."""
TREATMENT_PATIENCE_NS = 3_000_000_000
"""Silence of the recorder after which a treatment is taken away."""

# States of the target of ``--steps-from``.
CUSTOM_NOT_WANTED = 0
CUSTOM_NOT_IMPORTED = 1
"""Its module was not imported yet."""
CUSTOM_COUNTED = 2
CUSTOM_MISSING = 3
"""Its module has no such name."""
CUSTOM_NOT_CALLABLE = 4
CUSTOM_READ_ONLY = 5
"""It can be called, but not replaced: an attribute of a built-in class, for example."""

# Windows of torch's profiler.
MAX_WINDOWS = 3
WINDOW_BEGUN_NS = 0
"""CLOCK_MONOTONIC before the profiler was started."""
WINDOW_ENDED_NS = 1
"""The same after the trace was written: what lies between is not the program's own pace."""
WINDOW_UPDATES = 2
"""Optimizer steps in the window."""
WINDOW_KIND = 3
WINDOW_FATE = 4
CELLS_PER_WINDOW = 5

WINDOW_PLAIN = 1
WINDOW_STACKS = 2
"""With Python stacks, which about double the host's time."""
WINDOW_ROLLOUT = 3
"""Begins where a burst of updates is about to end, so that what comes between bursts is in it."""
WINDOW_TIMED = 4
"""Window of a program without an optimizer: begins anywhere, lasts for a fixed time."""

WINDOW_NONE = 0
WINDOW_OPEN = 1
WINDOW_WRITTEN = 2
WINDOW_GIVEN_UP = 3
"""The program started a profiler of its own."""
WINDOW_FAILED = 4
"""The trace could not be taken or written."""

TORCH_ABSENT = 0
"""torch was not imported, no windows were asked for, or the process was forked within a window of its parent's."""
TORCH_WATCHED = 1
TORCH_OTHER_PROFILER = 2
"""A profiler of the program's was on when a window was due, or began in one: no more windows."""
TORCH_OTHER_PROCESSES = 3
"""As many other processes as may have windows have them; the recorder's answer to ``TORCH_ASKS``."""
TORCH_FAILED = 4
TORCH_TOO_OLD = 5
"""It has no hook after each optimizer step (before torch 2.1)."""
TORCH_OTHER_THREAD = 6
"""Updates are made outside of the main thread, where torch's profiler complains on stderr."""
TORCH_NO_PROBE = 7
"""Nothing would end a window that grows long: there is no stack probe, or it has yielded."""
TORCH_ASKS = 8
"""A window is due: the recorder answers in this cell, which is its until then."""
TORCH_MAY = 9
"""The recorder's answer: this process may have windows."""
TORCH_NO_ROOM = 10
"""There is no folder in which torch could be given a name to write to."""
TORCH_NOT_SILENT = 11
"""Nothing in this torch keeps its profiler from printing to stderr."""
TORCH_TOO_DEAR = 12
"""A window is due that would cost more than it may."""
TORCH_OPEN_RANGE = 13
"""A range that began in a window was open at its end, and nobody learns when it ends: no more windows."""
TORCH_WOULD_SLOW = 14
"""The process uses CUDA, where launches stay slower after the first window: none, unless asked for."""


def window_cell(number: int, which: int) -> int:
    """The index of the cell ``which`` of the window ``number``."""
    return CELL_WINDOWS + CELLS_PER_WINDOW * number + which


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
TAG_LOOK = 5
LOOK = struct.Struct("=BIH")
"""tag, frame id, bytes of the descriptions; then these, in the order of the paths that were asked for."""
TAG_COUNTED = 6
COUNTED = struct.Struct("=BIBB")
"""tag, frame id, the number of the path among those asked for, and whether the call that it names makes steps."""

TAG_LOOK_AGAIN = 7
"""A look like the one before of that frame, a few samples later, anywhere in the function; a ``LOOK``."""

MAX_NAME = 0x7FFF
"""Longest file or function name kept, in bytes."""
MAX_FRAMES = 800
"""Deepest stack walked. A deeper one makes the probe yield: see ``PROBE_DEEP_STACK``."""
