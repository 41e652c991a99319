"""Collapsed stacks (``a;b;c 12``): of flamegraph.pl, inferno, perf and CPython's profiler, and py-spy's raw ones."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Final

from rlprof.foreign.base import (
    BYTE_ORDER_MARK,
    ForeignFormat,
    bad_lines,
    blocks_of_lines,
    lacks,
    waits_unknown,
    without_time,
)
from rlprof.foreign.recorded import ProfileFacts, begins_a_thread, recording_of
from rlprof.foreign.sums import StackSums
from rlprof.libraries.known import LIBRARIES
from rlprof.model.recording import NO_PARENT, NO_STACK_FUNCTION, Frame, Note, Recording
from rlprof.recording.mailboxes.mailbox import readable
from rlprof.units import duration

ASSUMED_INTERVAL_US: Final = 10_000
"""Interval of samples whose rate is not told: that of ``py-spy record`` unless it is given another."""

_COUNT: Final = re.compile(rb"(\d{1,15})(?:\.(\d{1,9})\d*)?\r?")
_SNIFFED_LINES: Final = 50

_PROCESS: Final = re.compile(rb'process (\d{1,18}):"(.*?)"(?:;|$)', re.DOTALL)
_THREAD: Final = re.compile(rb"thread \((0x[0-9a-fA-F]{1,16}|\d{1,18})\)(?:: ([^;]*))?(?:;|$)")
_TID: Final = re.compile(rb"tid:(\d{1,18});")
"""Thread ids of CPython's own sampling profiler."""

_OURS: Final = re.compile("# rlprof: (wall|cpu) time in µs".encode())
"""Line that ``rlprof export --format collapsed`` writes first."""
_OUR_HEAD: Final = re.compile(rb"([^;]*) (\d{1,18});([^;]*?)(?: (\d{1,18}))?;")
"""Role and pid; name and, but of a main thread, id."""

_PY_SPY_FRAME: Final = re.compile(rb"[^;]+ \([^;]+?(?::\d+)?\)")

_NO_STACK: Final = NO_STACK_FUNCTION.encode()

_OTHER_THREADS: Final = -1
"""The id of all threads but the main one, where stacks do not tell theirs."""

_BINARY: Final = re.compile(rb"[\x00-\x08\x0e-\x1a]")


def _recognises(head: bytes) -> bool:
    lines = _sniffed(head)
    if not lines or _BINARY.search(head):
        return False
    stacks = [found[0] for line in lines if (found := _stack_and_count(line))]
    # "sps: 12" has a number at its end too. Of stacks, some are deeper than one frame, or name a file.
    return 2 * len(stacks) >= len(lines) and any(
        b";" in stack or frame_of(readable(stack)).file for stack in stacks
    )


def _sniffed(head: bytes) -> list[bytes]:
    lines = head.removeprefix(BYTE_ORDER_MARK).split(b"\n")
    # The last one goes on behind the head.
    whole = lines[:-1] if len(lines) > 1 else lines
    return [line for line in whole if line.strip() and not line.startswith(b"#")][:_SNIFFED_LINES]


def _stack_and_count(line: bytes) -> tuple[bytes, re.Match[bytes]] | None:
    """The stack of a line, and its count; None for what is no such line."""
    stack, _, end = line.rpartition(b" ")
    count = _COUNT.fullmatch(end)
    stack = stack.rstrip(b" ")
    # By hand, and not by one expression: that takes minutes over a name of many spaces.
    return (stack, count) if count and stack and not stack[:1].isspace() else None


class _LineReader:
    """Takes lines into the sums; a stack that shares its start with another is parsed from there on."""

    def __init__(self) -> None:
        self.sums = StackSums()
        self.bad = 0
        self.from_py_spy = 0
        self.good = 0
        self.is_ours = False
        self._children: dict[tuple[int, bytes], int] = {}

    def take(self, line: bytes) -> None:
        if line.startswith(b"#"):
            self.is_ours = self.is_ours or _OURS.match(line) is not None
            return
        found = _stack_and_count(line)
        if found is None:
            self.bad += bool(line.strip())
            return
        stack, count = found
        whole, fraction = count.groups()
        process, told, stack = self._headed(stack)
        # py-spy sees processes that are ending with no frame at all.
        frames = [text for text in stack.split(b";") if text] or [_NO_STACK]
        counted = int(whole) + (float(b"0." + fraction) if fraction else 0.0)
        us = round(counted if self.is_ours else counted * ASSUMED_INTERVAL_US)
        node = self._node(frames)
        thread = self._thread_of(process, told, frames[0])
        self.sums.add(thread, node, busy_us=us, ticks=round(us / ASSUMED_INTERVAL_US))
        self.good += 1
        self.from_py_spy += _is_py_spy_s(frames[-1])

    def _headed(self, stack: bytes) -> tuple[int, tuple[int, str] | None, bytes]:
        """The process of ``stack``, its thread where that is told, and its frames."""
        if self.is_ours and (head := _OUR_HEAD.match(stack)):
            pid, name, tid = int(head[2]), readable(head[3]), head[4]
            return self.sums.process(pid), (int(tid or pid), name), stack[head.end() :]
        process, stack = self._process(stack)
        return process, *_thread(stack)

    def _process(self, stack: bytes) -> tuple[int, bytes]:
        """The number of the innermost process that heads ``stack``, and what is left of it."""
        parent, parent_command = 0, b""
        process: int | None = None
        while head := _PROCESS.match(stack):
            pid, command = int(head[1]), head[2]
            how = "fork" if command == parent_command else "subprocess"
            process = self.sums.process(
                pid,
                ppid=parent,
                argv=readable(command).split(),
                start_method=how if parent else "root",
            )
            parent, parent_command = pid, command
            stack = stack[head.end() :]
        return (self.sums.process(0) if process is None else process), stack

    def _thread_of(self, process: int, told: tuple[int, str] | None, outermost: bytes) -> int:
        if told is not None:
            return self.sums.thread(process, *told)
        if begins_a_thread(frame_of(readable(outermost))):
            return self.sums.thread(process, _OTHER_THREADS, "other threads")
        return self.sums.thread(process, 0, "MainThread")

    def _node(self, frames: list[bytes]) -> int:
        node = NO_PARENT
        for text in frames:
            known = self._children.get((node, text))
            if known is None:
                known = self._children[node, text] = self.sums.child(node, frame_of(readable(text)))
            node = known
        return node


