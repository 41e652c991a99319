from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlprof.errors import UsageError
from rlprof.renderers.json_report import RENDERER
from tests.report_factories import (
    a_finding,
    a_gpu,
    a_report,
    a_report_with_gpus,
    a_story,
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


def undocumented_keys(value: Any, schema: Any, path: str = "report") -> list[str]:
    """Keys of ``value`` that the schema has no word about."""
    while "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    for option in schema.get("oneOf", ()):
        if option.get("type") != "null" and value is not None:
            return undocumented_keys(value, option, path)
    if isinstance(value, list):
        return [k for item in value for k in undocumented_keys(item, schema["items"], path)]
    if not isinstance(value, dict) or "additionalProperties" in schema:
        return []
    known = schema["properties"]
    strange = [f"{path}.{key}" for key in value if key not in known]
    return strange + [
        found
        for key in value.keys() & known.keys()
        for found in undocumented_keys(value[key], known[key], f"{path}.{key}")
    ]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_a_report_fits_its_schema_and_has_no_key_it_leaves_out() -> None:
    document = as_json(a_story())

    VALIDATOR.validate(document)
    assert undocumented_keys(document, SCHEMA) == []


def test_keys_of_version_1_are_all_there() -> None:
    document = as_json(a_story())

    assert document["format"] == "rlprof-report"
    assert document["version"] == 1
    assert set(document) >= {
        "format", "version", "rlprof", "run", "throughput", "processes", "findings",
        "counters_per_step", "quality",
    }  # fmt: skip
    assert set(document["run"]) >= {
        "id", "command", "started", "wall_s", "exit_code", "label", "git", "host",
    }  # fmt: skip
    assert set(document["throughput"]) >= {"unit", "source", "steady_sps", "phases"}
    assert set(document["processes"][0]) >= {
        "pid", "ppid", "role", "python", "sampled", "wall_s", "cpu_s", "requested_hz",
        "achieved_hz", "note",
    }  # fmt: skip
    assert set(document["findings"][0]) >= {
        "id", "rank", "title", "phase", "confidence", "process_roles", "saved_share",
        "sps_after", "saved_s", "locations", "evidence", "fix", "docs",
    }  # fmt: skip


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
    assert undocumented_keys(document, SCHEMA) == []
    first, second = document["resources"]["gpus"]
    assert (first["index"], first["utilisation"], first["power_w"]) == (0, 0.37, 310.4)
    assert first["processes"] == [{"pid": 1000, "role": "main", "memory_bytes": 11 * 2**30}]
    assert (second["power_w"], second["processes"]) == (None, [])


def test_indent_is_an_option_and_must_be_a_number() -> None:
    assert RENDERER.render(a_report(), {"indent": "0"}).count("\n") == 1
    with pytest.raises(UsageError, match="indent"):
        RENDERER.render(a_report(), {"indent": "wide"})
