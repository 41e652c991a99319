"""The report as text, for a terminal and for a CI log.

Read from the top: the verdict, what to fix in which order, and only then how the run went
and what was not seen. Colour adds nothing that the words do not say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Final

from rlprof.documents.blocks import (
    Block,
    Cell,
    Column,
    Inline,
    Item,
    Items,
    Paragraph,
    RangeBar,
    Remarks,
    Section,
    StyledText,
    Table,
    fact_table,
    figures,
)
from rlprof.documents.experiments import tried_table
from rlprof.documents.terminal import as_text, is_width
from rlprof.errors import UsageError
from rlprof.model.activity import Component
from rlprof.model.finding import Finding, Location, PricedFinding
from rlprof.model.report import ProcessRow, Report
from rlprof.names import printable, short_line
from rlprof.renderers.base import Renderer
from rlprof.report import wording
from rlprof.report.wording.crash import bad_end
from rlprof.report.wording.experiments import measured_times
from rlprof.report.wording.rates import on_the_rate
from rlprof.report.wording.run import (
    about_the_parts,
    alike_processes,
    marked_phases,
    parts_of_the_time,
    run_facts,
    run_line,
    samples_per_second,
    spread,
    wait_lines,
    waits_for_cores,
    with_its_wait,
)

DEFAULT_WIDTH: Final = 80
MIN_WIDTH: Final = 40


def _render(report: Report, options: Mapping[str, str]) -> str:
    return as_text(_document(report), width=_width(options), colored=_is_colored(options))


def _width(options: Mapping[str, str]) -> int:
    text = options.get("width", str(DEFAULT_WIDTH))
    if not is_width(text):
        raise UsageError(
            f"the option width of the terminal report is {text[:80]!r}",
            slug="bad-render-option",
            hint="give a number of columns, for example -p width=100",
        )
    return max(MIN_WIDTH, int(text))


def _is_colored(options: Mapping[str, str]) -> bool:
    text = options.get("color", "never")
    if text not in ("always", "never"):
        raise UsageError(
            f"the option color of the terminal report is {text!r}",
            slug="bad-render-option",
            hint="give -p color=always or -p color=never",
        )
    return text == "always"


def _document(report: Report) -> Iterator[Block]:
    crash = report.crash
    head: list[Inline] = []
    if end := bad_end(report):
        head.append(StyledText(end, "bold red"))
    is_early = crash is not None and crash.before_steady
    if is_early:
        # What there is of a run that crashed too early to say more of it.
        yield Paragraph([*head, _run_line(report), wording.NO_ADVICE])
    else:
        yield from _advice(report, head)
    yield from how_the_run_went(report)
    yield Remarks("What to know about this recording", wording.gravest_first(report.notes))
    if is_early and report.run_file:
        yield Paragraph([f"The recording is in {printable(report.run_file)}."])


def _advice(report: Report, head: Sequence[Inline]) -> Iterator[Block]:
    """The verdict, and what to fix in which order."""
    bound = [f"Bound by {printable(report.bound.text)}."] if report.bound.text else []
    yield Paragraph([*head, _verdict(report), _run_line(report), *bound])
    if why := on_the_rate(report):
        yield Paragraph([StyledText(why, "yellow")])
    yield from time_sections(report)
    yield from (finding(priced, report) for priced in wording.known_causes(report))
    if report.experiments:
        yield Section("Tried while the training ran", [tried_table(report)])
    yield from hot_lines(wording.hot_lines(report), report)
    if once := wording.paid_once(report):
        yield Section(
            "Paid once, at the start", [Paragraph([paid_once(priced, report) for priced in once])]
        )
    if report.also_seen:
        seen = Paragraph([also_seen(priced, report) for priced in report.also_seen])
        yield Section("Also seen", [seen])


def _verdict(report: Report) -> Inline:
    speed = wording.speed(report)
    style = "bold green" if wording.known_causes(report) else "bold"
    return StyledText(f"{speed}. " if speed else "", "bold"), StyledText(
        wording.advice(report), style
    )


def _run_line(report: Report) -> StyledText:
    label = printable(report.run.label or "")
    return StyledText(run_line(report, wording.command(report), label), "dim")


# --- findings: priced causes, hot lines, and what costs nothing -----------------------------


_EVIDENCE_LINES: Final = 3
_HOT_LINES: Final = 5
_SOURCE_LIMIT: Final = 160
_LONGEST_PART: Final = len("waiting for a core")
"""Characters of a source line shown; what is longer is generated, or data."""


def finding(priced: PricedFinding, report: Report) -> Section:
    found = priced.finding
    evidence = [Item(printable(text)) for text in found.evidence[:_EVIDENCE_LINES]]
    fix = Item(printable(found.fix), "Fix:", "bold green")
    return Section(
        f"{priced.rank}. {printable(found.title)}",
        [
            Paragraph([_price(priced, report), StyledText(_certainty(priced), "dim")]),
            *(_location(location, report) for location in found.locations[:1]),
            *_other_places(found.locations[1:], report),
            Items([*evidence, fix]),
            Paragraph([StyledText(f"More: rlprof explain {found.detector}", "dim")]),
        ],
        indent=3,
    )


def _price(priced: PricedFinding, report: Report) -> Inline:
    bar = RangeBar(*priced.saved_share)
    saves = f" saves {wording.share_saved(priced)}"
    if times := measured_times(priced):
        saves = f" {times}\n{saves.strip()}"
    steady = report.throughput.steady_sps
    after = wording.price_after(priced, report)
    if not after or steady is None:
        return bar, saves
    now = f" (now {wording.rate(steady.median)})"
    return bar, f"{saves}\n-> ", StyledText(after, "bold green"), now


def _certainty(priced: PricedFinding) -> str:
    roles = ", ".join(priced.process_roles)
    where = f" in {roles}" if roles and roles != "main" else ""
    confidence = wording.CERTAINTY[priced.finding.confidence]
    return f"{wording.seconds_saved(priced)} of this run{where}; {confidence}"


def _location(location: Location, report: Report) -> Block:
    at = StyledText(_place(location, report), "cyan"), f" in {printable(location.function)}"
    if not location.source:
        return Paragraph([at])
    source = StyledText(printable(location.source, _SOURCE_LIMIT), "bold")
    return Section(at, [Paragraph([source])], indent=4)


def _other_places(locations: Sequence[Location], report: Report) -> Iterator[Block]:
    shown = locations[:2]
    if not shown:
        return
    more = len(locations) - len(shown)
    places = ", ".join(f"{_place(at, report)} ({wording.percent(at.share)})" for at in shown)
    yield Paragraph([StyledText(f"also {places}" + (f" and {more} more" if more else ""), "dim")])


def hot_lines(findings: Sequence[PricedFinding], report: Report) -> Iterator[Block]:
    if not findings:
        return
    blocks: list[Block] = [
        fact_table([_hot_line(priced, report) for priced in findings[:_HOT_LINES]])
    ]
    if len(findings) > _HOT_LINES:
        blocks.append(Paragraph([StyledText(f"and {len(findings) - _HOT_LINES} more", "dim")]))
    yield Section("Hot lines with no known cause", blocks)


def _hot_line(priced: PricedFinding, report: Report) -> tuple[Inline, Inline]:
    location = next(iter(priced.finding.locations), None)
    if location is None:
        return "", printable(priced.finding.title)
    at = _place(location, report)
    what = f"{at} in {printable(location.function)}"
    if wording.is_spread_out(priced):
        most = wording.percent(location.share)
        what = f"{printable(location.function)}, over several lines; most, {most}, on {at}"
    below = wording.facts_of_spot(priced, report)
    if location.source:
        below.insert(0, printable(location.source, _SOURCE_LIMIT))
    share = StyledText(wording.share_of_spot(priced), "dim")
    return share, (what, *(StyledText(f"\n{line}", "dim") for line in below))


def paid_once(priced: PricedFinding, report: Report) -> StyledText:
    found = priced.finding
    return StyledText(
        f"  {_title_and_place(found, report)}: saves {wording.seconds_saved(priced)}. "
        f"More: rlprof explain {found.detector}",
        "",
    )


def also_seen(priced: PricedFinding, report: Report) -> StyledText:
    price = wording.price_of_seen(priced)
    return StyledText(f"  {_title_and_place(priced.finding, report)}: {price}", "dim")


def _title_and_place(finding: Finding, report: Report) -> str:
    """The title, with the first place unless the title names it."""
    title = printable(finding.title)
    if not finding.locations:
        return title
    first = finding.locations[0]
    has_place = f"{PurePath(first.file).name}:{first.line}" in finding.title
    return title if has_place else f"{title} at {_place(first, report)}"


def _place(location: Location, report: Report) -> str:
    return short_line(location.file, location.line, report.run.cwd, 60)


# --- how the run went -----------------------------------------------------------------------


def time_sections(report: Report) -> Iterator[Section]:
    """Parts of training and waits, the program's own phases, and how far each is from what it could do alone."""
    if parts := parts_of_the_time(report):
        about = [Paragraph([text]) for text in [about_the_parts(report)] if text]
        table = _parts(parts, "part", with_waits=waits_for_cores(report))
        yield Section("Where the time goes", [table, *about])
    if phases := marked_phases(report):
        yield Section("Phases that the program marks", [_parts(phases, "phase")])


