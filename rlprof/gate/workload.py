"""Whether base and head did the same work, for the rates of different work say nothing."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from statistics import median
from typing import Final

from rlprof.errors import MeasureError
from rlprof.names import printable
from rlprof.units import count

TOLERANCE: Final = 0.02
"""Relative difference in steps that a last, half filled rollout may make."""

_FEWEST_RUNS: Final = 3
"""Runs a side, below which steps that vary from run to run cannot be told from other work."""

_FEWEST_ALIKE: Final = 2
"""The same, of steps that do not vary."""


def check_same_unit(base: tuple[str, str], head: tuple[str, str]) -> None:
    """Of (unit, source) of both; raises :class:`MeasureError` where they differ."""
    if base != head:
        raise MeasureError(
            f"base and head count different things: {_counted(base)} and {_counted(head)}",
            slug="different-units",
            hint="count the same thing in both with --steps-from MODULE:FUNCTION or --sps-pattern",
        )


def check_same_steps(
    base: Sequence[float],
    head: Sequence[float],
    rates: tuple[Sequence[float], Sequence[float]],
) -> None:
    """Raise :class:`MeasureError` when all runs of one side made more steps than all of the other.

    ``rates`` are those of both. Programs that train for a time make as many steps as they can:
    where the rates differ likewise, that is let pass.
    """
    do_vary = len({*base}) > 1 or len({*head}) > 1
    if min(len(base), len(head)) < (_FEWEST_RUNS if do_vary else _FEWEST_ALIKE):
        return
    if max(base) >= min(head) and max(head) >= min(base):
        return
    if not median(base) or not median(head):
        return  # Who prints a rate alone does not say how many steps it makes.
    change = log(median(head) / median(base))
    explained = log(median(rates[1]) / median(rates[0])) if all(rates) else 0.0
    if abs(change) <= TOLERANCE or abs(change - explained) < abs(change) / 2:
        return
    was, now = count(median(base)), count(median(head))
    raise MeasureError(
        f"base and head do different work: base makes {was} steps, head {now}",
        slug="different-steps",
        hint="give both the same number of steps, or let both train for the same time",
    )


def _counted(what: tuple[str, str]) -> str:
    unit, source = what  # A baseline file may hold anything.
    return f"{printable(unit)} ({printable(source)})"
