"""SARIF 2.1.0, for code scanning: each finding on the line of yours that it names.

A level says how sure a finding is and what it saves at least, never that something is broken: whether
a change may be merged is for ``rlprof check`` to say.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from rlprof.documents.json import Json, as_json_text
from rlprof.errors import RlprofError
from rlprof.model.finding import Confidence, Location, PricedFinding
from rlprof.model.report import Report
from rlprof.names import printable
from rlprof.renderers.base import Renderer
from rlprof.report import wording
from rlprof.report.own_paths import ROOT_OPTION, as_uri, own_path, root_of
from rlprof.resources import HOME, PAGES, detector_page

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"

WORTH_A_WARNING: Final = 0.05
"""Share of the time, saved for sure: what saves less, or may save nothing, is a note."""

_ROOT_ID: Final = "%SRCROOT%"
_RELATIVE_LINK: Final = re.compile(r"\]\((?!https?://|#)(?P<up>\.\./)?")
_MOST_RELATED: Final = 10
TEXT_LIMIT: Final = 1_000

LEVELS: Final = {"info": "note", "warning": "warning", "error": "error"}
"""Levels of remarks."""

_CERTAINTY: Final = {
    Confidence.TRIED: "tried: switched on and off in turns while the training ran",
    Confidence.MEASURED: "measured",
    Confidence.BOUNDED: "the cause is known, what the fix leaves only within limits",
    Confidence.SUSPECTED: "whether it can be saved is not known",
}


def _render(report: Report, options: Mapping[str, str]) -> str:
    root = root_of(report, options)
    placed: list[PricedFinding] = []
    placeless: list[PricedFinding] = []
    for priced in report.findings:
        (placed if _own_places(priced, root) else placeless).append(priced)
    rules = sorted({priced.finding.detector for priced in placed})
    run: dict[str, Json] = {
        "tool": {"driver": _driver(report, rules)},
        "automationDetails": {"id": f"rlprof/{printable(report.run.script)}/"},
        "invocations": [_invocation(report, placeless)],
        "columnKind": "unicodeCodePoints",
        "results": list(_results(placed, rules, report, root)),
    }
    if root:
        run["originalUriBaseIds"] = bases(root)
    return sarif_log(run)


# --- what any SARIF file has ---------------------------------------------------------------


def sarif_log(run: dict[str, Json]) -> str:
    """A file of one run."""
    return as_json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def bases(root: str) -> dict[str, Json]:
    """Folders that paths are told from."""
    return {_ROOT_ID: {"uri": f"file://{as_uri(root.rstrip('/'))}/"}}


def located(path: str, line: int, function: str | None, source: str = "") -> dict[str, Json]:
    physical: dict[str, Json] = {"artifactLocation": {"uri": as_uri(path), "uriBaseId": _ROOT_ID}}
    if line >= 1:
        snippet: dict[str, Json] = {"snippet": {"text": printable(source)}} if source else {}
        physical["region"] = {"startLine": line, **snippet}
    location: dict[str, Json] = {"physicalLocation": physical}
    if function is not None:
        location["logicalLocations"] = [{"name": printable(function), "kind": "function"}]
    return location


def notification(level: str, name: str, text: str) -> Json:
    """``level`` of SARIF, or of a remark."""
    return {
        "level": LEVELS.get(level, "note"),
        "descriptor": {"id": printable(name)},
        "message": {"text": printable(text, TEXT_LIMIT)},
    }


def fingerprint(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _own_places(priced: PricedFinding, root: str) -> list[tuple[Location, str]]:
    """The finding's places in files under ``root``, the heaviest first: code scanning shows no others."""
    places = []
    for place in priced.finding.locations:
        path = own_path(place.file, root)
        if path is not None:
            places.append((place, path))
    return places


# --- the tool ------------------------------------------------------------------------------


def _driver(report: Report, rules: Iterable[str]) -> Json:
    driver: dict[str, Json] = {
        "name": "rlprof",
        "informationUri": HOME,
        "rules": [_rule(detector) for detector in rules],
    }
    if report.run.rlprof_version:
        driver["version"] = printable(report.run.rlprof_version)
    return driver


def _rule(detector: str) -> Json:
    words = detector.replace("-", " ")
    rule: dict[str, Json] = {
        "id": printable(detector),
        "name": printable("".join(part.capitalize() for part in detector.split("-"))),
        "shortDescription": {"text": printable(words[:1].upper() + words[1:])},
        "properties": {"tags": ["performance", "reinforcement-learning"]},
    }
    page = _page(detector)
    if page:
        rule["fullDescription"] = {"text": printable(_first_paragraph(page), TEXT_LIMIT)}
        rule["helpUri"] = f"{PAGES}/detectors/{as_uri(detector)}.md"
        rule["help"] = {"text": page, "markdown": page}
    return rule


