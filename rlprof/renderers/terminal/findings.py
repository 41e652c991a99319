"""The findings of the terminal report: priced causes, hot lines, and what costs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from rlprof.documents.terminal import bullet, grid, heading, range_bar
from rlprof.model.finding import Confidence, Location, PricedFinding
from rlprof.model.report import Report
from rlprof.names import cut_middle, printable, short_path
from rlprof.report import wording

_BAR_CELLS: Final = 24
_EVIDENCE_LINES: Final = 3
_HOT_LINES: Final = 5
_SOURCE_LIMIT: Final = 160
"""Characters of a source line shown; what is longer is generated, or data."""

_CONFIDENCE: Final = {
    Confidence.MEASURED: "measured",
    Confidence.BOUNDED: "bounded: the cause is known, what the fix leaves only within limits",
    Confidence.SUSPECTED: "suspected",
}


def finding(priced: PricedFinding, report: Report) -> RenderableType:
    found = priced.finding
    title = Text.assemble((f"{priced.rank}. {printable(found.title)}", "bold"))
    lines: list[RenderableType] = [_price(priced, report), _certainty(priced)]
    lines.extend(_location(location, report) for location in found.locations[:1])
    lines.extend(_other_places(found.locations[1:], report))
    lines.extend(
        bullet("-", Text(printable(evidence))) for evidence in found.evidence[:_EVIDENCE_LINES]
    )
    lines.append(bullet("Fix:", Text(printable(found.fix)), style="bold green"))
    lines.append(Text(f"More: rlprof explain {found.detector}", style="dim"))
    return Group(title, Padding(Group(*lines), (0, 0, 0, 3)))


def _price(priced: PricedFinding, report: Report) -> Text:
    text = range_bar(*priced.saved_share, size=_BAR_CELLS)
    text.append(f" saves {wording.share_range(priced.saved_share)} of {wording.of_what(priced)}")
    steady = report.throughput.steady_sps
    if priced.sps_after is not None and steady is not None:
        text.append("\n-> ")
        text.append(
            wording.between(priced.sps_after, wording.rate_unit(report.throughput)),
            style="bold green",
        )
        text.append(f" (now {wording.count(steady.median)})")
    return text


def _certainty(priced: PricedFinding) -> Text:
    roles = ", ".join(priced.process_roles)
    where = f" in {roles}" if roles and roles != "main" else ""
    return Text(
        f"{wording.seconds_saved(priced)} of this run{where}; {_CONFIDENCE[priced.finding.confidence]}",
        style="dim",
    )


def _location(location: Location, report: Report) -> RenderableType:
    at = Text.assemble(
        (f"{_place(location, report)}", "cyan"), f" in {printable(location.function)}"
    )
    if not location.source:
        return at
    source = Text(printable(location.source, _SOURCE_LIMIT), style="bold")
    return Group(at, Padding(source, (0, 0, 0, 4)))


def _other_places(locations: Sequence[Location], report: Report) -> Iterable[RenderableType]:
    shown = locations[:2]
    if not shown:
        return
    more = len(locations) - len(shown)
    places = ", ".join(f"{_place(at, report)} ({wording.percent(at.share)})" for at in shown)
    yield Text(f"also {places}" + (f" and {more} more" if more else ""), style="dim")


def hot_lines(findings: Sequence[PricedFinding], report: Report) -> Iterable[RenderableType]:
    if not findings:
        return
    yield heading("Hot lines with no known cause")
    table = grid(2)
    for priced in findings[:_HOT_LINES]:
        location = next(iter(priced.finding.locations), None)
        if location is None:
            table.add_row("", printable(priced.finding.title))
            continue
        at = _place(location, report)
        what = Text(f"{at} in {printable(location.function)}")
        if wording.is_spread_out(priced):
            most = wording.percent(location.share)
            what = Text(f"{printable(location.function)}, over many lines; most, {most}, on {at}")
        if location.source:
            what.append("\n" + printable(location.source, _SOURCE_LIMIT), style="dim")
        for evidence in priced.finding.evidence[1:]:
            what.append("\n" + printable(evidence), style="dim")
        table.add_row(Text(wording.share_of_spot(priced), style="dim"), what)
    yield table
    if len(findings) > _HOT_LINES:
        yield Text(f"and {len(findings) - _HOT_LINES} more", style="dim")


def also_seen(priced: PricedFinding, report: Report) -> Text:
    finding = priced.finding
    at = f" at {_place(finding.locations[0], report)}" if finding.locations else ""
    price = wording.price_of_seen(priced)
    return Text(f"  {printable(finding.title)}{at}: {price}", style="dim")


def _place(location: Location, report: Report) -> str:
    path = printable(short_path(location.file, report.run.cwd))
    return f"{cut_middle(path, 60)}:{location.line}"
