"""The history in blocks: a table of the runs, one of the fixes that were verified, and what was not read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from rlprof.documents.blocks import (
    Block,
    Cell,
    Column,
    Item,
    Items,
    Paragraph,
    Section,
    StyledText,
    Table,
    TerminalOnly,
)
from rlprof.history.rows import Gain, History, HistoryRow, Unread
from rlprof.model.profile import PhaseKind
from rlprof.names import printable
from rlprof.report import wording
from rlprof.verification import words as verification_words
from rlprof.verification.verified import VerifiedFix, times

_COLUMNS: Final = (
    Column(name="when (UTC)", wraps=False, goes=2),
    Column(name="stage", least=12),
    Column(name="command", under="stage"),
    Column(name="sps", is_figure=True),
    Column(name="low to high", is_figure=True, under="sps"),
    Column(name="gain", is_figure=True, goes=1),
    Column(name="over the first", is_figure=True, under="gain"),
    Column(name="top bottleneck"),
    Column(name="saves", under="top bottleneck", lead="\nsaves "),
    Column(name="wall", is_figure=True, under="when (UTC)", lead=", "),
    Column(under="stage", style="yellow"),
)

_LEGEND: Final = (
    "gain: over the run before and over the first; ≈ where noise, or other programs on the machine, "
    "explain as much"
)
_NOTHING: Final = "–"
_NAME_LIMIT: Final = 60


def history_document(history: History) -> Iterator[Block]:
    if history.rows:
        yield Table(_COLUMNS, [_cells(row) for row in history.rows])
    if len(history.rows) > 1:
        yield TerminalOnly(Paragraph([StyledText(_LEGEND, "dim")]))
    if history.verified:
        yield Section("Verified fixes", [_verified(history)])
    yield unread_items(history.unread)


def unread_items(unread: Iterable[Unread]) -> Items:
    return Items([Item(printable(file.reason, 300), "not read:", "yellow") for file in unread])


def _verified(history: History) -> Table:
    columns = [
        Column(name="when (UTC)", wraps=False, goes=2),
        Column(name="finding", least=12),
        Column(name="command", under="finding"),
        Column(name="promised", is_figure=True),
        Column(name="tried", is_figure=True, goes=1),
        Column(name="saved", is_figure=True),
        Column(name="interval", is_figure=True, under="saved"),
        Column(name="rate", is_figure=True, under="saved"),
        Column(name="promise"),
    ]
    return Table(columns, [_verified_cells(fix) for fix in history.verified])


def _verified_cells(fix: VerifiedFix) -> list[Cell]:
    tried = fix.promise.tried
    return [
        (f"{fix.measured:%Y-%m-%d}", StyledText(f"\n{fix.measured:%H:%M}", "dim")),
        printable(fix.promise.finding, _NAME_LIMIT),
        printable(wording.typed(fix.command), _NAME_LIMIT),
        wording.share_range(fix.promise.share),
        _NOTHING if tried is None else wording.percent(tried.median),
        wording.percent(fix.got.median),
        f"({wording.percents(fix.got.low, fix.got.high)})",
        f"{times(fix.got.median):.3g}×",
        verification_words.STANDINGS[fix.standing],
    ]


def _cells(row: HistoryRow) -> list[Cell]:
    return [
        (f"{row.run.started:%Y-%m-%d}", StyledText(f"\n{row.run.started:%H:%M}", "dim")),
        printable(row.stage, _NAME_LIMIT) or _NOTHING,
        printable(wording.typed(row.run.command), _NAME_LIMIT),
        _NOTHING if row.sps is None else wording.rate(row.sps.median),
        "" if row.sps is None else wording.rate_range(row.sps),
        _gain(row.over_previous),
        _gain(row.over_first),
        _NOTHING if row.top is None else row.top.finding.detector,
        _saving(row),
        wording.duration(row.run.wall_us),
        printable("; ".join(row.remarks)),
    ]


def _gain(value: Gain | None) -> str:
    """``8.9×``; ``≈1.02×`` where the rates do not tell the runs apart."""
    if value is None:
        return _NOTHING
    return f"{'' if value.is_clear else '≈'}{value.times:.3g}×"


def _saving(row: HistoryRow) -> str:
    if row.top is None:
        return ""
    share = wording.share_range(row.top.saved_share)
    is_steady = row.top.finding.phase is PhaseKind.STEADY
    return share if is_steady else f"{share} of {wording.of_what(row.top)}"
