"""The history in blocks: a table of the runs, one of the fixes that were verified, and what was not read; and its calibration."""

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
from rlprof.history.calibration import (
    Calibration,
    CalibrationRow,
    GainSource,
    MeasuredPromise,
    all_rows,
)
from rlprof.history.rows import Gain, History, HistoryRow, Unread
from rlprof.model.profile import PhaseKind
from rlprof.names import printable
from rlprof.pricing.ranking import times_as_fast
from rlprof.report import wording
from rlprof.verification import words
from rlprof.verification.verified import VerifiedFix

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
        f"{times_as_fast(fix.got.median):.3g}×",
        words.STANDINGS[fix.standing],
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


# --- the calibration: by detector and in all, then each promise beside what came ----------------

_NOTHING_YET: Final = (
    "Nothing that was promised here has been measured yet. `rlprof verify` after a fix adds a row, and so does each "
    "finding that `rlprof try` switches off and on."
)

_CALIBRATION_LEGEND: Final = (
    "held: the measured interval (90 %) and the promised range meet. error: the middle of what was promised less what "
    "came, in points of the time per step; + where too much was promised."
)


def calibration_document(calibration: Calibration) -> Iterator[Block]:
    if calibration.whole is None:
        yield Paragraph([_NOTHING_YET])
    else:
        yield Paragraph([StyledText(_in_all(calibration.whole), "bold")])
        yield _calibration_table(calibration)
        yield TerminalOnly(Paragraph([StyledText(_CALIBRATION_LEGEND, "dim")]))
        yield _each(calibration)
    yield Items([Item(text) for text in _left_out(calibration)])
    yield unread_items(calibration.unread)


def _in_all(whole: CalibrationRow) -> str:
    number = len(whole.promises)
    promises = wording.counted(number, "promise", "promises")
    return (
        f"{whole.kept} of {promises} held; the median error is {points(whole.median_excess)} points, the worst "
        f"{points(whole.worst_excess)}."
    )


def _calibration_table(calibration: Calibration) -> Table:
    columns = [
        Column(name="finding", least=14),
        Column(name="verified", is_figure=True, goes=2),
        Column(name="tried", is_figure=True, goes=1),
        Column(name="held", is_figure=True),
        Column(name="error", is_figure=True),
        Column(name="worst", is_figure=True),
    ]
    rows = [
        (
            printable(row.finding, _NAME_LIMIT) or "all",
            str(row.number(GainSource.VERIFIED)),
            str(row.number(GainSource.TRIED)),
            wording.percent(row.held),
            points(row.median_excess),
            points(row.worst_excess),
        )
        for row in all_rows(calibration)
    ]
    return Table(columns, rows)


def _each(calibration: Calibration) -> Section:
    columns = [
        Column(name="finding", least=14),
        Column(name="promised", is_figure=True),
        Column(name="came", is_figure=True),
        Column(name="interval", is_figure=True, under="came"),
        Column(name="error", is_figure=True, goes=1),
        Column(name="by", wraps=False, goes=2),
        Column(name="when (UTC)", wraps=False, goes=3),
        Column(under="finding"),
    ]
    return Section(
        "Each promise",
        [Table(columns, [_promise_cells(each) for each in calibration.promises])],
        is_folded=True,
    )


def _promise_cells(each: MeasuredPromise) -> tuple[str, ...]:
    return (
        printable(each.finding, _NAME_LIMIT),
        wording.share_range(each.promised),
        wording.percent(each.got.median),
        f"({wording.percents(each.got.low, each.got.high)})",
        points(each.excess),
        each.source.value,
        f"{each.when:%Y-%m-%d %H:%M}",
        words.STANDINGS[each.standing],
    )


def _left_out(calibration: Calibration) -> Iterator[str]:
    if calibration.ceilings:
        number = wording.counted(calibration.ceilings, "ceiling is", "ceilings are")
        yield f"{number} left out: a treatment that changes results bounds a gain, and measures none."
    if calibration.unclear:
        number = wording.counted(calibration.unclear, "experiment is", "experiments are")
        yield f"{number} left out, without a clear gain or loss."


def points(share: float) -> str:
    """``+12``, ``−3.4``, ``0``: per cent of the time, as a difference of two shares."""
    value = 100 * share
    text = f"{abs(value):.0f}" if abs(value) >= 9.95 else f"{abs(value):.1f}"
    if not float(text):
        return "0"
    return f"{'+' if value > 0 else '−'}{text}"
