"""The file for speedscope. That speedscope opens it is shown in ``tests/browser``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlprof.errors import UsageError
from rlprof.model.activity import Bound, BoundBy
from rlprof.model.report import Report
from rlprof.renderers.speedscope import RENDERER
from tests.report_factories import SECOND, a_detail, a_process, a_report, a_story

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "speedscope.schema.json").read_text(encoding="utf-8")
)
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)


def a_file(report: Report, options: Mapping[str, str] | None = None) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(RENDERER.render(report, options or {}))
    VALIDATOR.validate(document)
    return document


def stacks(document: dict[str, Any], number: int = 0) -> list[tuple[str, int]]:
    """(names, µs) of each sample of a profile."""
    frames = document["shared"]["frames"]
    profile = document["profiles"][number]
    return [
        (" > ".join(frames[index]["name"] for index in stack), weight)
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True)
    ]


def test_what_a_run_says_of_itself_is_spelled_out() -> None:
    assert a_file(a_report(rlprof_version="1\ud800"))["exporter"] == r"rlprof@1\ud800"


def test_samples_come_in_the_order_of_time_and_add_up() -> None:
    detail = a_detail(
        ("0 MainThread", 10.0, "train a.py:5 yours"),
        start_up=[("0 MainThread", 2.0, "load a.py:1 yours")],
    )

    document = a_file(a_report(seen={"detail": detail}))

    [profile] = document["profiles"]
    assert stacks(document) == [("load", SECOND)] * 2 + [("train", SECOND)] * 10
    assert (profile["startValue"], profile["endValue"]) == (0, 12 * SECOND)


def test_frames_are_shared_and_have_their_place() -> None:
    frames = a_file(a_story())["shared"]["frames"]

    assert len(frames) == len({json.dumps(frame) for frame in frames})
    assert {
        "name": "step",
        "file": "/home/researcher/project/bandit/env.py",
        "line": 42,
    } in frames
    assert {"name": "garbage collection"} in frames
    assert "<module> train.py" in {frame["name"] for frame in frames}


def test_without_lines_a_function_is_one_frame() -> None:
    detail = a_detail(
        ("0 MainThread", 1.0, "f a.py:1 yours"), ("0 MainThread", 1.0, "f a.py:2 yours")
    )
    report = a_report(seen={"detail": detail})

    assert len(a_file(report)["shared"]["frames"]) == 2
    assert a_file(report, {"lines": "no"})["shared"]["frames"] == [{"name": "f", "file": "a.py"}]


def test_the_metric_is_an_option_and_threads_without_any_are_left_out() -> None:
    idle = a_file(a_story(), {"metric": "idle"})
    cpu = a_file(a_story(), {"metric": "cpu"})

    assert sum(idle["profiles"][0]["weights"]) == round(0.9 * SECOND)
    assert "main, pid 1000, writer 5001" not in [profile["name"] for profile in cpu["profiles"]]
    assert cpu["name"] == "train.py: cpu time"
    with pytest.raises(UsageError, match="metric"):
        a_file(a_story(), {"metric": "samples"})


def test_what_bounds_the_run_is_shown_first() -> None:
    detail = a_detail(
        ("0 MainThread", 1.0, "f a.py:1 yours"), ("1 MainThread", 1.0, "g a.py:1 yours")
    )
    bound = Bound(BoundBy.PROCESS, (1,), 0.9, "the learner")

    document = a_file(
        a_report(
            processes=[a_process(), a_process(1001, "learner")],
            seen={"detail": detail, "bound": bound},
        )
    )

    assert document["profiles"][document["activeProfileIndex"]]["name"].startswith("learner")


@pytest.mark.parametrize("detail", [None, a_detail()], ids=["no-detail", "no-samples"])
def test_a_run_without_samples_is_a_file_that_says_so(detail: Any) -> None:
    document = a_file(a_report(seen={"detail": detail}))

    [profile] = document["profiles"]
    assert "there are no stacks in this file" in profile["name"]
    assert profile["samples"] == []


@given(st.lists(st.tuples(st.text(max_size=8), st.integers(1, 9)), min_size=1, max_size=6))
def test_any_run_fits_the_schema_of_speedscope(drawn: list[tuple[str, int]]) -> None:
    stacks_drawn = [
        (
            "0 MainThread",
            seconds / 10,
            f"{name.replace(' ', '_').replace('~', '-')} a.py:{number} x",
        )
        for number, (name, seconds) in enumerate(drawn)
        if ">" not in name
    ]

    document = a_file(a_report(seen={"detail": a_detail(*stacks_drawn)}))

    weights = sum(sum(profile["weights"]) for profile in document["profiles"])
    assert weights == sum(round(seconds * SECOND) for _, seconds, _ in stacks_drawn)
