"""Markdown, for ``$GITHUB_STEP_SUMMARY`` and comments on pull requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from rlprof.documents.experiments import tried_table
from rlprof.documents.markdown import as_markdown, code, fenced, in_html, prose, table, unbroken
from rlprof.errors import UsageError
from rlprof.model.finding import Location, PricedFinding
from rlprof.model.report import Report
from rlprof.names import cut_middle, printable, short_line
from rlprof.renderers.base import Renderer
from rlprof.report import wording
from rlprof.report.own_paths import ROOT_OPTION, as_uri, own_path, root_of
from rlprof.report.wording.crash import bad_end
from rlprof.report.wording.experiments import ABOUT, measured_times
from rlprof.report.wording.rates import on_the_rate
from rlprof.report.wording.run import (
    about_the_parts,
    marked_phases,
    parts_of_the_time,
    run_line,
    waits_for_cores,
    with_its_wait,
)
from rlprof.resources import PAGES

MOST_CHARACTERS: Final = 60_000
"""Most characters of a document: GitHub refuses comments of more than 65 536."""

_ROOM_FOR_REMARKS: Final = 300
"""Part of those characters, for the sentence that says what was left out."""


_MOST_ROWS: Final = 20
_MOST_HOT_LINES: Final = 5
_MOST_EVIDENCE: Final = 5
_MOST_NOTES: Final = 12
_MOST_PARTS: Final = 12
_MOST_ALSO_SEEN: Final = 5
_LINE_LIMIT: Final = 160
_NOTE_LIMIT: Final = 400

_URL: Final = re.compile(r"https?://[^\s<>()\"'`\\|]+")

_SIGNS: Final = {"error": "❌", "warning": "⚠️"}
"""The level in a word would be lost among those of the note."""


def _render(report: Report, options: Mapping[str, str]) -> str:
    places = _Places(report, root_of(report, options), _source_url(options))
    # What stands last goes before the details, of which the first tell most.
    room = _Room(MOST_CHARACTERS - _ROOM_FOR_REMARKS)
    head = room.fitting(_head(report, places))
    tail = room.fitting(_tail(report, places))
    details = room.leading(_detail(priced, report, places) for priced in wording.all_known(report))
    parts = [*head, *details, *_left_out(report, len(details), room), *tail]
    return "\n\n".join(parts) + "\n"


def _source_url(options: Mapping[str, str]) -> str:
    url = options.get("source-url", "").rstrip("/")
    if url and not _URL.fullmatch(url):
        raise UsageError(
            f"the option source-url of the Markdown report is {url!r}",
            slug="bad-render-option",
            hint="give -p source-url=https://github.com/OWNER/REPOSITORY/blob/COMMIT",
        )
    return url


@dataclass
class _Room:
    """Characters that are left for a document."""

    left: int
    is_short: bool = False
    """True if there was not enough for something."""

    def fitting(self, parts: Iterable[str]) -> list[str]:
        """Those of ``parts`` that fit."""
        return [part for part in map(unbroken, parts) if self._takes(part)]

    def leading(self, parts: Iterable[str]) -> list[str]:
        """``parts`` up to the first that does not fit."""
        return list(takewhile(self._takes, map(unbroken, parts)))

    def _takes(self, part: str) -> bool:
        fits = len(part) + 2 <= self.left
        self.left -= len(part) + 2 if fits else 0
        self.is_short = self.is_short or not fits
        return fits


@dataclass(frozen=True)
class _Places:
    """Lines as links, where it is known to what."""

    report: Report
    root: str
    url: str

    def linked(self, place: Location) -> str:
        name = short_line(place.file, place.line, self.report.run.cwd)
        shown = code(cut_middle(name, _LINE_LIMIT))
        path = own_path(place.file, self.root)
        if not self.url or path is None or place.line < 1:
            return shown
        return f"[{shown}]({self.url}/{as_uri(path)}#L{place.line})"


# --- what stands first ---------------------------------------------------------------------


def _head(report: Report, places: _Places) -> Iterator[str]:
    speed = wording.speed(report)
    verdict = f"{f'{speed}. ' if speed else ''}{wording.advice(report)}"
    if end := bad_end(report):
        yield f"### rlprof: {prose(wording.unglued(end))}"
        yield verdict
        if report.crash and report.crash.before_steady and report.run_file:
            yield f"The recording is in {code(report.run_file)}."
    else:
        yield f"### rlprof: {verdict}"
    yield _run_line(report)
    if report.bound.text:
        yield f"Bound by {prose(report.bound.text)}."
    if why := on_the_rate(report):
        yield prose(wording.unglued(why))
    known = wording.known_causes(report)
    if known:
        yield table(
            ("", "What", "Saves", "Then", "Where"),
            (_row(priced, report, places) for priced in known[:_MOST_ROWS]),
            right={0},
        )
    if len(known) > _MOST_ROWS:
        yield f"And {len(known) - _MOST_ROWS} more, which save less."
    if once := wording.paid_once(report):
        told = (
            f"{prose(priced.finding.title, _LINE_LIMIT)} ({wording.seconds_saved(priced)})"
            for priced in once
        )
        yield f"Paid once, at the start: {'; '.join(told)}."


def _run_line(report: Report) -> str:
    label = prose(report.run.label) if report.run.label else ""
    return run_line(report, code(cut_middle(wording.command(report), _LINE_LIMIT)), label)


def _row(priced: PricedFinding, report: Report, places: _Places) -> tuple[str, ...]:
    place = next(iter(priced.finding.locations), None)
    return (
        str(priced.rank),
        prose(priced.finding.title, _LINE_LIMIT),
        f"**{wording.share_range(priced.saved_share)}** of {wording.of_what(priced)}{wording.likely(priced)}{wording.besides(priced)}",
        wording.price_after(priced, report),
        places.linked(place) if place else "",
    )


# --- what each finding says ----------------------------------------------------------------


def _left_out(report: Report, written: int, room: _Room) -> Iterator[str]:
    left = len(wording.all_known(report)) - written
    if left or room.is_short:
        what = (
            f"the details of {left} {'finding' if left == 1 else 'findings'}" if left else "remarks"
        )
        yield f"Comments have a limit, so {what} are left out here: `rlprof report` shows all."


def _detail(priced: PricedFinding, report: Report, places: _Places) -> str:
    finding = priced.finding
    times = measured_times(priced)
    lines = [
        f"<details><summary>{priced.rank}. {in_html(finding.title)}</summary>",
        f"{f'{times}; ' if times else ''}{wording.seconds_saved(priced)} of this run{_roles(priced)}; "
        f"{wording.CERTAINTY[finding.confidence]}.",
    ]
    if finding.locations:
        main = finding.locations[0]
        lines.append(f"{places.linked(main)} in {code(cut_middle(main.function, _LINE_LIMIT))}")
        lines += _excerpt(main, report)
        lines += _other_places(finding.locations[1:], places)
    if finding.evidence:
        lines.append("\n".join(f"- {prose(text)}" for text in finding.evidence[:_MOST_EVIDENCE]))
    lines.append(f"**Fix:** {prose(finding.fix)}")
    lines.append(f"[More about it]({PAGES}/detectors/{as_uri(finding.detector)}.md)")
    lines.append("</details>")
    return "\n\n".join(lines)


def _roles(priced: PricedFinding) -> str:
    roles = ", ".join(priced.process_roles)
    return f" in {prose(roles)}" if roles and roles != "main" else ""


def _excerpt(place: Location, report: Report) -> Iterator[str]:
    """The source around the place if it is there, else its line alone."""
    excerpt = report.detail.excerpts.get((place.file, place.line)) if report.detail else None
    if excerpt is None:
        if place.source:
            yield fenced([printable(place.source, _LINE_LIMIT)])
        return
    last = excerpt.first_line + len(excerpt.lines) - 1
    yield fenced(
        [
            f"{'>' if number == place.line else ' '} {number:>{len(str(last))}}  "
            f"{printable(line.expandtabs(4), _LINE_LIMIT)}".rstrip()
            for number, line in enumerate(excerpt.lines, start=excerpt.first_line)
        ]
    )


def _other_places(others: Sequence[Location], places: _Places) -> Iterator[str]:
    if not others:
        return
    shown = ", ".join(
        f"{places.linked(place)} ({wording.percent(place.share)})" for place in others[:3]
    )
    more = len(others) - 3
    yield f"Also {shown}{f' and {more} more' if more > 0 else ''}."


# --- what stands last ----------------------------------------------------------------------


def _tail(report: Report, places: _Places) -> Iterator[str]:
    yield from _tried(report)
    yield from _hot_lines(report, places)
    yield from _not_seen(report)
    yield from _parts_of_training(report)
    yield from _also_seen(report, places)


def _tried(report: Report) -> Iterator[str]:
    if report.experiments:
        yield "#### Tried while the training ran"
        yield as_markdown([tried_table(report)]).strip()
        yield ABOUT


def _hot_lines(report: Report, places: _Places) -> Iterator[str]:
    hot = [priced for priced in wording.hot_lines(report) if priced.finding.locations]
    if not hot:
        return
    yield "#### Hot lines with no known cause"
    yield table(
        ("Of the time", "Where", ""),
        (_hot_row(priced, places) for priced in hot[:_MOST_HOT_LINES]),
        right={0},
    )


def _hot_row(priced: PricedFinding, places: _Places) -> tuple[str, ...]:
    place = priced.finding.locations[0]
    source = code(cut_middle(place.source, _LINE_LIMIT)) if place.source.strip() else ""
    where = places.linked(place)
    if wording.is_spread_out(priced):
        most = wording.percent(place.share)
        where = f"{code(place.function)}, over several lines; most, {most}, on {where}"
    return wording.share_of_spot(priced), where, source


def _parts_of_training(report: Report) -> Iterator[str]:
    rows = [
        *((prose(row.name), row) for row in parts_of_the_time(report)),
        *((f"phase {prose(row.name)}", row) for row in marked_phases(report)),
    ][:_MOST_PARTS]
    if not rows:
        return
    with_waits = waits_for_cores(report)
    names = ("Part", "Of the time", *(("With its wait",) if with_waits else ()))
    cells = [
        (name, wording.percent(row.share), with_its_wait(row))[: len(names)] for name, row in rows
    ]
    about = f"\n\n{about_the_parts(report)}" if with_waits else ""
    yield _folded("Where the time goes", table(names, cells, right={1, 2}) + about)


def _also_seen(report: Report, places: _Places) -> Iterator[str]:
    if not report.also_seen:
        return
    lines = []
    for priced in report.also_seen[:_MOST_ALSO_SEEN]:
        at = f" at {places.linked(priced.finding.locations[0])}" if priced.finding.locations else ""
        price = wording.price_of_seen(priced)
        lines.append(f"- {prose(priced.finding.title, _LINE_LIMIT)}{at}: {price}")
    yield _folded("Also seen", "\n".join(lines))


def _not_seen(report: Report) -> Iterator[str]:
    """Warnings in sight, remarks folded away."""
    graver = [note for note in report.notes if note.level in _SIGNS]
    lines = [
        f"- {_SIGNS[note.level]} {prose(note.text, _NOTE_LIMIT)}" for note in graver[:_MOST_NOTES]
    ]
    missed = wording.missed(report)
    if missed:
        pids = ", ".join(str(row.pid) for row in missed[:_MOST_NOTES])
        lines.insert(
            0, f"- ⚠️ Not seen: {len(missed)} of {len(report.processes)} processes (pid {pids})"
        )
    if len(graver) > _MOST_NOTES:
        lines.append(f"- and {len(graver) - _MOST_NOTES} more: `rlprof report` shows all")
    if lines:
        yield "#### What was not seen, or not surely"
        yield "\n".join(lines)
    others = [note for note in report.notes if note.level not in _SIGNS]
    if others:
        remarks = "\n".join(f"- {prose(note.text, _NOTE_LIMIT)}" for note in others[:_MOST_NOTES])
        yield _folded("Remarks on the recording", remarks)


def _folded(summary: str, text: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{text}\n\n</details>"


RENDERER: Final = Renderer(
    name="markdown",
    suffixes=(".md",),
    render=_render,
    options={
        "source-url": "what links to lines start with, such as https://github.com/OWNER/REPOSITORY/blob/COMMIT",
        "root": ROOT_OPTION,
    },
    needs_detail=True,
)
