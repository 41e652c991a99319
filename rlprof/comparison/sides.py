"""The two runs of a comparison: what they are called, and their rates."""

from __future__ import annotations

from typing import Final, NamedTuple

from rlprof.model.report import Report
from rlprof.pace.rates import RateChange, change_of_rate, crowding, explained_by_crowding


class SideNames(NamedTuple):
    base: str
    new: str


BASE_AND_NEW: Final = SideNames("BASE", "NEW")


def rate_change(base: Report, new: Report) -> RateChange | None:
    was, now = base.throughput.steady_sps, new.throughput.steady_sps
    if not comparable_steps(base, new) or was is None or now is None:
        return None
    return change_of_rate(was, now, crowding_then=crowding_of(base), crowding_now=crowding_of(new))


def comparable_steps(base: Report, new: Report) -> bool:
    """Tell whether both runs have a rate, of the same thing."""
    was, now = base.throughput, new.throughput
    if was.steady_sps is None or now.steady_sps is None or was.unit != now.unit:
        return False
    return was.steady_sps.median > 0 and now.steady_sps.median > 0


def crowding_of(report: Report) -> float:
    use = report.resources
    return 0.0 if use is None else crowding(available=use.cores, used=use.used, queued=use.queued)


def crowding_between(base: Report, new: Report) -> float:
    return explained_by_crowding(crowding_of(base), crowding_of(new))