def _page(detector: str) -> str:
    """The detector's page, with links that lead somewhere from outside; empty without a page."""
    try:
        page = detector_page(detector)
    except RlprofError:
        # One of another package.
        return ""
    return _RELATIVE_LINK.sub(
        lambda link: f"]({PAGES}/" if link["up"] else f"]({PAGES}/detectors/", page
    )


def _first_paragraph(page: str) -> str:
    paragraphs = (part for part in page.split("\n\n") if part and not part.startswith("#"))
    return " ".join(next(paragraphs, "").replace("`", "").split())


# --- results -------------------------------------------------------------------------------


def _results(
    placed: Iterable[PricedFinding], rules: list[str], report: Report, root: str
) -> Iterator[Json]:
    seen: dict[str, int] = {}
    for priced in placed:
        detector = priced.finding.detector
        (main, path), *others = _own_places(priced, root)
        print_of = _fingerprint(detector, path, main)
        seen[print_of] = seen.get(print_of, 0) + 1
        yield {
            "ruleId": printable(detector),
            "ruleIndex": rules.index(detector),
            "level": _level(priced),
            "rank": 100 * min(1.0, max(0.0, priced.saved_share.high)),
            "message": {"text": _message(priced, report)},
            "locations": [located(path, main.line, main.function, main.source)],
            "relatedLocations": [
                {
                    **located(other, place.line, place.function, place.source),
                    "id": number_of,
                    "message": {
                        "text": f"also here: {wording.unglued(wording.percent(place.share))}"
                    },
                }
                for number_of, (place, other) in enumerate(others[:_MOST_RELATED], start=1)
            ],
            "partialFingerprints": {"rlprofFinding/v1": f"{print_of}:{seen[print_of]}"},
            "properties": _price(priced, report),
        }


def _level(priced: PricedFinding) -> str:
    is_known = priced.finding.confidence is not Confidence.SUSPECTED
    return "warning" if is_known and priced.saved_share.low >= WORTH_A_WARNING else "note"


def _message(priced: PricedFinding, report: Report) -> str:
    finding = priced.finding
    saves = f"saves {wording.share_saved(priced)}"
    if after := wording.price_after(priced, report):
        saves += f", {after} after it"
        if speed := wording.speed(report):
            saves += f" (now {speed})"
    evidence = "; ".join(printable(text) for text in finding.evidence[:3])
    parts = [
        f"{printable(finding.title)}: {wording.unglued(saves)}; {_CERTAINTY[finding.confidence]}.",
        f"Seen: {evidence}." if evidence else "",
        f"Fix: {printable(finding.fix)}" if finding.fix else "",
    ]
    return "\n".join(part for part in parts if part)


def _fingerprint(detector: str, path: str, place: Location) -> str:
    """The same from run to run while the line says the same, wherever it moves in its function."""
    words = " ".join(place.source.split())
    return fingerprint("\0".join((detector, path, place.function, words)))


def _price(priced: PricedFinding, report: Report) -> Json:
    price: dict[str, Json] = {
        "confidence": priced.finding.confidence.value,
        "phase": priced.finding.phase.value,
        "savedShare": list(priced.saved_share),
        "savedSeconds": [bound / 1e6 for bound in priced.saved_us],
    }
    if priced.sps_after is not None:
        price["spsAfter" if report.throughput.unit == "steps" else "rateAfter"] = list(
            priced.sps_after
        )
    return price


# --- the invocation ------------------------------------------------------------------------


def _invocation(report: Report, placeless: Iterable[PricedFinding]) -> Json:
    notifications = [notification(note.level, note.slug, note.text) for note in report.notes]
    notifications += [
        {
            "level": "note",
            "descriptor": {"id": printable(priced.finding.detector)},
            "message": {"text": f"On no line of yours: {_message(priced, report)}"},
        }
        for priced in placeless
    ]
    # Whether rlprof did its work; what came of the training is beside the point.
    invocation: dict[str, Json] = {
        "executionSuccessful": True,
        "toolExecutionNotifications": notifications,
    }
    if report.run.command:
        invocation["commandLine"] = wording.command(report)
    return invocation


RENDERER: Final = Renderer(
    name="sarif",
    suffixes=(".sarif",),
    render=_render,
    options={"root": ROOT_OPTION},
)
