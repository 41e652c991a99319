"""The findings of a page: what each is worth, where it is, and what to change; and what of them was tried."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import Final

from rlprof.errors import UsageError
from rlprof.model.experiment import Experiment
from rlprof.model.finding import Confidence, Location, PricedFinding, Range
from rlprof.model.report import Report
from rlprof.names import printable, short_line
from rlprof.renderers.html.document import View
from rlprof.renderers.html.drawings import compared_bar, price_bar
from rlprof.report import wording
from rlprof.report.wording.experiments import measured_times, tried_rows
from rlprof.resources import detector_page

CONFIDENCE: Final = {
    Confidence.TRIED: "switched on and off in turns while the training ran",
    Confidence.MEASURED: "samples and other evidence agree on the cause",
    Confidence.BOUNDED: "the cause is known, what the fix leaves only within limits",
    Confidence.SUSPECTED: "time is spent there; whether it can be saved is not known",
}

_SOURCE_LIMIT: Final = 160
"""Characters of a source line shown; what is longer is generated, or data."""

_OTHER_PLACES: Final = 5

_SNIPPET: Final = re.compile(
    r"^(?P<which>Before|After):\n\n```python\n(?P<code>.+?)^```$", re.MULTILINE | re.DOTALL
)


def finding_views(report: Report) -> list[View]:
    return [_view(priced, report) for priced in wording.all_known(report)]


def hot_lines(report: Report) -> list[View]:
    """Lines where time goes for no known reason. Their first evidence only repeats the share."""
    return [
        {
            "rank": priced.rank,
            "share": wording.share_of_spot(priced),
            "place": _first_place(priced, report),
            "is_spread_out": wording.is_spread_out(priced),
            "title": priced.finding.title,
            "evidence": wording.facts_of_spot(priced, report),
            "has_frames": _has_frames(priced, report),
        }
        for priced in wording.hot_lines(report)
    ]


def also_seen(report: Report) -> list[View]:
    views = []
    for priced in report.also_seen:
        locations = priced.finding.locations
        views.append(
            {
                "rank": priced.rank,
                "title": priced.finding.title,
                "at": place_of(locations[0], report) if locations else "",
                "price": wording.price_of_seen(priced),
                "detector": priced.finding.detector,
                "has_frames": _has_frames(priced, report),
            }
        )
    return views


def place_of(location: Location, report: Report) -> str:
    return short_line(location.file, location.line, report.run.cwd, 80)


def _view(priced: PricedFinding, report: Report) -> View:
    found = priced.finding
    return {
        "rank": priced.rank,
        "detector": found.detector,
        "title": found.title,
        "bar": price_bar(priced.saved_share),
        "times": measured_times(priced),
        "saves": wording.share_saved(priced),
        "rate": wording.price_after(priced, report),
        "seconds": wording.seconds_saved(priced),
        "roles": ", ".join(priced.process_roles),
        "confidence": found.confidence.value,
        "confidence_words": CONFIDENCE[found.confidence],
        "place": _first_place(priced, report),
        "other_places": _other_places(found.locations[1:], report),
        "evidence": found.evidence,
        "fix": found.fix,
        "change": change_of(found.detector),
        "has_frames": _has_frames(priced, report),
    }


def _has_frames(priced: PricedFinding, report: Report) -> bool:
    """Tell whether its places in the call tree are known: then the flamegraph can show them."""
    detail = report.detail
    return detail is not None and any(rank == priced.rank for rank, _ in detail.finding_nodes)


def _first_place(priced: PricedFinding, report: Report) -> View | None:
    location = next(iter(priced.finding.locations), None)
    if location is None:
        return None
    source = _source(location, report)
    return {
        "at": place_of(location, report),
        "function": location.function,
        "share": wording.percent(location.share),
        "source": source,
        "note": "" if source else "its source is not in the run file",
    }


def _source(location: Location, report: Report) -> list[View]:
    """The lines around ``location``, else its own alone, without the indentation that all share."""
    excerpts = report.detail.excerpts if report.detail is not None else {}
    excerpt = excerpts.get((location.file, location.line))
    if excerpt is None:
        own = location.source
        return [{"number": location.line, "text": _cut(own), "is_marked": True}] if own else []
    text = "\n".join(line.expandtabs(4) for line in excerpt.lines)
    lines = textwrap.dedent(text).split("\n")
    return [
        {"number": number, "text": _cut(line), "is_marked": number == location.line}
        for number, line in enumerate(lines, start=excerpt.first_line)
    ]


def _cut(line: str) -> str:
    return printable(line.expandtabs(4), _SOURCE_LIMIT)


def _other_places(locations: Sequence[Location], report: Report) -> tuple[str, ...]:
    shown = [
        f"{place_of(at, report)} ({wording.percent(at.share)})" for at in locations[:_OTHER_PLACES]
    ]
    more = len(locations) - len(shown)
    return (*shown, f"and {more} more") if more else tuple(shown)


def change_of(detector: str) -> View | None:
    """The first snippets before and after on the detector's page; None where there is none."""
    try:
        text = detector_page(detector)
    except UsageError:
        return None  # Detectors of other packages have no page here.
    first: dict[str, tuple[str, ...]] = {}
    for snippet in _SNIPPET.finditer(text):
        first.setdefault(snippet["which"], tuple(snippet["code"].rstrip("\n").split("\n")))
    if len(first) < 2:
        return None
    return {"before": first["Before"], "after": first["After"]}


# --- experiments: what was predicted beside what was measured -----------------------------------


def experiment_views(report: Report) -> list[View]:
    rows = tried_rows(report)
    return [
        {**row._asdict(), "bar": _bar(experiment)}
        for row, experiment in zip(rows, report.experiments, strict=True)
    ]


def _bar(experiment: Experiment) -> object:
    measured = experiment.measured
    if experiment.predicted is None and measured is None:
        return ""
    return compared_bar(
        experiment.predicted, None if measured is None else Range(measured.low, measured.high)
    )
