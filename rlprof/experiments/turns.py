"""In which order a treatment is on and off, how long each time, and when enough is known.

A pair is a slot with and a slot without the treatment, one after the other; which comes first alternates, so that a drift cancels out. What is
buffered at the beginning of a slot belongs to the slot before: where long slots say something else than short ones, the long ones are right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import exp, log
from typing import Final, NamedTuple

from rlprof.gate.statistics import paired_shift
from rlprof.model.experiment import MeasuredShare

ERROR: Final = 0.05
"""Probability with which the truth is below the interval, and as much above it."""

FIRST_PAIRS: Final = 5
"""Pairs from which on there are bounds: with fewer none holds with that probability (``signed_rank_law``)."""

LONG_PAIRS: Final = 3
"""Pairs of slots of twice the length, to compare with."""

WIDTH: Final = 0.05
"""Interval of the saved share that is narrow enough."""

NOTHING: Final = 0.02
"""Upper end of an interval below which nothing is gained."""

AGREE: Final = 0.03
"""Saved share by which short and long slots may differ, whatever their noise."""

CLEAR: Final = 0.15
"""Interval of the saved share up to which one that ends with its budget still says something."""


class Slot(NamedTuple):
    is_on: bool
    length_s: float


@dataclass
class SlotTurns:
    """The slots of one experiment. Ask for :meth:`next`, and tell its rate by :meth:`add`."""

    slot_s: float
    """Length of the first slots."""
    lengthens: bool = True
    """True if slots of twice the length are compared with them; not where they are as long as there is time for."""
    trusted_s: float = 0.0
    """Length that slots have before they may say that nothing is gained: in shorter ones a program may live on what others have put into its buffers."""
    _ratios: dict[float, list[float]] = field(default_factory=dict)
    """The logarithm of the rate with over the rate without the treatment, of each pair, by the length of its slots."""
    _half: float | None = None
    """Rate of the first slot of a pair."""
    _slots: int = 0
    _length_s: float = 0.0

    def __post_init__(self) -> None:
        self._length_s = self.slot_s

    def next(self) -> Slot:
        """Return the slot that comes now."""
        # Off, on, on, off, ...: each pair begins with what the last one ended with.
        return Slot(self._slots % 4 in (1, 2), self._length_s)

    def add(self, rate: float | None) -> None:
        """Take in the rate of that slot; None where nothing was counted, and its pair says nothing."""
        is_second = self._slots % 2 == 1
        is_on = self._slots % 4 in (1, 2)
        self._slots += 1
        if not is_second:
            self._half = rate
            return
        if rate and self._half:
            ratio = log(rate / self._half) if is_on else log(self._half / rate)
            self._ratios.setdefault(self._length_s, []).append(ratio)
        self._half = None
        self._lengthen()

    def _lengthen(self) -> None:
        """Go on with slots of twice the length once these have been enough, and leave the short ones where they say something else."""
        here = self._ratios.get(self._length_s, [])
        if len(self._ratios) <= 1:
            if self.lengthens and len(here) >= FIRST_PAIRS and not self._is_nothing:
                self._length_s *= 2
        elif len(here) >= LONG_PAIRS and not self._agree():
            self._ratios = {self._length_s: here}

    def _agree(self) -> bool:
        *short, long = self._ratios.values()
        middles = [paired_shift(ratios, ERROR) for ratios in ([*chain(*short)], long)]
        apart = abs(_saved(middles[0].middle) - _saved(middles[1].middle))
        return apart <= AGREE + sum(shift.spread for shift in middles)

    @property
    def pairs(self) -> int:
        return sum(map(len, self._ratios.values()))

    @property
    def longest_s(self) -> float:
        return max(self._ratios, default=self.slot_s)

    @property
    def measured(self) -> MeasuredShare | None:
        """Return what all pairs that count come to; None before there are any bounds."""
        return measured_share([*chain(*self._ratios.values())])

    @property
    def is_enough(self) -> bool:
        """True if more slots would not change what is to be said."""
        measured = self.measured
        if measured is None:
            return False
        if self._is_nothing:
            return True
        has_long = len(self._ratios) > 1 and len(self._ratios[self._length_s]) >= LONG_PAIRS
        is_long_alone = self.slot_s not in self._ratios
        is_compared = has_long or is_long_alone or not self.lengthens
        return is_compared and measured.high - measured.low <= WIDTH

    @property
    def _is_nothing(self) -> bool:
        measured = self.measured
        if measured is None or self.longest_s < self.trusted_s:
            return False
        return is_clear(measured) and measured.high < NOTHING


def measured_share(ratios: Sequence[float], further: float = 0.0) -> MeasuredShare | None:
    """The saved share from the logarithm of treated over untreated rate of each pair; None where they are too few for bounds.

    Bounds are moved ``further`` apart, each by as much of that logarithm, for what the pairs have in common.
    """
    if len(ratios) < FIRST_PAIRS:
        return None
    shift = paired_shift(ratios, ERROR)
    return MeasuredShare(
        _saved(shift.middle), _saved(shift.low - further), _saved(shift.high + further)
    )


def is_clear(measured: MeasuredShare | None) -> bool:
    """Tell whether what is known by now may be told as a measurement."""
    if measured is None:
        return False
    return measured.high - measured.low <= CLEAR


def _saved(shift: float) -> float:
    """Saved share of the time per step, from the logarithm of the rate with over the rate without."""
    return 1 - exp(-shift)
