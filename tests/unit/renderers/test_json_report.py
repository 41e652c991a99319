from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, NamedTuple

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct, field

from rlprof.documents.json import as_json_text, filled
from rlprof.errors import UsageError
from rlprof.renderers.json_report import RENDERER
from tests.report_factories import (
    HOME,
    a_finding,
    a_gpu,
    a_report,
    a_report_with_gpus,
    a_story,
    a_tried_story,
)

SCHEMA = json.loads(files("rlprof.renderers").joinpath("report.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

any_number = st.floats(allow_nan=True, allow_infinity=True)
any_speed = st.floats(min_value=0, allow_infinity=True)
any_text = st.text(max_size=50)


def as_json(report: Any) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(RENDERER.render(report, {}), parse_constant=refuse)


def test_a_report_fits_its_schema() -> None:
    VALIDATOR.validate(as_json(a_story()))


def test_experiments_stand_with_what_was_predicted_and_what_was_measured() -> None:
    document = as_json(a_tried_story())

    VALIDATOR.validate(document)
    gain, ceiling, of_the_user, refused = document["experiments"]
    assert gain == {
        "finding": "omegaconf-in-loop",
        "treatment": "rewritten-line",
        "kind": "gain",
        "outcome": "measured",
        "predicted": {"low": 0.04, "high": 0.19},
        "measured": {"median": 0.4, "low": 0.38, "high": 0.45},
        "pairs": 8,
        "slot_s": 0.8,
        "seconds": 14,
        "note": "",
        "location": {"file": f"{HOME}/bandit/env.py", "line": 42, "function": "step"},
    }
    assert ceiling["kind"] == "ceiling"
    assert (of_the_user["finding"], of_the_user["predicted"]) == ("", None)
    assert (refused["outcome"], refused["measured"]) == ("refused", None)
    assert document["findings"][0]["confidence"] == "tried"


def test_prices_are_the_findings_own() -> None:
    report = a_report(
        findings=[a_finding(saves=(0.5, 0.6), sps_after=(1_300.0, 1_640.0), saved_s=(5, 6))]
    )

    [finding] = as_json(report)["findings"]

    assert finding["saved_share"] == {"low": 0.5, "high": 0.6}
    assert finding["sps_after"] == {"low": 1300, "high": 1640}
    assert finding["saved_s"] == 5.5
    assert finding["saved_s_range"] == {"low": 5, "high": 6}


def test_unknown_sps_is_null() -> None:
    document = as_json(a_report(sps=None, findings=[a_finding(sps_after=None)]))

    assert document["throughput"]["steady_sps"] is None
    assert document["findings"][0]["sps_after"] is None


@given(low=any_number, high=any_number, sps=any_speed, title=any_text, label=any_text)
def test_any_report_fits_the_schema(
    low: float, high: float, sps: float, title: str, label: str
) -> None:
    report = a_report(
        sps=sps,
        label=label,
        findings=[a_finding(title=title, saves=(low, high), sps_after=(low, high))],
    )

    VALIDATOR.validate(as_json(report))


def test_gpus_of_the_steady_phase() -> None:
    document = as_json(a_report_with_gpus(a_gpu(), a_gpu(1, power_w=None, process_bytes=())))

    VALIDATOR.validate(document)
    first, second = document["resources"]["gpus"]
    assert (first["index"], first["utilisation"], first["power_w"]) == (0, 0.37, 310.4)
    assert first["processes"] == [{"pid": 1000, "role": "main", "memory_bytes": 11 * 2**30}]
    assert (second["power_w"], second["processes"]) == (None, [])


def test_indent_is_an_option_and_must_be_a_number() -> None:
    assert RENDERER.render(a_report(), {"indent": "0"}).count("\n") == 1
    for indent in ("wide", "99999999999"):
        with pytest.raises(UsageError, match="indent"):
            RENDERER.render(a_report(), {"indent": indent})


class _Hit(Struct, frozen=True):
    at_s: float
    word: str = field(name="text")


class _Hits(Struct, frozen=True):
    first: _Hit | None
    all: Sequence[_Hit]
    number: int


class _Found(NamedTuple):
    at_us: float
    word: str


class _AllFound(NamedTuple):
    first: _Found | None
    all: tuple[_Found, ...]


def test_records_are_filled_from_records_of_the_same_names_alone_and_in_sequences() -> None:
    found = _AllFound(None, (_Found(1_500_000, "loop"),))

    hits = filled(_Hits, found, number=1)

    assert json.loads(as_json_text(hits)) == {
        "first": None,
        "all": [{"at_s": 1.5, "text": "loop"}],
        "number": 1,
    }
