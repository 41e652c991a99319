from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlprof.model.finding import Confidence, PricedFinding
from rlprof.model.recording import Note
from rlprof.model.report import Report
from rlprof.renderers.sarif import RENDERER
from tests.report_factories import SITE, a_finding, a_hot_spot, a_location, a_report, a_story

HOME = "/home/researcher/project"
SCHEMA = Path(__file__).parents[2] / "fixtures" / "sarif-2.1.0-rtm.5.json"
VALIDATOR = jsonschema.Draft4Validator(
    json.loads(SCHEMA.read_text(encoding="utf-8")), format_checker=jsonschema.FormatChecker()
)

any_text = st.text(st.characters(), max_size=40)


def run_in(report: Report, **options: str) -> Any:
    document = json.loads(RENDERER.render(report, options))
    VALIDATOR.validate(document)
    [run] = document["runs"]
    return run


def results(*findings: PricedFinding, **options: str) -> list[Any]:
    found: list[Any] = run_in(a_report(findings=findings), **options)["results"]
    return found


def uri(result: Any) -> str:
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place["uriBaseId"] == "%SRCROOT%"
    return str(place["uri"])


def test_the_schema_is_no_formality():
    document = json.loads(RENDERER.render(a_story(), {}))
    document["runs"][0]["results"][0]["level"] = "grave"

    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(document)


def test_a_rule_carries_its_page_with_links_that_lead_somewhere():
    [rule] = [
        entry for entry in run_in(a_story())["tool"]["driver"]["rules"] if entry["id"] == "hot-spot"
    ]

    assert rule["helpUri"].endswith("/docs/detectors/hot-spot.md")
    assert rule["help"]["markdown"].startswith("# hot-spot")
    assert "](../" not in rule["help"]["markdown"]
    assert rule["fullDescription"]["text"].startswith("The heaviest lines")


def test_a_detector_of_another_package_needs_no_page():
    [result] = results(a_finding("my-own-detector"))

    assert result["ruleId"] == "my-own-detector"


@pytest.mark.parametrize(
    ("confidence", "saves", "level"),
    [
        (Confidence.MEASURED, (0.5, 0.6), "warning"),
        (Confidence.BOUNDED, (0.05, 0.6), "warning"),
        (Confidence.BOUNDED, (0.04, 0.6), "note"),
        (Confidence.SUSPECTED, (0.5, 0.6), "note"),
    ],
)
def test_levels_follow_what_is_saved_for_sure(confidence, saves, level):
    [result] = results(a_finding(saves=saves, confidence=confidence))

    assert result["level"] == level


def test_only_the_user_s_files_under_the_root_are_places():
    places = [
        a_location(f"{SITE}/numpy/random/_generator.py:88"),
        a_location("/elsewhere/tool.py:3"),
        a_location(f"{HOME}/a b/ünd%.py:7"),
        a_location(f"{HOME}/../other/x.py:7"),
        a_location(f"{HOME}/second.py:9", share=0.2),
    ]

    [result] = results(a_finding(locations=places))

    assert uri(result) == "a%20b/%C3%BCnd%25.py"
    [related] = result["relatedLocations"]
    assert related["physicalLocation"]["artifactLocation"]["uri"] == "second.py"


def test_a_finding_on_no_line_of_the_user_s_is_told_but_no_result():
    run = run_in(a_report(findings=[a_hot_spot(f"{SITE}/numpy/random/_generator.py:88", rank=1)]))

    assert run["results"] == []
    assert run["tool"]["driver"]["rules"] == []
    [told] = run["invocations"][0]["toolExecutionNotifications"]
    assert told["descriptor"]["id"] == "hot-spot"


def test_the_root_may_be_another_folder():
    [result] = results(a_finding(), root="/home/researcher")

    assert uri(result) == "project/bandit/env.py"


def test_a_line_that_is_not_known_has_no_region():
    [result] = results(a_finding(locations=[a_location(f"{HOME}/train.py:0")]))

    assert "region" not in result["locations"][0]["physicalLocation"]


def fingerprint(result: Any) -> str:
    return str(result["partialFingerprints"]["rlprofFinding/v1"])


def test_fingerprints_outlive_other_prices_and_lines_that_move():
    before, after, other = (
        results(a_finding(saves=saves, locations=[a_location(place, source=source)]))[0]
        for place, saves, source in (
            (f"{HOME}/env.py:42", (0.5, 0.6), "x = cfg.a"),
            (f"{HOME}/env.py:57", (0.1, 0.2), "x  =  cfg.a"),
            (f"{HOME}/env.py:42", (0.5, 0.6), "y = cfg.b"),
        )
    )

    assert fingerprint(before) == fingerprint(after)
    assert fingerprint(before) != fingerprint(other)


def test_two_findings_alike_have_two_fingerprints():
    one, two = results(a_finding(), a_finding(rank=2))

    assert fingerprint(one) != fingerprint(two)


def test_notes_become_notifications():
    report = a_report(notes=[Note("error", "a-slug", "something is missing")])

    [told] = run_in(report)["invocations"][0]["toolExecutionNotifications"]

    assert told == {
        "level": "error",
        "descriptor": {"id": "a-slug"},
        "message": {"text": "something is missing"},
    }


@given(any_text)
def test_any_name_gives_a_valid_document(name):
    finding = a_finding(
        name or "x", name, locations=[a_location(f"{HOME}/{name}:3", name, source=name)], fix=name
    )

    run_in(a_report(findings=[finding], script=name, command=(name,), cwd=HOME))
