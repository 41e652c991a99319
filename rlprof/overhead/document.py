"""The cost of rlprof in blocks, and a pair of its runs in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rlprof.documents.blocks import Block, Paragraph, StyledText, Table, figures
from rlprof.names import printable
from rlprof.overhead.cost import (
    CONFIDENCE,
    LEAST_PAIRS,
    Basis,
    Loss,
    MeasuredOverhead,
    OwnCpu,
    RunPair,
)
from rlprof.report import wording
from rlprof.units import LEAST_PERCENT

_SHORT_S: Final = 30.0
"""Length of a run below which rlprof's start and end weigh more in it than in a training."""

_SEVERAL: Final = 1.5
"""Processes at a time, from which on the cost of one is told."""


def cost_document(cost: MeasuredOverhead) -> Iterator[Block]:
    what = "steps per second" if cost.basis is Basis.STEPS else "speed over the whole run"
    pairs = wording.counted(len(cost.pairs), "pair", "pairs")
    costs = f"rlprof costs {printable(cost.script)} {_loss(cost.loss)} of its {what} ({pairs})."
    yield Paragraph([StyledText(costs, "bold")])
    yield Table(
        figures("pair", "without", "with rlprof", "lost"),
        [
            (str(number), _speed(pair.bare, pair), _speed(pair.recorded, pair), _percent(pair.loss))
            for number, pair in enumerate(cost.pairs, start=1)
        ],
    )
    yield Paragraph([_own(cost.own)])
    yield from (Paragraph([StyledText(remark, "dim")]) for remark in _remarks(cost))


def pair_in_words(pair: RunPair) -> str:
    """``12 340 sps without, 12 270 sps with rlprof``."""
    bare, recorded = (_speed(speed, pair) for speed in (pair.bare, pair.recorded))
    return wording.unglued(f"{bare} without, {recorded} with rlprof")


def _speed(value: float, pair: RunPair) -> str:
    if pair.basis is Basis.WALL:
        return wording.duration(1e6 * value)
    return f"{wording.rate(value)}{wording.GLUE}{wording.rate_unit(pair)}"


def _loss(loss: Loss) -> str:
    """``0.6 % (-0.2 to 1.4 %)``; without an interval where there is none."""
    if loss.low is None or loss.high is None:
        return _percent(loss.middle)
    low = _percent(loss.low).removesuffix(f"{wording.GLUE}%")
    return f"{_percent(loss.middle)} ({low} to {_percent(loss.high)})"


def _percent(share: float) -> str:
    """A share in per cent, without a sign where it reads as nothing."""
    return wording.percent(share if abs(share) >= LEAST_PERCENT else 0.0)


def _own(own: OwnCpu) -> str:
    parts = ", ".join(
        f"{part.replace('_', ' ')} {wording.percent(cores)}" for part, cores in own.parts.items()
    )
    text = f"CPU time of rlprof: {wording.percent(own.cores)} of a core ({parts})"
    if own.processes < _SEVERAL:
        return f"{text}."
    return f"{text}, {wording.percent(own.per_process)} for each of {own.processes:.2g} processes."


def _remarks(cost: MeasuredOverhead) -> Iterator[str]:
    loss = cost.loss
    if loss.low is None or loss.high is None:
        yield f"An interval takes {LEAST_PAIRS} pairs or more."
    elif loss.low <= 0 <= loss.high:
        yield (
            f"The interval ({wording.percent(CONFIDENCE)}) holds zero: these pairs cannot tell the loss from the "
            "noise of the machine. More pairs and longer runs make it narrower."
        )
    if cost.why_wall:
        yield (
            f"Whole runs were timed, for {printable(cost.why_wall)}. They say something only where each does the "
            "same work."
        )
    elif cost.basis is Basis.STEPS:
        yield (
            f"Steps are from {printable(cost.pairs[0].source)} on both sides. What counting them takes is not in "
            "the loss; --wall times whole runs, and nothing of rlprof is in every other one."
        )
    if cost.own.wall_s < _SHORT_S:
        yield (
            f"The runs took less than {_SHORT_S:.0f} s: rlprof's start and its finer first seconds weigh more in "
            "them than in a training."
        )
