"""A check as SARIF 2.1.0: what got worse, on the lines of head that it is on.

Each is an error, unlike a finding of a report: this is what keeps the change from being merged. GitHub
refuses a file in which any result has no place. What has no line is on the first one of the script; where
that is no file of the repository, it is a notification of the run instead.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import rlprof
from rlprof.comparison.compare import Comparison
from rlprof.comparison.findings import FindingChange
from rlprof.comparison.outline import GrownFunction
from rlprof.documents.json import Json
from rlprof.gate import causes, words
from rlprof.gate.decision import Verdict
from rlprof.gate.outcome import Outcome
from rlprof.model.report import Report
from rlprof.names import printable
from rlprof.renderers.sarif import (
    TEXT_LIMIT,
    bases,
    fingerprint,
    located,
    notification,
    sarif_log,
)
from rlprof.report.own_paths import as_uri, own_path
from rlprof.resources import HOME, PAGES

RATE_RULE: Final = "slower-than-base"
COUNTER_RULE: Final = "counts-more-than-base"
FUNCTION_RULE: Final = "function-slower-than-base"

_RULES: Final = {
    RATE_RULE: "Head makes fewer steps per second than base",
    COUNTER_RULE: "Head does something more often per step than base",
    FUNCTION_RULE: "A function of head takes longer per step than in base",
}


def outcome_as_sarif(outcome: Outcome, *, root: str) -> str:
    """``root`` is the folder of the repository: paths are told from there."""
    worse = list(_worse(outcome, root)) if outcome.verdict is Verdict.REGRESSION else []
    run: dict[str, Json] = {
        "tool": {"driver": _driver(outcome)},
        "automationDetails": {"id": "rlprof-check/"},
        "invocations": [
            _invocation(outcome, [regression for regression in worse if regression.place is None])
        ],
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": bases(root),
        "results": [
            _result(regression, regression.place)
            for regression in worse
            if regression.place is not None
        ],
    }
    return sarif_log(run)


def _driver(outcome: Outcome) -> Json:
    detectors = dict.fromkeys(
        finding.shown.finding.detector for finding in causes.worse_findings(outcome)
    )
    rules: list[Json] = [
        {"id": rule, "shortDescription": {"text": text}, "helpUri": f"{PAGES}/check.md"}
        for rule, text in _RULES.items()
    ]
    rules += [
        {"id": printable(detector), "helpUri": f"{PAGES}/detectors/{as_uri(detector)}.md"}
        for detector in detectors
    ]
    return {
        "name": "rlprof check",
        "version": rlprof.__version__,
        "informationUri": HOME,
        "rules": rules,
    }


class _SarifPlace(NamedTuple):
    path: str
    """From the root on."""
    line: int
    function: str = ""


class _Worse(NamedTuple):
    rule: str
    text: str
    key: str
    """Key that tells it from others, in this check and the next."""
    place: _SarifPlace | None


def _worse(outcome: Outcome, root: str) -> Iterator[_Worse]:
    path = own_path(outcome.script, root)
    script = None if path is None else _SarifPlace(path, line=1)
    if outcome.decision is not None:
        yield _Worse(RATE_RULE, words.verdict(outcome), RATE_RULE, script)
    for counter in outcome.failing_counters:
        told = words.counter_cells(counter, outcome)
        text = (
            f"{told.name} {told.unit}: {told.base} in base, {told.head} in head. "
            f"{printable(counter.reason, TEXT_LIMIT)}"
        )
        yield _Worse(COUNTER_RULE, text, f"{COUNTER_RULE} {counter.name}", script)
    if outcome.comparison is not None:
        yield from _causes(outcome, outcome.comparison, root, script)


def _causes(
    outcome: Outcome, found: Comparison, root: str, script: _SarifPlace | None
) -> Iterator[_Worse]:
    for change in causes.worse_findings(outcome):
        place = _place(change, root)
        detector = change.shown.finding.detector
        key = detector if place is None else f"{detector} {place.path} {place.function}"
        yield _Worse(printable(detector), words.finding(change, found), key, place or script)
    for function in causes.slower_functions(outcome):
        path = own_path(_file_of(function, found.new), root)
        place = None if path is None else _SarifPlace(path, function.line, function.label)
        key = f"{FUNCTION_RULE} {function.place} {function.label} {function.inside}"
        yield _Worse(FUNCTION_RULE, words.function(function, found), key, place or script)
    for read in causes.reads_of(outcome):
        path = own_path(read.file, root)
        place = None if path is None else _SarifPlace(path, read.line, read.function)
        key = f"{COUNTER_RULE} {read.counter} {path} {read.function} {read.method}"
        yield _Worse(COUNTER_RULE, words.read(read, found), key, place or script)


def _file_of(function: GrownFunction, report: Report) -> str:
    """Its path, where the file is the user's and below the folder of the run; else empty."""
    place = function.place
    if function.kind != "yours" or not place or place.startswith(("…", "<")):
        return ""
    return posixpath.join(report.run.cwd, place)


def _place(change: FindingChange, root: str) -> _SarifPlace | None:
    """The first of head in a file of the repository."""
    for location in () if change.new is None else change.new.finding.locations:
        path = own_path(location.file, root)
        if path is not None:
            return _SarifPlace(path, location.line, location.function)
    return None


def _result(regression: _Worse, place: _SarifPlace) -> Json:
    return {
        "ruleId": regression.rule,
        "level": "error",
        "message": {"text": regression.text},
        "locations": [located(place.path, place.line, place.function or None)],
        "partialFingerprints": {"rlprofCheck/v1": fingerprint(regression.key)},
    }


def _invocation(outcome: Outcome, unplaced: Sequence[_Worse]) -> Json:
    of_pair = outcome.comparison.notes if outcome.comparison is not None else ()
    notifications = [
        *(notification(note.level, note.slug, note.text) for note in (*outcome.notes, *of_pair)),
        *(notification("error", regression.rule, regression.text) for regression in unplaced),
    ]
    if outcome.failure is not None:
        notifications.append(notification("error", outcome.failure.slug, outcome.failure.message))
    return {
        "executionSuccessful": outcome.failure is None,
        "commandLine": words.command(outcome),
        "toolExecutionNotifications": notifications,
    }
