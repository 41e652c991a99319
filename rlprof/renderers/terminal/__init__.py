"""The report as text, for a terminal and for a CI log.

Read from the top: the verdict, what to fix in which order, and only then how the run went
and what was not seen. Colour adds nothing that the words do not say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rlprof.documents.blocks import Block, Inline, Paragraph, Remarks, Section, Span
from rlprof.documents.terminal import as_text
from rlprof.errors import UsageError
from rlprof.model.report import Report
from rlprof.names import printable
from rlprof.renderers.terminal.findings import also_seen, finding, hot_lines, paid_once
from rlprof.renderers.terminal.run import how_the_run_went, where_the_time_goes
from rlprof.report import wording
from rlprof.report.wording.crash import crash_line

DEFAULT_WIDTH: Final = 80
MIN_WIDTH: Final = 40


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
    is_export: bool = False
    needs_detail: bool = False

    def render(self, report: Report, options: Mapping[str, str]) -> str:
        return as_text(_document(report), width=_width(options), colored=_is_colored(options))


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


def _document(report: Report) -> Iterator[Block]:
    crash = report.crash
    head: list[Inline] = []
    if crash is not None:
        head.append(Span(crash_line(crash, report.run.wall_us), "bold red"))
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
    yield from where_the_time_goes(report)
    if why := wording.why_no_speed(report):
        yield Paragraph([Span(why, "yellow")])
    yield from (finding(priced, report) for priced in wording.known_causes(report))
    yield from hot_lines(wording.hot_lines(report), report)
    if once := wording.paid_once(report):
        yield Section(
            "Paid once, at the start", [Paragraph([paid_once(it, report) for it in once])]
        )
    if report.also_seen:
        seen = Paragraph([also_seen(priced, report) for priced in report.also_seen])
        yield Section("Also seen: worth knowing, but no steps per second", [seen])


def _verdict(report: Report) -> Inline:
    speed = wording.speed(report)
    style = "bold green" if wording.known_causes(report) else "bold"
    return Span(f"{speed}. " if speed else "", "bold"), Span(wording.advice(report), style)


def _run_line(report: Report) -> Span:
    run = report.run
    parts = [
        wording.command(report),
        wording.duration(run.wall_us),
        wording.counted(len(report.processes), "process", "processes"),
    ]
    if run.label:
        parts.append(printable(run.label))
    if run.exit_code:
        parts.append(f"exit code {run.exit_code}")
    if not run.complete:
        parts.append("recording was cut off")
    return Span(" · ".join(parts), "dim")


RENDERER: Final = TerminalRenderer()
