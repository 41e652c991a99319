"""A check as SARIF 2.1.0: what got worse, on the lines of head that it is on.

Each is an error, unlike a finding of a report: this is what keeps the change from being merged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

import rlprof
from rlprof.comparison.findings import FindingChange
from rlprof.gate import words
from rlprof.gate.outcome import Outcome, Verdict
from rlprof.model.finding import Location
from rlprof.names import printable
from rlprof.own_paths import as_uri, own_path
from rlprof.renderers.json_report.values import Json, as_json_text
from rlprof.renderers.sarif import HOME, PAGES, SCHEMA

RATE_RULE: Final = "slower-than-base"
COUNTER_RULE: Final = "counts-more-than-base"

_RULES: Final = {
    RATE_RULE: "Head makes fewer steps per second than base",
    COUNTER_RULE: "Head does something more often per step than base",
}
_ROOT_ID: Final = "%SRCROOT%"
_LIMIT: Final = 1_000


def outcome_as_sarif(outcome: Outcome, *, root: str) -> str:
    """``root`` is the folder of the repository: paths are told from there."""
    results = list(_results(outcome, root)) if outcome.verdict is Verdict.REGRESSION else []
    run: dict[str, Json] = {
        "tool": {"driver": _driver(outcome)},
        "automationDetails": {"id": "rlprof-check/"},
        "invocations": [_invocation(outcome)],
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT_ID: {"uri": f"file://{as_uri(root.rstrip('/'))}/"}},
        "results": results,
    }
    return as_json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _driver(outcome: Outcome) -> Json:
    detectors = dict.fromkeys(it.shown.finding.detector for it in words.worse_findings(outcome))
    rules: list[Json] = [
        {"id": rule, "shortDescription": {"text": text}, "helpUri": f"{PAGES}/check.md"}
        for rule, text in _RULES.items()
    ]
    rules += [
        {"id": printable(it), "helpUri": f"{PAGES}/detectors/{as_uri(it)}.md"} for it in detectors
    ]
    return {
        "name": "rlprof check",
        "version": rlprof.__version__,
        "informationUri": HOME,
        "rules": rules,
    }


def _results(outcome: Outcome, root: str) -> Iterator[Json]:
    if outcome.decision is not None:
        yield _result(RATE_RULE, words.verdict(outcome), [], RATE_RULE)
    for it in outcome.failing_counters:
        text = (
            f"{printable(it.name)} per step: {words.counter_value(it.base)} in base, "
            f"{words.counter_value(it.head)} in head. {printable(it.reason, _LIMIT)}"
        )
        yield _result(COUNTER_RULE, text, [], f"{COUNTER_RULE} {it.name}")
    for change in words.worse_findings(outcome):
        places = _places(change, root)
        detector = change.shown.finding.detector
        key = " ".join([detector, *(f"{path} {it.function}" for path, it in places[:1])])
        yield _result(printable(detector), words.finding(change, outcome), places, key)


def _places(change: FindingChange, root: str) -> list[tuple[str, Location]]:
    """Those of head, in files of the repository."""
    if change.new is None:
        return []
    found = ((own_path(it.file, root), it) for it in change.new.finding.locations)
    return [(path, it) for path, it in found if path is not None]


def _result(rule: str, text: str, places: list[tuple[str, Location]], key: str) -> Json:
    print_of = hashlib.sha256(key.encode("utf-8", "backslashreplace")).hexdigest()[:32]
    return {
        "ruleId": rule,
        "level": "error",
        "message": {"text": text},
        "locations": [_location(path, it) for path, it in places[:1]],
        "partialFingerprints": {"rlprofCheck/v1": print_of},
    }


def _location(path: str, place: Location) -> Json:
    physical: dict[str, Json] = {"artifactLocation": {"uri": as_uri(path), "uriBaseId": _ROOT_ID}}
    if place.line >= 1:
        physical["region"] = {"startLine": place.line}
    return {
        "physicalLocation": physical,
        "logicalLocations": [{"name": printable(place.function), "kind": "function"}],
    }


def _invocation(outcome: Outcome) -> Json:
    notifications: list[Json] = [
        {
            "level": "note",
            "descriptor": {"id": printable(note.slug)},
            "message": {"text": printable(note.text, _LIMIT)},
        }
        for note in outcome.notes
    ]
    if outcome.failure is not None:
        notifications.append(
            {
                "level": "error",
                "descriptor": {"id": printable(outcome.failure.slug)},
                "message": {"text": printable(outcome.failure.message, _LIMIT)},
            }
        )
    return {
        "executionSuccessful": outcome.failure is None,
        "commandLine": words.command(outcome),
        "toolExecutionNotifications": notifications,
    }
