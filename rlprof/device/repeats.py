"""Ops that a Python loop calls again and again, as a trace shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from rlprof.device.host import by_thread
from rlprof.device.intervals import TimeSpan
from rlprof.model.trace import Row

_SELECT: Final = "aten::select"
"""Op that ``t[i]`` calls."""

_MOST_SELECTS: Final = 8
"""Most selects of one turn of a loop: ``rewards[t] + gamma * values[t + 1] - values[t]`` has three."""

_LERP: Final = "aten::lerp_"
_AVERAGING: Final = frozenset(
    {_LERP, "aten::mul_", "aten::add_", "aten::mul", "aten::add", "aten::copy_", "aten::detach",
     "aten::rsub"}
)  # fmt: skip
_SCALING: Final = frozenset({"aten::mul", "aten::mul_"})
_WRITING: Final = ("aten::copy_", "aten::add_")
_MIXING: Final = frozenset({_LERP, *_WRITING})


@dataclass(frozen=True, slots=True)
class Repeat:
    """One loop: from the first op of its first turn to the last op of its last."""

    first: Row
    span: TimeSpan
    turns: int
    ops: int


def loops_over_tensors(ops: Sequence[Row], least: int) -> Iterator[Repeat]:
    """Loops of ``least`` turns or more that take items of a tensor, in the outermost ``ops``."""
    if sum(op.name == _SELECT for op in ops) < least:
        return
    for own in by_thread(ops).values():
        starts = [at for at, op in enumerate(own) if op.name == _SELECT]
        if len(starts) < least:
            continue
        pieces = [
            tuple(op.name for op in own[start:end])
            for start, end in zip(starts, [*starts[1:], len(own)], strict=True)
        ]
        at = 0
        while at + least <= len(pieces):
            taken, period = _turning(pieces, at)
            if taken < least * period:
                at += 1
                continue
            turn = sum(len(piece) for piece in pieces[at : at + period])
            last = starts[at] + turn * (taken // period) - 1
            yield Repeat(
                own[starts[at]],
                TimeSpan(own[starts[at]].ts, own[last].end),
                taken // period,
                turn * (taken // period),
            )
            at += taken


def _turning(pieces: Sequence[tuple[str, ...]], at: int) -> tuple[int, int]:
    """Return how many pieces from ``at`` on are the same again after each period, and that period."""
    best = (0, 1)
    for period in range(1, _MOST_SELECTS + 1):
        end = at + period
        while end < len(pieces) and pieces[end] == pieces[end - period]:
            end += 1
        if end - at >= 2 * period and (end - at) // period > best[0] // best[1]:
            best = (end - at, period)
    return best


def averages_by_parameter(ops: Sequence[Row], least: int) -> Iterator[Repeat]:
    """Runs of ops that mix ``least`` tensors or more into others, one after the other."""
    if sum(op.name in _MIXING for op in ops) < least:
        return
    for own in by_thread(ops).values():
        for is_averaging, group in groupby(own, key=lambda op: op.name in _AVERAGING):
            if not is_averaging:
                continue
            run = list(group)
            names = [op.name for op in run]
            mixed = names.count(_LERP)
            if _SCALING & set(names):
                mixed += max(names.count(name) for name in _WRITING)
            if mixed >= least:
                yield Repeat(run[0], TimeSpan(run[0].ts, run[-1].end), mixed, len(run))
