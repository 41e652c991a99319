"""The events of torch's profiler, moved to where their windows lie in the run."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from rlprof.model.detail import TorchTrace
from rlprof.model.report import Report
from rlprof.names import printable
from rlprof.renderers.chrome.events import Clock, Event, Inset, process_named, thread_named
from rlprof.tracefile.packing import NotATraceError, content_in, repaired

_AFTER_THE_PROCESSES: Final = 100_000
"""Position of GPUs and other tracks of torch's: there are never as many processes."""


_OF_A_GPU: Final = frozenset({"kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation"})
"""Categories of rows whose process is the number of a GPU."""


class _File(msgspec.Struct):
    rows: list[msgspec.Raw] = msgspec.field(name="traceEvents")
    base_ns: int | float = msgspec.field(default=0, name="baseTimeNanoseconds")
    """Moment that times are since, in newer traces; in older ones they are since 1970."""


_FILE: Final = msgspec.json.Decoder(_File)
_ROW: Final = msgspec.json.Decoder(dict[str, Any])


@dataclass(frozen=True, slots=True)
class DrawnWindow:
    """A window that can be drawn. Its rows are unpacked twice rather than kept: they take 50 MB at times."""

    trace: TorchTrace
    base_us: float
    first: float
    """Time of its first event, on the trace's own clock."""
    length_us: int

    def rows(self) -> Iterator[Event]:
        return _rows(_unpacked(self.trace.trace))


@dataclass(frozen=True, slots=True)
class Placed:
    window: DrawnWindow
    at_us: int
    """On the clock of the report: before what is put in."""
    offset_us: int
    """From there on."""


def read_windows(traces: Iterable[TorchTrace]) -> tuple[list[DrawnWindow], list[str]]:
    """The windows, and remarks on those that cannot be read."""
    windows, remarks = [], []
    for trace in traces:
        try:
            windows.append(_measured(trace))
        # What nests too deeply for a reader is damaged too.
        except (NotATraceError, ValueError, RecursionError) as reason:
            remarks.append(
                f"The torch trace {trace.number} of process {trace.pid} is left out: "
                f"it cannot be read ({reason})."
            )
    return windows, remarks


def placed_windows(report: Report, windows: Sequence[DrawnWindow]) -> tuple[list[Placed], Clock]:
    """Return where each window goes, and the clock with room for them.

    Where the report leaves out the time of its windows, they are put in again at the moment at which they
    were cut out; those of one moment as far apart as they were.
    """
    if not any(row.is_left_out for row in report.torch_windows):
        return [Placed(drawn, drawn.trace.begun_us, 0) for drawn in windows], Clock()
    placed, insets = [], []
    by_moment: dict[int, list[DrawnWindow]] = defaultdict(list)
    for window in windows:
        by_moment[window.trace.begun_us].append(window)
    for at_us, together in sorted(by_moment.items()):
        first = min(drawn.base_us + drawn.first for drawn in together)
        longest = 0
        for window in together:
            offset = round(window.base_us + window.first - first)
            if offset > report.run.wall_us:
                # Clocks that do not agree: one behind the other then.
                offset = longest
            placed.append(Placed(window, at_us, offset))
            longest = max(longest, offset + window.length_us)
        insets.append(Inset(at_us, longest))
    return placed, Clock(insets)


def torch_tracks(
    report: Report, placed: Iterable[Placed], clock: Clock, numbers: Iterator[int]
) -> Iterator[Event]:
    tracks = _Tracks({row.pid for row in report.processes}, numbers)
    flows: dict[tuple[int, object], int] = {}
    for number, each in enumerate(placed):
        window = each.window
        start = clock.end(each.at_us) + each.offset_us
        names = {}
        for row in window.rows():
            if row.get("ph") == "M":
                if str(row.get("name", "")).startswith("thread_"):
                    names[row.get("pid"), row.get("tid"), row["name"]] = row
                continue
            at = _number(row.get("ts"))
            if at is None:
                continue
            row["ts"] = round(start + at - window.first, 3)
            row["pid"], row["tid"] = tracks.of(window.trace.pid, row)
            if "id" in row:
                # Every trace counts its arrows from the start.
                row["id"] = flows.setdefault((number, str(row["id"])), len(flows) + 1)
            if "name" in row:
                row["name"] = printable(str(row["name"]), 1_000)
            yield row
        yield from tracks.named(window.trace.pid, names)
    yield from tracks.processes_named()


