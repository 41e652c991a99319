"""The report as text, for a terminal and for a CI log.

Read from the top: the verdict, what to fix in which order, and only then how the run went
and what was not seen. Colour adds nothing that the words do not say.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rlprof import wording
from rlprof.errors import UsageError
from rlprof.model.finding import Confidence, Location, PricedFinding, Range
from rlprof.model.recording import Note
from rlprof.model.report import ProcessRow, Report
from rlprof.names import cut_middle, printable, short_path

DEFAULT_WIDTH: Final = 80
MIN_WIDTH: Final = 40

_BAR_CELLS: Final = 24
_EVIDENCE_LINES: Final = 3
_HOT_LINES: Final = 5
_SOURCE_LIMIT: Final = 160
"""Characters of a source line shown; what is longer is generated, or data."""

_NOTE_STYLES: Final = {"error": "bold red", "warning": "yellow", "info": "dim"}
"""The gravest level first."""
_NOTE_LIMIT: Final = 1_000

_CONFIDENCE: Final = {
    Confidence.MEASURED: "measured",
    Confidence.BOUNDED: "bounded: the cause is known, what the fix leaves only within limits",
    Confidence.SUSPECTED: "suspected",
}


@dataclass(frozen=True)
class TerminalRenderer:
    name: str = "terminal"
    suffixes: tuple[str, ...] = (".txt",)
    options: Mapping[str, str] = field(
        default_factory=lambda: {
            "width": f"columns (default {DEFAULT_WIDTH})",
            "color": "always or never (default never)",
        }
    )

    def render(self, report: Report, options: Mapping[str, str]) -> str:
        return as_text(_parts(report), width=_width(options), colored=_is_colored(options))


def as_text(parts: Iterable[RenderableType], *, width: int, colored: bool) -> str:
    """``parts`` below each other, without the spaces that rich leaves at the ends of lines."""
    console = _console(width, colored=colored)
    for part in parts:
        console.print(part)
    assert isinstance(console.file, io.StringIO)
    lines = wording.unglued(console.file.getvalue()).split("\n")
    return "\n".join(line.rstrip() for line in lines).rstrip("\n") + "\n"


def _width(options: Mapping[str, str]) -> int:
    text = options.get("width", str(DEFAULT_WIDTH))
    if not text.isdecimal():
        raise UsageError(
            f"the option width of the terminal report is {text!r}",
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


def _console(width: int, *, colored: bool) -> Console:
    """A console that looks at nothing but its arguments: same report, same text."""
    return Console(
        file=io.StringIO(),
        width=width,
        height=25,
        color_system="standard" if colored else None,
        force_terminal=colored,
        no_color=not colored,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
    )


def _parts(report: Report) -> Iterable[RenderableType]:
    yield _verdict(report)
    yield _run_line(report)
    if report.throughput.steady_sps is None:
        yield Text()
        yield Text(wording.why_no_speed(report), style="yellow")
    for priced in wording.known_causes(report):
        yield Text()
        yield _finding(priced, report)
    yield from _hot_lines(wording.hot_lines(report), report)
    if report.also_seen:
        yield _heading("Also seen, not worth a change")
        yield from (_also_seen(priced, report) for priced in report.also_seen)
    yield from _how_the_run_went(report)
    yield from _notes(report.notes)


# --- the verdict ---------------------------------------------------------------------------


def _verdict(report: Report) -> Text:
    speed = wording.speed(report)
    style = "green" if wording.known_causes(report) else ""
    return Text.assemble(
        f"{speed}. " if speed else "", (wording.advice(report), style), style="bold"
    )


def _run_line(report: Report) -> Text:
    run = report.run
    parts = [
        wording.command(report),
        wording.duration(run.wall_us),
        _counted(len(report.processes), "process", "processes"),
    ]
    if run.label:
        parts.append(printable(run.label))
    if run.exit_code:
        parts.append(f"exit code {run.exit_code}")
    if not run.complete:
        parts.append("recording was cut off")
    return Text(" · ".join(parts), style="dim")


# --- findings ------------------------------------------------------------------------------


def _finding(priced: PricedFinding, report: Report) -> RenderableType:
    finding = priced.finding
    title = Text.assemble((f"{priced.rank}. {printable(finding.title)}", "bold"))
    lines: list[RenderableType] = [_price(priced, report), _certainty(priced)]
    lines.extend(_location(location, report) for location in finding.locations[:1])
    lines.extend(_other_places(finding.locations[1:], report))
    lines.extend(
        _bullet("-", Text(printable(evidence))) for evidence in finding.evidence[:_EVIDENCE_LINES]
    )
    lines.append(_bullet("Fix:", Text(printable(finding.fix)), style="bold green"))
    lines.append(Text(f"More: rlprof explain {finding.detector}", style="dim"))
    return Group(title, Padding(Group(*lines), (0, 0, 0, 3)))


def _price(priced: PricedFinding, report: Report) -> Text:
    text = Text()
    text.append_text(_bar(priced.saved_share))
    text.append(f" saves {wording.share_range(priced.saved_share)} of {wording.of_what(priced)}")
    steady = report.throughput.steady_sps
    if priced.sps_after is not None and steady is not None:
        text.append("\n-> ")
        text.append(wording.between(priced.sps_after, "sps"), style="bold green")
        text.append(f" (now {wording.count(steady.median)})")
    return text


def _bar(share: Range) -> Text:
    """What is saved for sure, what may be saved, and what stays."""
    low = round(share.low * _BAR_CELLS)
    high = max(low, round(share.high * _BAR_CELLS))
    return Text.assemble(
        ("█" * low, "green"), ("▒" * (high - low), "green"), ("░" * (_BAR_CELLS - high), "dim")
    )


def _certainty(priced: PricedFinding) -> Text:
    seconds = Range(priced.saved_us.low / 1e6, priced.saved_us.high / 1e6)
    roles = ", ".join(priced.process_roles)
    where = f" in {roles}" if roles and roles != "main" else ""
    return Text(
        f"{wording.between(seconds, 's')} of this run{where}; {_CONFIDENCE[priced.finding.confidence]}",
        style="dim",
    )


def _location(location: Location, report: Report) -> RenderableType:
    place = Text.assemble(
        (f"{_place(location, report)}", "cyan"), f" in {printable(location.function)}"
    )
    if not location.source:
        return place
    source = Text(printable(location.source, _SOURCE_LIMIT), style="bold")
    return Group(place, Padding(source, (0, 0, 0, 4)))


def _other_places(locations: Sequence[Location], report: Report) -> Iterable[RenderableType]:
    shown = locations[:2]
    if not shown:
        return
    more = len(locations) - len(shown)
    places = ", ".join(f"{_place(at, report)} ({wording.percent(at.share)})" for at in shown)
    yield Text(f"also {places}" + (f" and {more} more" if more else ""), style="dim")


def _hot_lines(findings: Sequence[PricedFinding], report: Report) -> Iterable[RenderableType]:
    if not findings:
        return
    yield _heading("Hot lines with no known cause")
    table = _grid(2)
    for priced in findings[:_HOT_LINES]:
        location = next(iter(priced.finding.locations), None)
        if location is None:
            table.add_row("", printable(priced.finding.title))
            continue
        what = Text(f"{_place(location, report)} in {printable(location.function)}")
        if location.source:
            what.append("\n" + printable(location.source, _SOURCE_LIMIT), style="dim")
        for evidence in priced.finding.evidence[1:]:
            what.append("\n" + printable(evidence), style="dim")
        table.add_row(Text(wording.percent(location.share), style="dim"), what)
    yield table
    if len(findings) > _HOT_LINES:
        yield Text(f"and {len(findings) - _HOT_LINES} more", style="dim")


def _also_seen(priced: PricedFinding, report: Report) -> Text:
    finding = priced.finding
    at = f" at {_place(finding.locations[0], report)}" if finding.locations else ""
    price = f"at most {wording.percent(priced.saved_share.high)}"
    return Text(f"  {printable(finding.title)}{at}: {price}", style="dim")


# --- how the run went ----------------------------------------------------------------------


def _how_the_run_went(report: Report) -> Iterable[RenderableType]:
    yield _heading("The run")
    table = _grid(2)
    table.add_row("Phases", _phases(report))
    throughput = report.throughput
    if throughput.steady_sps is not None:
        interval = Range(throughput.steady_sps.low, throughput.steady_sps.high)
        table.add_row(
            "Steps",
            f"{wording.count(throughput.total_steps)} counted by {throughput.source}; steady "
            f"{wording.speed(report)} ({wording.between(interval, 'sps')})",
        )
    for name, value in report.counters_per_step:
        table.add_row(printable(name), f"{wording.count(value)} per step")
    table.add_row("rlprof", _overhead(report))
    yield table
    if report.processes:
        yield Text()
        yield _processes(report.processes)


def _phases(report: Report) -> str:
    wall = report.run.wall_us
    parts = []
    for phase in report.phases:
        length = phase.end_us - phase.start_us
        share = f" ({wording.percent(length / wall)})" if wall else ""
        parts.append(f"{phase.kind.value} {wording.duration(length)}{share}")
    return ", ".join(parts) or "none seen"


def _overhead(report: Report) -> str:
    cost = report.overhead
    total = cost.samplers_cpu_s + cost.recorder_cpu_s + cost.probe_cpu_s
    return f"cost {wording.duration(total * 1e6)} of CPU itself, {wording.percent(cost.share_of_cores)} of the cores"


def _processes(rows: Sequence[ProcessRow]) -> Table:
    """One line for each kind of process: what is alike is folded, with the range of its times."""
    alike: dict[tuple[str, str, bool, str], list[ProcessRow]] = {}
    for row in rows:
        alike.setdefault((row.role, row.python, row.sampled, row.note), []).append(row)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
    table.add_column("process")
    for heading in ("wall s", "CPU s", "samples/s"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", style="dim")
    for (role, _, sampled, note), group in alike.items():
        name = f"{role} {group[0].pid}" if len(group) == 1 else f"{len(group)} {role}s"
        rate = _spread([row.achieved_hz for row in group], "{:.0f}") if sampled else "not sampled"
        table.add_row(
            Text(name),
            _spread([row.wall_s for row in group], "{:.1f}"),
            _spread([row.cpu_s for row in group], "{:.1f}"),
            Text(rate, style="" if sampled else "yellow"),
            Text(printable(note)),
        )
    return table


def _spread(values: Sequence[float], form: str) -> str:
    low, high = form.format(min(values)), form.format(max(values))
    return low if low == high else f"{low} to {high}"


def _notes(notes: Sequence[Note]) -> Iterable[RenderableType]:
    if not notes:
        return
    yield _heading("What to know about this recording")
    by_weight = {level: place for place, level in enumerate(_NOTE_STYLES)}
    for note in sorted(notes, key=lambda note: by_weight.get(note.level, len(by_weight))):
        style = _NOTE_STYLES.get(note.level, "")
        yield _bullet(f"{note.level}:", Text(printable(note.text, _NOTE_LIMIT)), style=style)


# --- words and shapes ----------------------------------------------------------------------


def _heading(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def _grid(columns: int) -> Table:
    table = Table.grid(padding=(0, 2))
    for number in range(columns):
        table.add_column(no_wrap=number == 0, justify="left")
    return table


def _bullet(mark: str, text: Text, *, style: str = "") -> Table:
    """``text`` hanging behind ``mark``, so that wrapped lines stay beside it."""
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_row(Text(mark, style=style), text)
    return table


def _place(location: Location, report: Report) -> str:
    path = printable(short_path(location.file, report.run.cwd))
    return f"{cut_middle(path, 60)}:{location.line}"


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


RENDERER: Final = TerminalRenderer()
