"""The findings of the terminal report: priced causes, hot lines, and what costs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rlprof.documents.blocks import (
    Block,
    Inline,
    Item,
    Items,
    Paragraph,
    RangeBar,
    Section,
    Span,
    fact_table,
)
from rlprof.model.finding import Location, PricedFinding
from rlprof.model.report import Report
from rlprof.names import cut_middle, printable, short_path
from rlprof.report import wording

_EVIDENCE_LINES: Final = 3
_HOT_LINES: Final = 5
_SOURCE_LIMIT: Final = 160
"""Characters of a source line shown; what is longer is generated, or data."""


def finding(priced: PricedFinding, report: Report) -> Section:
    found = priced.finding
    evidence = [Item(printable(text)) for text in found.evidence[:_EVIDENCE_LINES]]
    fix = Item(printable(found.fix), "Fix:", "bold green")
    return Section(
        f"{priced.rank}. {printable(found.title)}",
        [
            Paragraph([_price(priced, report), Span(_certainty(priced), "dim")]),
            *(_location(location, report) for location in found.locations[:1]),
            *_other_places(found.locations[1:], report),
            Items([*evidence, fix]),
            Paragraph([Span(f"More: rlprof explain {found.detector}", "dim")]),
        ],
        indent=3,
    )


def _price(priced: PricedFinding, report: Report) -> Inline:
    bar = RangeBar(*priced.saved_share)
    saves = f" saves {wording.share_range(priced.saved_share)} of {wording.of_what(priced)}"
    steady = report.throughput.steady_sps
    if priced.sps_after is None or steady is None:
        return bar, saves
    after = wording.between(priced.sps_after, wording.rate_unit(report.throughput))
    now = f" (now {wording.count(steady.median)})"
    return bar, f"{saves}\n-> ", Span(after, "bold green"), now


def _certainty(priced: PricedFinding) -> str:
    roles = ", ".join(priced.process_roles)
    where = f" in {roles}" if roles and roles != "main" else ""
    confidence = wording.CERTAINTY[priced.finding.confidence]
    return f"{wording.seconds_saved(priced)} of this run{where}; {confidence}"


def _location(location: Location, report: Report) -> Block:
    at = Span(_place(location, report), "cyan"), f" in {printable(location.function)}"
    if not location.source:
        return Paragraph([at])
    source = Span(printable(location.source, _SOURCE_LIMIT), "bold")
    return Section(at, [Paragraph([source])], indent=4)


def _other_places(locations: Sequence[Location], report: Report) -> Iterator[Block]:
    shown = locations[:2]
    if not shown:
        return
    more = len(locations) - len(shown)
    places = ", ".join(f"{_place(at, report)} ({wording.percent(at.share)})" for at in shown)
    yield Paragraph([Span(f"also {places}" + (f" and {more} more" if more else ""), "dim")])


def hot_lines(findings: Sequence[PricedFinding], report: Report) -> Iterator[Block]:
    if not findings:
        return
    blocks: list[Block] = [fact_table([_hot_line(it, report) for it in findings[:_HOT_LINES]])]
    if len(findings) > _HOT_LINES:
        blocks.append(Paragraph([Span(f"and {len(findings) - _HOT_LINES} more", "dim")]))
    yield Section("Hot lines with no known cause", blocks)


def _hot_line(priced: PricedFinding, report: Report) -> tuple[Inline, Inline]:
    location = next(iter(priced.finding.locations), None)
    if location is None:
        return "", printable(priced.finding.title)
    at = _place(location, report)
    what = f"{at} in {printable(location.function)}"
    if wording.is_spread_out(priced):
        most = wording.percent(location.share)
        what = f"{printable(location.function)}, over many lines; most, {most}, on {at}"
    below = [printable(evidence) for evidence in priced.finding.evidence[1:]]
    if location.source:
        below.insert(0, printable(location.source, _SOURCE_LIMIT))
    share = Span(wording.share_of_spot(priced), "dim")
    return share, (what, *(Span(f"\n{line}", "dim") for line in below))


def paid_once(priced: PricedFinding, report: Report) -> Span:
    found = priced.finding
    at = f" at {_place(found.locations[0], report)}" if found.locations else ""
    return Span(
        f"  {printable(found.title)}{at}: saves {wording.seconds_saved(priced)}. "
        f"More: rlprof explain {found.detector}",
        "",
    )


def also_seen(priced: PricedFinding, report: Report) -> Span:
    finding = priced.finding
    at = f" at {_place(finding.locations[0], report)}" if finding.locations else ""
    price = wording.price_of_seen(priced)
    return Span(f"  {printable(finding.title)}{at}: {price}", "dim")


def _place(location: Location, report: Report) -> str:
    path = printable(short_path(location.file, report.run.cwd))
    return f"{cut_middle(path, 60)}:{location.line}"