class _Tracks:
    """Numbers of processes and threads: the process's own are kept, so that they join what else is drawn
    of it. GPUs are numbered from 0 by every process, and other groups have names in place of numbers.
    """

    def __init__(self, pids: set[int], numbers: Iterator[int]) -> None:
        self._taken = set(pids)
        self._numbers = numbers
        self._pids: dict[tuple[int, object], int] = {}
        self._tids: dict[tuple[int, object], int] = {}
        self._gpus: set[int] = set()

    def of(self, owner: int, row: Event) -> tuple[int, int]:
        pid, tid = row.get("pid"), row.get("tid")
        found = self._pids.get((owner, pid))
        if found is None:
            found = self._pids[owner, pid] = self._pid(owner, pid)
        if row.get("cat") in _OF_A_GPU:
            self._gpus.add(found)
        if (found, tid) not in self._tids:
            self._tids[found, tid] = tid if isinstance(tid, int) else next(self._numbers)
        return found, self._tids[found, tid]

    def _pid(self, owner: int, pid: object) -> int:
        if pid == owner:
            return owner
        if isinstance(pid, int) and pid not in self._taken:
            self._taken.add(pid)
            return pid
        return next(self._numbers)

    def named(self, owner: int, names: Mapping[tuple[Any, ...], Event]) -> Iterator[Event]:
        """Yield the trace's own names of the threads that have events."""
        for (pid, tid, _), row in names.items():
            known = self._pids.get((owner, pid))
            if known is not None and (known, tid) in self._tids:
                row.pop("ts", None)
                yield {**row, "pid": known, "tid": self._tids[known, tid]}

    def processes_named(self) -> Iterator[Event]:
        position = _AFTER_THE_PROCESSES
        for (owner, pid), found in self._pids.items():
            if pid != owner:
                position += 1
                what = f"GPU {pid}" if found in self._gpus else printable(str(pid)) or "profiler"
                yield from process_named(found, f"{what}, torch windows of pid {owner}", position)
        for (found, tid), number in self._tids.items():
            if not isinstance(tid, int):
                yield from thread_named(found, number, printable(str(tid)) or "marks")


def _measured(trace: TorchTrace) -> DrawnWindow:
    unpacked = _unpacked(trace.trace)
    first, last = float("inf"), float("-inf")
    for row in _rows(unpacked):
        at = _number(row.get("ts"))
        if row.get("ph") == "X" and at is not None:
            first = min(first, at)
            last = max(last, at + (_number(row.get("dur")) or 0.0))
    if last < first:
        raise NotATraceError("it has no events")
    return DrawnWindow(trace, unpacked.base_ns / 1e3, first, round(last - first))


def _rows(file: _File) -> Iterator[Event]:
    for row in map(_ROW.decode, file.rows):
        for key in ("pid", "tid"):
            if not isinstance(row.get(key), (int, float, str, type(None))):
                row[key] = str(row[key])
        yield row


def _unpacked(packed: bytes) -> _File:
    data = content_in(packed)
    try:
        data.decode()
    except UnicodeDecodeError:
        # Names of files are bytes, and torch writes them as they are.
        data = data.decode("utf-8", "replace").encode()
    try:
        return _FILE.decode(data)
    except msgspec.DecodeError:
        document = repaired(data).document
    rows = document.get("traceEvents", []) if isinstance(document, dict) else document
    base_ns = document.get("baseTimeNanoseconds") if isinstance(document, dict) else None
    if not isinstance(rows, list):
        raise NotATraceError("its traceEvents are no list")
    encoded = [msgspec.Raw(_encoded(row)) for row in rows if isinstance(row, dict)]
    return _File(encoded, _number(base_ns) or 0)


def _encoded(row: Event) -> bytes:
    try:
        return msgspec.json.encode(row)
    except UnicodeEncodeError:
        # Half of a pair of surrogates.
        return json.dumps(row, ensure_ascii=False).encode("utf-8", "replace")


def _number(value: object) -> float | None:
    """A time, which old versions of torch wrote as text; None for what is none."""
    if not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
