"""Cells of the history in words, the same in every text format."""

from __future__ import annotations

from typing import Final

from rlprof.history.rows import Gain, Row
from rlprof.model.profile import PhaseKind
from rlprof.names import printable
from rlprof.report import wording

NOTHING: Final = "–"
LEGEND: Final = (
    "gain: over the run before and over the first; ≈ where noise, or other programs on the machine, "
    "explain as much"
)
_NAME_LIMIT: Final = 60


def stage(row: Row) -> str:
    return printable(row.stage, _NAME_LIMIT) or NOTHING


def command(row: Row) -> str:
    return printable(wording.typed(row.run.command), _NAME_LIMIT)


def rate(row: Row) -> str:
    return NOTHING if row.sps is None else wording.rate(row.sps.median)


def rate_range(row: Row) -> str:
    return "" if row.sps is None else wording.rate_range(row.sps)


def gain(value: Gain | None) -> str:
    """``8.9×``; ``≈1.02×`` where the rates do not tell the runs apart."""
    if value is None:
        return NOTHING
    return f"{'' if value.is_clear else '≈'}{value.times:.3g}×"


def bottleneck(row: Row) -> str:
    return NOTHING if row.top is None else row.top.finding.detector


def saving(row: Row) -> str:
    if row.top is None:
        return ""
    share = wording.share_range(row.top.saved_share)
    is_steady = row.top.finding.phase is PhaseKind.STEADY
    return share if is_steady else f"{share} of {wording.of_what(row.top)}"


def remarks(row: Row) -> str:
    return printable("; ".join(row.remarks))
