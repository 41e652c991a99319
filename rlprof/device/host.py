"""Tell what the host was doing: which ops, regions and Python frames a call was made in."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from rlprof.model.trace import Row, Trace
from rlprof.tracefile.regions import OPTIMIZER_STEP, PROFILER_STEP

_NOT_YOURS: Final = re.compile(
    r"^(<built-in|nn\.Module:|torch/|.*[/\\]torch[/\\]|threading\.py|contextlib\.py|<frozen|<string>"
    r"|.*site-packages[/\\]torch[/\\])"
)
"""Frames of torch and of Python itself: the caller's line is what a user can change."""

GRAD_SCALER: Final = "GradScaler"
DISTRIBUTIONS: Final = "torch.distributions"
CLIPPING: Final = "clip_grad_norm_"

_ASKERS: Final = {
    GRAD_SCALER: re.compile(r"torch[/\\](cuda[/\\])?amp[/\\]grad_scaler\.py\("),
    DISTRIBUTIONS: re.compile(r"torch[/\\]distributions[/\\](distribution|constraints)\.py\("),
    CLIPPING: re.compile(r"torch[/\\]nn[/\\]utils[/\\]clip_grad\.py\("),
}
"""Parts of torch that read from the device on their own account."""

_SCALED: Final = "aten::_amp_foreach_non_finite_check_and_unscale_"
_READ: Final = "aten::item"
"""The op that a GradScaler reads after, and the read, before a step of an optimizer: for traces without stacks."""

_FRAME: Final = re.compile(r"^(?P<file>.+)\((?P<line>\d+)\): (?P<function>.+)$")


@dataclass(frozen=True, slots=True)
class CallSite:
    """The place in the program at which a call was made, as far as the trace tells.

    A line is that of the function's ``def``: the profiler records no other.
    """

    outer_op: str = ""
    """The outermost op, the one that the program called: ``aten::item``."""
    inner_op: str = ""
    file: str = ""
    line: int = 0
    function: str = ""
    region: str = ""
    """The innermost region that somebody named."""
    asked_by: str = ""
    """The part of torch that made it for itself: ``GradScaler``; empty where the program did."""


def by_thread(rows: Iterable[Row]) -> dict[object, list[Row]]:
    threads: dict[object, list[Row]] = defaultdict(list)
    for row in rows:
        threads[row.thread].append(row)
    return threads


def rows_around(rows: Iterable[Row], targets: Iterable[Row]) -> dict[int, tuple[Row, ...]]:
    """For each target, by ``id``: those of ``rows`` that are of its thread and contain it, the outermost first."""
    found: dict[int, tuple[Row, ...]] = {}
    others = by_thread(rows)
    for thread, wanted in by_thread(targets).items():
        wanted.sort(key=lambda row: row.ts)
        _sweep(others.get(thread, ()), wanted, found)
    return found


def _sweep(rows: Sequence[Row], wanted: Sequence[Row], found: dict[int, tuple[Row, ...]]) -> None:
    stack: list[Row] = []
    at = 0
    for target in wanted:
        while at < len(rows) and rows[at].ts <= target.ts:
            row = rows[at]
            at += 1
            while stack and stack[-1].end <= row.ts:
                stack.pop()
            stack.append(row)
        while stack and stack[-1].end <= target.ts:
            stack.pop()
        # Times are rounded: a call may end a little after the op that made it.
        found[id(target)] = tuple(
            row for row in stack if row is not target and row.end >= target.ts
        )


def call_sites(trace: Trace, calls: Sequence[Row]) -> list[CallSite]:
    """The site of each of ``calls``, in their order."""
    ops = rows_around(trace.ops, calls)
    python = rows_around(trace.python, calls)
    regions = rows_around(trace.annotations, calls)
    of_scaler = _reads_of_scaler(trace, calls) if not trace.python else frozenset()
    return [
        _site(
            ops.get(id(call), ()),
            python.get(id(call), ()),
            regions.get(id(call), ()),
            of_scaler=id(call) in of_scaler,
        )
        for call in calls
    ]


def outermost(rows: Iterable[Row]) -> list[Row]:
    """Those of ``rows``, by their start, that no other one of their thread contains."""
    found: list[Row] = []
    ends: dict[object, float] = {}
    for row in rows:
        if row.ts >= ends.get(row.thread, row.ts):
            ends[row.thread] = row.ts + row.dur
            found.append(row)
    return found


def _reads_of_scaler(trace: Trace, calls: Sequence[Row]) -> frozenset[int]:
    """``id`` of the calls in reads right after gradients were unscaled, or right before the optimizer."""
    if not any(op.name == _SCALED for op in trace.ops):
        return frozenset()
    steps = [row for row in trace.annotations if row.name.startswith(OPTIMIZER_STEP)]
    reads: dict[object, list[Row]] = defaultdict(list)
    last: dict[object, Row] = {}
    for row in sorted((*outermost(trace.ops), *steps), key=attrgetter("ts")):
        before = last.get(row.thread)
        last[row.thread] = row
        if before is None:
            continue
        if before.name == _SCALED and row.name == _READ:
            reads[row.thread].append(row)
        elif before.name == _READ and row.name.startswith(OPTIMIZER_STEP):
            reads[row.thread].append(before)
    return frozenset(
        id(call) for call in calls if any(op.ts <= call.ts < op.end for op in reads[call.thread])
    )


def _site(
    ops: Sequence[Row], python: Sequence[Row], regions: Sequence[Row], *, of_scaler: bool
) -> CallSite:
    file, line, function = _your_frame(python) if python else _from_call_stack(ops)
    named = [row.name for row in regions if not row.name.startswith(PROFILER_STEP)]
    return CallSite(
        outer_op=ops[0].name if ops else "",
        inner_op=ops[-1].name if ops else "",
        file=file,
        line=line,
        function=function,
        region=named[-1] if named else "",
        asked_by=GRAD_SCALER if of_scaler else _asker(python),
    )


def _asker(python: Sequence[Row]) -> str:
    for row in reversed(python):
        if not _NOT_YOURS.match(row.name):
            return ""
        for asker, pattern in _ASKERS.items():
            if pattern.search(row.name):
                return asker
    return ""


def _your_frame(python: Sequence[Row]) -> tuple[str, int, str]:
    for row in reversed(python):
        if not _NOT_YOURS.match(row.name):
            match = _FRAME.match(row.name)
            if match:
                return match["file"], int(match["line"]), match["function"]
    return "", 0, ""


def _from_call_stack(ops: Sequence[Row]) -> tuple[str, int, str]:
    """Return the place in traces before torch 1.12: the frames stand in the arguments of the op, innermost first."""
    for op in reversed(ops):
        for text in op.args.call_stack.split(";"):
            match = _FRAME.match(text.strip())
            if match and not _NOT_YOURS.match(text.strip()):
                return match["file"], int(match["line"]), match["function"]
    return "", 0, ""
