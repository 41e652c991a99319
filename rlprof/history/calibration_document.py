"""The calibration in blocks: by detector and in all, then each promise beside what came."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rlprof.documents.blocks import (
    Block,
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
from rlprof.history.document import unread_items
from rlprof.names import printable
from rlprof.report import wording
from rlprof.verification import words

_NAME_LIMIT: Final = 60

_NOTHING_YET: Final = (
    "Nothing that was promised here has been measured yet. `rlprof verify` after a fix adds a row, and so does each "
    "finding that `rlprof try` switches off and on."
)

_LEGEND: Final = (
    "held: the measured interval (90 %) and the promised range meet. error: the middle of what was promised less what "
    "came, in points of the time per step; + where too much was promised."
)


def calibration_document(calibration: Calibration) -> Iterator[Block]:
    if calibration.whole is None:
        yield Paragraph([_NOTHING_YET])
    else:
        yield Paragraph([StyledText(_in_all(calibration.whole), "bold")])
        yield _table(calibration)
        yield TerminalOnly(Paragraph([StyledText(_LEGEND, "dim")]))
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


def _table(calibration: Calibration) -> Table:
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
        [Table(columns, [_cells(each) for each in calibration.promises])],
        is_folded=True,
    )


def _cells(each: MeasuredPromise) -> tuple[str, ...]:
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
