"""The profile for pprof, read back by protobuf itself."""

from __future__ import annotations

import gzip
import re
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlprof.model.report import Report
from rlprof.renderers.pprof import RENDERER, int_field
from tests.golden_files import check_golden
from tests.pprof_proto import in_words, parsed
from tests.report_factories import a_detail, a_process, a_report, a_story

SECOND_NS = 1_000_000_000


def needs_protobuf() -> None:
    pytest.importorskip("google.protobuf", reason="needs protobuf: pip install protobuf")


def a_profile(report: Report) -> Any:
    needs_protobuf()
    return parsed(RENDERER.render(report, {}))


def strings(report: Report) -> bytes:
    """The document unpacked: its texts stand in it letter by letter."""
    return gzip.decompress(RENDERER.render(report, {}))


def stacks(profile: Any) -> dict[tuple[str, ...], list[int]]:
    """Names from the outermost on, and the values of all samples with that stack."""
    text = profile.string_table
    functions = {function.id: function for function in profile.function}
    locations = {location.id: location for location in profile.location}
    found: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0, 0])
    for sample in profile.sample:
        names = [
            text[functions[locations[location_id].line[0].function_id].name]
            for location_id in sample.location_id
        ]
        values = found[tuple(reversed(names))]
        for position, value in enumerate(sample.value):
            values[position] += value
    return dict(found)


def test_the_story_looks_as_it_did() -> None:
    check_golden("story.pprof.txt", in_words(a_profile(a_story())))


def test_every_number_leads_somewhere() -> None:
    profile = a_profile(a_story())

    strings = len(profile.string_table)
    functions = [entry.id for entry in profile.function]
    locations = [entry.id for entry in profile.location]
    assert profile.string_table[0] == ""
    assert len(set(profile.string_table)) == strings
    assert 0 not in {*functions, *locations}
    assert (len(set(functions)), len(set(locations))) == (len(functions), len(locations))
    for sample in profile.sample:
        assert set(sample.location_id) <= set(locations)
        assert len(sample.value) == len(profile.sample_type) == 3
        assert all(0 < label.key < strings and 0 < label.str < strings for label in sample.label)
    for location in profile.location:
        assert location.mapping_id == profile.mapping[0].id == 1
        assert {line.function_id for line in location.line} <= set(functions)
    for function in profile.function:
        assert max(function.name, function.system_name, function.filename) < strings


def test_times_are_those_of_the_run_by_stack() -> None:
    profile = a_profile(
        a_report(
            seen={
                "detail": a_detail(
                    ("0 MainThread", 4.0, "main /a/train.py:3 yours > step /a/env.py:7 yours"),
                    ("0 MainThread", 1.0, "main /a/train.py:3 yours > wait /a/env.py:9 yours ~"),
                )
            }
        )
    )

    types = [profile.string_table[value_type.type] for value_type in profile.sample_type]
    assert types == ["wall", "cpu", "idle"]
    assert {profile.string_table[value_type.unit] for value_type in profile.sample_type} == {
        "nanoseconds"
    }
    assert profile.string_table[profile.default_sample_type] == "wall"
    assert stacks(profile) == {
        ("/a/train.py:main", "/a/env.py:step"): [4 * SECOND_NS, round(3.6 * SECOND_NS), 0],
        ("/a/train.py:main", "/a/env.py:wait"): [SECOND_NS, 0, SECOND_NS],
    }


def test_lines_of_a_function_are_locations_of_one_function() -> None:
    profile = a_profile(
        a_report(
            seen={
                "detail": a_detail(
                    ("0 MainThread", 1.0, "step a.py:3 yours"),
                    ("0 MainThread", 1.0, "step a.py:4 yours"),
                    ("0 MainThread", 1.0, "step b.py:4 yours"),
                )
            }
        )
    )

    names = [profile.string_table[function.name] for function in profile.function]
    assert names == ["a.py:step", "b.py:step"]
    assert [location.line[0].line for location in profile.location] == [3, 4, 4]


def test_what_was_not_seen_is_a_comment() -> None:
    report = a_report(processes=[a_process(77, "worker", sampled=False, note="it ended too soon")])

    comments = strings(report)

    assert b"Not sampled: worker, pid 77 (it ended too soon)." in comments
    assert b"The report was made without detail: there are no stacks in this file." in comments


def test_hostile_names_are_spelled_out() -> None:
    frame = "a\x1b[2J\udce9\nb"
    detail = a_detail((f"0 {frame}", 1.0, f"{frame} /tmp/{frame}:3 yours"))

    report = a_report(script=frame, seen={"detail": detail})

    assert b"\\x1b[2J\\udce9\\n" in strings(report)
    assert b"\x1b[2J" not in strings(report)
    profile = a_profile(report)
    assert not [text for text in profile.string_table if re.search(r"[\x00-\x1f\x7f-\x9f]", text)]


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(1, "08 01"), (150, "08 96 01"), (-1, "08" + " ff" * 9 + " 01")],
)
def test_numbers_are_varints(value: int, encoded: str) -> None:
    """The examples of protobuf's own documentation of its encoding."""
    assert int_field(1, value) == bytes.fromhex(encoded)


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_numbers_are_written_as_protobuf_reads_them(value: int) -> None:
    needs_protobuf()
    from google.protobuf.wrappers_pb2 import Int64Value

    assert Int64Value.FromString(int_field(1, value)).value == value