def _is_py_spy_s(frame: bytes) -> bool:
    # The end first: a name of many brackets would be tried at each of them.
    return frame.endswith(b")") and _PY_SPY_FRAME.fullmatch(frame) is not None


def _thread(stack: bytes) -> tuple[tuple[int, str] | None, bytes]:
    """(id, name) of the thread that heads ``stack``, and what is left of it."""
    if head := _THREAD.match(stack):
        return (int(head[1], 0), readable(head[2] or b"")), stack[head.end() :]
    if head := _TID.match(stack):
        return (int(head[1]), ""), stack[head.end() :]
    return None, stack


def _read(file: BinaryIO, path: Path) -> Recording:
    lines = _LineReader()
    for block in blocks_of_lines(file, path):
        for line in block.split(b"\n"):
            lines.take(line)
    if not lines.sums.total_us:
        raise without_time(path, "its stacks count nothing" if lines.good else "it has no stacks")
    is_py_spy = lines.from_py_spy > lines.good // 2
    told = ProfileFacts(
        interval_us=ASSUMED_INTERVAL_US,
        has_whole_stacks=is_py_spy,
        notes=tuple(_notes(lines, is_py_spy=is_py_spy)),
    )
    return recording_of(lines.sums, path, told)


def _notes(lines: _LineReader, *, is_py_spy: bool) -> Iterator[Note]:
    idle = "Collapsed stacks do not tell who was idle"
    if lines.is_ours:
        by = "rlprof export, as collapsed stacks"
    elif is_py_spy:
        by = "py-spy, as raw stacks"
        idle = "py-spy leaves idle threads out unless it is given -i, and marks none"
    else:
        by = "an unknown sampler, as collapsed stacks"
    yield lacks(by)
    if not lines.is_ours:
        yield Note(
            "warning",
            "foreign-counts",
            "The profile counts samples and does not tell how often they were taken: shares are its own, "
            f"but every duration supposes one sample each {duration(ASSUMED_INTERVAL_US)}.",
        )
    yield waits_unknown(idle)
    files = set(lines.sums.files())
    if not files:
        yield Note(
            "warning",
            "foreign-no-places",
            "Its frames name functions but no files: the flamegraph shows them, but no finding can name a "
            "line of yours.",
        )
    elif any(map(is_short, files)):
        yield Note(
            "info",
            "foreign-short-names",
            "Its file names are cut at the front, so which of them are yours is told from their first "
            "folder. `py-spy record --full-filenames` keeps them whole.",
        )
    if lines.bad:
        yield bad_lines(lines.bad)


# --- frames, as the programs that write such stacks spell them ------------------------------


_PY_SPY: Final = re.compile(
    r"(?P<function>.+) \((?P<file>.+?)(?::(?P<line>[0-9]{1,9}))?\)", re.DOTALL
)
_AUSTIN: Final = re.compile(
    r"(?P<file>.+\.pyx?|<.+>):(?P<function>[^:]+):(?P<line>[0-9]{1,9})", re.DOTALL
)
_PERF: Final = re.compile(r"py::(?P<function>[^:]+):(?P<file>.+)", re.DOTALL)
"""Frames of perf, with the trampoline of Python 3.12: it tells no lines."""

_FORMS: Final = (_AUSTIN, _PERF, _PY_SPY)

SHORT_STDLIB: Final = "…/lib/python3.0/"
"""Stands for the folder that was cut off; which version is not known."""
SHORT_INSTALLED: Final = "…/site-packages/"

_INSTALLED: Final = frozenset(package for library in LIBRARIES for package in library.packages)
"""Packages that training imports: a file in a folder of such a name is nobody's own."""


@lru_cache(maxsize=65536)
def frame_of(text: str) -> Frame:
    """The frame that ``text`` spells; without a file when it names a function alone."""
    for form in _FORMS:
        # Where the end does not fit, a name of many brackets would be tried at each of them.
        found = form.fullmatch(text) if form is not _PY_SPY or text.endswith(")") else None
        if found:
            named = found.groupdict()
            line = named.get("line")
            return Frame(_file(named["file"]), named["function"], int(line) if line else 0)
    return Frame("", text, 0)


@lru_cache(maxsize=65536)
def _file(name: str) -> str:
    """``name`` as a path that tells whose it is; py-spy cuts off the folder of imports."""
    if name.startswith(("/", "<")):
        return name
    if not name.endswith((".py", ".pyx")):
        # A shared library, of which py-spy tells the name alone.
        return SHORT_INSTALLED + name
    here = Path.cwd() / name
    if _is_file(here):
        return str(here)
    top = name.replace("\\", "/").partition("/")[0]
    if top.removesuffix(".py") in sys.stdlib_module_names:
        return SHORT_STDLIB + name
    return SHORT_INSTALLED + name if top in _INSTALLED else name


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_short(file: str) -> bool:
    """Tell whether the front of the name was cut off."""
    return bool(file) and not file.startswith(("/", "<"))


FORMAT: Final = ForeignFormat("collapsed stacks", _recognises, _read)