def _parts(rows: Sequence[Component], what: str, *, with_waits: bool = False) -> Table:
    counted = any(row.per_step_us for row in rows)
    columns: list[tuple[str, Callable[[Component], str]]] = [
        (what, lambda row: printable(row.name)),
        ("of the time", lambda row: wording.percent(row.share)),
    ]
    if with_waits:
        columns.append(("with waits", with_its_wait))
    if counted:
        columns += [
            (
                "CPU per step",
                lambda row: wording.duration(row.per_step_us) if row.per_step_us else "",
            ),
            (
                "alone it would do",
                lambda row: f"{wording.rate(row.ceiling_sps)} sps" if row.ceiling_sps else "",
            ),
        ]
    cells: list[list[Cell]] = [[told(row) for _, told in columns] for row in rows]
    return Table(
        [Column(name=what, least=_LONGEST_PART), *figures(*(name for name, _ in columns[1:]))],
        cells,
    )


def how_the_run_went(report: Report) -> Iterator[Block]:
    yield Section("The run", [fact_table(list(run_facts(report)))])
    if report.processes:
        yield _processes(report.processes)
    if lines := wait_lines(report):
        waits = [(who, what, StyledText(whom, "dim")) for who, what, whom in lines]
        yield Section("Who waits for whom", [fact_table(waits, columns=3)])


def _processes(rows: Sequence[ProcessRow]) -> Table:
    """One line for each kind of process."""
    cells = [
        (
            wording.named(group[0].role, [row.pid for row in group]),
            spread([row.wall_s for row in group], "{:.1f}"),
            spread([row.start_up_s for row in group], "{:.1f}"),
            spread([row.cpu_s for row in group], "{:.1f}"),
            samples_per_second(group) if group[0].sampled else StyledText("not sampled", "yellow"),
            printable(group[0].note),
        )
        for group in alike_processes(rows)
    ]
    columns = [
        Column(name="process", least=16),
        Column(name="wall s", is_figure=True),
        Column(name="start-up s", is_figure=True, goes=2),
        Column(name="CPU s", is_figure=True),
        Column(name="samples/s", is_figure=True, goes=1),
        Column(under="process"),
    ]
    return Table(columns, cells)


RENDERER: Final = Renderer(
    name="terminal",
    suffixes=(".txt",),
    render=_render,
    options={
        "width": f"columns (default {DEFAULT_WIDTH})",
        "color": "always or never (default never)",
    },
)
