"""A check as JUnit XML: the rate is a test case, and each counter is one."""

from __future__ import annotations

import re
from typing import Final
from xml.etree import ElementTree

from rlprof.errors import EXIT_INCONCLUSIVE, EXIT_REGRESSION
from rlprof.gate import words
from rlprof.gate.counters import CounterDifference
from rlprof.gate.decision import Verdict
from rlprof.gate.outcome import Outcome
from rlprof.names import printable

_SUITE: Final = "rlprof check"
_LIMIT: Final = 1_000

# What XML 1.0 cannot hold, escaped or not; ``printable`` leaves noncharacters alone.
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def outcome_as_junit(outcome: Outcome, *, inconclusive: int = EXIT_INCONCLUSIVE) -> str:
    cases = [
        _case_of_rate(outcome, inconclusive),
        *(_case_of_counter(outcome, row) for row in words.counter_rows(outcome)),
    ]
    suite = ElementTree.Element("testsuite", name=_SUITE)
    for kind, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(attribute, str(sum(case.find(kind) is not None for case in cases)))
    suite.set("tests", str(len(cases)))
    suite.set("time", f"{sum(run.wall_s for run in outcome.runs):.3f}")
    suite.extend(cases)
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _case_of_rate(outcome: Outcome, inconclusive: int) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=_SUITE, name=words.rate_name(outcome))
    told = _failure_text(outcome)
    message = _text(words.verdict(outcome))
    if outcome.verdict is Verdict.COULD_NOT_MEASURE:
        slug = "" if outcome.failure is None else outcome.failure.slug
        _add(case, "error", message, told, kind=slug)
    elif outcome.verdict is Verdict.REGRESSION and outcome.decision is not None:
        _add(case, "failure", message, told, kind="regression")
    elif outcome.verdict is Verdict.INCONCLUSIVE:
        if inconclusive == EXIT_REGRESSION:
            _add(case, "failure", message, told, kind="inconclusive")
        else:
            _add(case, "skipped", message, told)
    elif outcome.decision is None:
        why = "the counters had decided already"
        if outcome.verdict is Verdict.PASS:
            why = "only counters were asked for"
        _add(case, "skipped", why, "")
    return case


def _case_of_counter(outcome: Outcome, counter: CounterDifference) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=f"{_SUITE}.counters", name=_text(counter.name))
    if counter.fails:
        told = words.counter_cells(counter, outcome)
        values = f"{told.base} → {told.head} {told.unit}"
        _add(
            case,
            "failure",
            _text(f"{counter.name}: {values}"),
            _text(counter.reason),
            kind="regression",
        )
    return case


def _add(case: ElementTree.Element, tag: str, message: str, text: str, kind: str = "") -> None:
    element = ElementTree.SubElement(case, tag, message=message)
    if kind:
        element.set("type", _text(kind))
    element.text = text or None


def _failure_text(outcome: Outcome) -> str:
    lines = []
    if outcome.failure is not None:
        lines += [*outcome.failure.message.splitlines(), outcome.failure.hint]
    lines += words.reasons(outcome)
    for told in words.causes(outcome):
        lines += told.lines or (told.heading,)
    return "\n".join(_text(line) for line in lines if line)


def _text(text: str) -> str:
    return _NOT_XML.sub("?", printable(text, _LIMIT))
