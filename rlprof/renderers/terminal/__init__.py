"""The report as text, for a terminal and for a CI log.

Read from the top: the verdict, what to fix in which order, and only then how the run went
and what was not seen. Colour adds nothing that the words do not say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from rlprof.documents.terminal import heading, printed
from rlprof.errors import UsageError
from rlprof.model.report import Report
from rlprof.names import printable
from rlprof.renderers.terminal.findings import also_seen, finding, hot_lines
from rlprof.renderers.terminal.run import how_the_run_went, notes
from rlprof.renderers.terminal.step import step_table
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
        return printed(_parts(report), width=_width(options), colored=_is_colored(options))


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


def _parts(report: Report) -> Iterable[RenderableType]:
    if report.crash is not None:
        yield Text(crash_line(report.crash, report.run.wall_us), style="bold red")
    if report.crash is not None and report.crash.before_steady:
        yield from _what_there_is(report)
        return
    yield _verdict(report)
    yield _run_line(report)
    if report.bound.text:
        yield Text(f"Bound by {printable(report.bound.text)}.")
    yield from step_table(report)
    if why := wording.why_no_speed(report):
        yield Text()
        yield Text(why, style="yellow")
    for priced in wording.known_causes(report):
        yield Text()
        yield finding(priced, report)
    yield from hot_lines(wording.hot_lines(report), report)
    if report.also_seen:
        yield heading("Also seen: worth knowing, but no steps per second")
        yield from (also_seen(priced, report) for priced in report.also_seen)
    yield from how_the_run_went(report)
    yield from notes(report.notes)


def _what_there_is(report: Report) -> Iterable[RenderableType]:
    """Tell what there is of a run that crashed too early to say more of it."""
    yield _run_line(report)
    yield Text(wording.NO_ADVICE)
    yield from how_the_run_went(report)
    yield from notes(report.notes)
    if report.run_file:
        yield Text(f"\nThe recording is in {printable(report.run_file)}.")


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
        wording.counted(len(report.processes), "process", "processes"),
    ]
    if run.label:
        parts.append(printable(run.label))
    if run.exit_code:
        parts.append(f"exit code {run.exit_code}")
    if not run.complete:
        parts.append("recording was cut off")
    return Text(" · ".join(parts), style="dim")


RENDERER: Final = TerminalRenderer()
