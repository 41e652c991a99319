"""A profile for ``pprof``: gzipped, in the format of its ``profile.proto``."""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from rlprof.model.detail import Detail
from rlprof.model.recording import Frame
from rlprof.model.report import Report
from rlprof.names import printable, short_path
from rlprof.renderers.base import Renderer
from rlprof.report import wording
from rlprof.report.thread_stacks import (
    METRICS,
    StackPaths,
    ThreadStacks,
    caveats,
    frame_name,
    threads_with_time,
)

UNIT: Final = "nanoseconds"
_NS: Final = 1_000
"""Per µs."""


def _render(report: Report, options: Mapping[str, str]) -> bytes:  # noqa: ARG001 - every renderer takes them
    # A time of making in the file's head would make every file another one.
    return gzip.compress(_profile(report), mtime=0)


def _profile(report: Report) -> bytes:
    strings = StringTable()
    locations = Locations(strings, report.run.cwd)
    parts = [bytes_field(1, _kind(strings, metric)) for metric in METRICS]
    parts += [bytes_field(2, sample) for sample in _samples(report, strings, locations)]
    parts += [bytes_field(3, _mapping(report, strings)), locations.encoded()]
    run = _about_the_run(report, strings)
    # What was said last may have added strings.
    return b"".join([*parts, strings.encoded(), run])


def _kind(strings: StringTable, metric: str) -> bytes:
    return int_field(1, strings.number(metric)) + int_field(2, strings.number(UNIT))


def _samples(report: Report, strings: StringTable, locations: Locations) -> Iterator[bytes]:
    """Yield one sample for each stack of each thread in each phase."""
    detail = report.detail or Detail()
    paths = StackPaths(detail.nodes)
    stacks: dict[int, bytes] = {}
    for thread in threads_with_time(report):
        sums: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0, 0])
        for time in thread.times:
            phase = detail.slices[time.slice].phase
            of_stack = sums[phase.value if phase else "", time.node]
            for position, metric in enumerate(METRICS):
                of_stack[position] += time.of(metric)
        for (phase_name, node), times in sums.items():
            if node not in stacks:
                frames = (detail.nodes[on_path].frame for on_path in reversed(paths.to(node)))
                stacks[node] = packed_field(1, map(locations.number, frames))
            yield (
                stacks[node]
                + packed_field(2, (us * _NS for us in times))
                + _labels(thread, phase_name, strings)
            )


def _labels(thread: ThreadStacks, phase: str, strings: StringTable) -> bytes:
    row = thread.process
    labels = {
        "process": thread.process_name,
        "role": printable(row.role),
        "pid": str(row.pid),
        "thread": thread.name,
        "phase": phase,
    }
    return b"".join(
        bytes_field(3, int_field(1, strings.number(key)) + int_field(2, strings.number(value)))
        for key, value in labels.items()
        if value
    )


def _mapping(report: Report, strings: StringTable) -> bytes:
    name = printable(report.run.script) or wording.command(report) or "a run"
    # The flags say that functions, files and lines are known: no reader looks for a binary then.
    known = b"".join(int_field(flag, 1) for flag in (7, 8, 9))
    return int_field(1, MAPPING) + int_field(5, strings.number(name)) + known


def _about_the_run(report: Report, strings: StringTable) -> bytes:
    slices = report.detail.slices if report.detail else ()
    length_us = slices[-1].end_us - slices[0].start_us if slices else 0
    hz = max((row.requested_hz for row in report.processes if row.sampled), default=0.0)
    remarks = [f"command: {wording.command(report)}", *caveats(report)]
    return b"".join(
        (
            int_field(9, round(report.run.started_unix_s * 1e9)),
            int_field(10, length_us * _NS),
            bytes_field(11, _kind(strings, "wall")),
            int_field(12, round(1e9 / hz) if hz else 0),
            packed_field(13, [strings.number(remark) for remark in remarks]),
            int_field(14, strings.number("wall")),
        )
    )


# --- tables: strings, functions and locations, each once ------------------------------------


MAPPING: Final = 1
"""Id of the only one: the program."""


class StringTable:
    """The first is empty, as the format asks for."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"": 0}

    def number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def encoded(self) -> bytes:
        return b"".join(bytes_field(6, text.encode()) for text in self._numbers)


class Locations:
    """A location is a line of a function."""

    def __init__(self, strings: StringTable, cwd: str) -> None:
        self._strings = strings
        self._cwd = cwd
        self._functions: dict[tuple[str, str], int] = {}
        self._locations: dict[Frame, int] = {}

    def number(self, frame: Frame) -> int:
        known = self._locations.get(frame)
        if known is None:
            known = self._locations[frame] = len(self._locations) + 1
            function = (frame.file, frame.function)
            self._functions.setdefault(function, len(self._functions) + 1)
        return known

    def encoded(self) -> bytes:
        parts = [
            bytes_field(4, self._location(location, n)) for location, n in self._locations.items()
        ]
        parts += [
            bytes_field(5, self._function(*function, n)) for function, n in self._functions.items()
        ]
        return b"".join(parts)

    def _location(self, frame: Frame, number: int) -> bytes:
        function = self._functions[frame.file, frame.function]
        line = int_field(1, function) + int_field(2, frame.line)
        return int_field(1, number) + int_field(2, MAPPING) + bytes_field(4, line)

    def _function(self, file: str, function: str, number: int) -> bytes:
        bare = frame_name(Frame(file, function, 0))
        # pprof puts functions of one name together, whatever their files.
        full = f"{printable(short_path(file, self._cwd))}:{bare}" if file else bare
        return (
            int_field(1, number)
            + int_field(2, self._strings.number(full))
            + int_field(3, self._strings.number(bare))
            + int_field(4, self._strings.number(printable(file)))
        )


# --- the little of Protocol Buffers that a profile takes: no training should have to install protobuf


_VARINT: Final = 0
_LENGTH: Final = 2
_SIXTY_FOUR_BITS: Final = (1 << 64) - 1


def varint(value: int) -> bytes:
    """Seven bits at a time, the lowest first; a negative number as its two's complement of 64 bits."""
    rest = value & _SIXTY_FOUR_BITS
    encoded = bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


def int_field(field: int, value: int) -> bytes:
    """An integer or a truth value. What is 0 is left out, as proto3 has it."""
    return varint(field << 3 | _VARINT) + varint(value) if value else b""


def packed_field(field: int, values: Iterable[int]) -> bytes:
    """A packed list: zeros in it are kept."""
    return bytes_field(field, b"".join(map(varint, values)))


def bytes_field(field: int, content: bytes) -> bytes:
    return varint(field << 3 | _LENGTH) + varint(len(content)) + content


RENDERER: Final = Renderer(
    name="pprof",
    suffixes=(".pb.gz",),
    render=_render,
    is_export=True,
    needs_detail=True,
)
