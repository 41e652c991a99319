"""The formats of the history, for a journey that went well and for odd ones."""

from __future__ import annotations

import json

import pytest

from rlprof.documents.markdown import as_markdown
from rlprof.documents.terminal import as_text
from rlprof.history.document import history_document
from rlprof.history.json_document import history_as_json
from rlprof.history.rows import History, Unread, history_of
from rlprof.model.profile import PhaseKind
from rlprof.names import columns
from tests.history_factory import a_row
from tests.report_factories import a_finding
from tests.verification_factory import a_verified_fix

JOURNEY = history_of(
    [
        a_row(2423, at=1, label="stage-1", top=a_finding("omegaconf-in-loop", saves=(0.8, 0.93))),
        a_row(21200, at=2, label="stage-2"),
        a_row(21400, at=3, git="abc1234+changes", top=a_finding(
            "startup-bound", saves=(0.3, 0.5), phase=PhaseKind.START_UP)),
    ]
)  # fmt: skip
HOSTILE = history_of(
    [
        a_row(None, at=1, label="a|b `c`\x1b[31m\n" + "long " * 40, exit_code=1, complete=False),
        Unread("x|y.rlprof", "x|y.rlprof is not a run file of rlprof \udc80"),
    ]
)
NOTHING_READ = history_of([Unread("junk.rlprof", "junk.rlprof is damaged: cut off")])
VERIFIED = history_of(
    [
        a_verified_fix("model-publish", promised=(0.04, 0.19), saves=(0.40, 0.38, 0.45), at=2,
                       tried=(0.42, 0.40, 0.44), file=".rlprof/2.verify.json"),
        a_row(2423, at=1, label="stage-1"),
        a_verified_fix(at=1, file=".rlprof/1.verify.json"),
    ]
)  # fmt: skip
HISTORIES = {
    "journey": JOURNEY,
    "hostile": HOSTILE,
    "nothing read": NOTHING_READ,
    "verified": VERIFIED,
}


def text_of(found: History, width: int = 80) -> str:
    return as_text(history_document(found), width=width, colored=False)


def markdown_of(found: History) -> str:
    return as_markdown(history_document(found))


def table_of(found: History) -> list[list[str]]:
    lines = [line for line in markdown_of(found).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_the_text_tells_the_journey():
    text = text_of(JOURNEY)

    first, second, third = text.index("stage-1"), text.index("stage-2"), text.index("abc1234")
    assert first < second < third
    assert "8.75×" in text[second:third]
    assert "≈1.01×" in text[third:]
    assert "saves 80 to 93 %" in text[first:second]
    assert "of the run" in " ".join(text[third:].split())
    assert "train.py --seed" in text
    assert "/venv" not in text


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_a_narrow_terminal_keeps_stage_rate_and_bottleneck(width):
    lines = text_of(JOURNEY, width).splitlines()

    assert max(map(columns, lines)) <= width
    (first,) = (line for line in lines if "stage-1" in line)
    assert "2 420" in first
    assert "omegaconf-in" in first


def test_the_markdown_is_one_table_with_a_line_for_each_run():
    heading, rule, *rows = table_of(JOURNEY)

    assert heading[:4] == ["when (UTC)", "stage", "command", "sps"]
    assert len(rows) == 3
    assert {len(row) for row in (heading, rule, *rows)} == {len(heading)}
    assert rows[0][1:4] == ["stage-1", "train.py --seed 1", "2 420"]
    assert rows[1][5:7] == ["8.75×", "8.75×"]


def test_the_markdown_has_remarks_only_where_there_are_some():
    assert len(table_of(HOSTILE)[0]) == len(table_of(JOURNEY)[0]) + 1
    assert "exit code 1" in table_of(HOSTILE)[2][-1]


def test_names_do_not_break_the_markdown():
    (row,) = table_of(HOSTILE)[2:]

    assert row[1].startswith(r"a\|b \`c\`")
    assert r"- not read: x\|y.rlprof is not" in markdown_of(HOSTILE)


def test_the_json_has_rate_gains_and_bottleneck():
    first, second, third = json.loads(history_as_json(JOURNEY))["runs"]

    assert first["sps"]["median"] == 2423
    assert first["bottleneck"]["saved_share"] == {"low": 0.8, "high": 0.93}
    assert first["gain_over_previous"] is None
    assert second["gain_over_first"]["is_clear"]
    assert not third["gain_over_previous"]["is_clear"]
    assert third["label"] is None
    assert [load["file"] for load in json.loads(history_as_json(HOSTILE))["unread"]] == [
        "x|y.rlprof"
    ]


def test_verified_fixes_stand_below_the_runs_in_order_of_time():
    text = text_of(VERIFIED, 110)

    table = text.partition("Verified fixes")[2].splitlines()
    first, second = (line.split() for line in table if "held" in line or "more came" in line)
    assert first == [
        *["2023-11-14", "omegaconf-in-loop", "68", "to", "87", "%", "–", "80", "%", "held"]
    ]
    assert second == [
        *[
            "2023-11-15",
            "model-publish",
            "4.0",
            "to",
            "19",
            "%",
            "42",
            "%",
            "40",
            "%",
            "more",
            "came",
        ]
    ]


def test_the_json_tells_what_was_promised_tried_and_saved():
    _, fix = json.loads(history_as_json(VERIFIED))["verified"]

    assert (fix["finding"], fix["standing"]) == ("model-publish", "above")
    assert fix["promised"] == {"low": 0.04, "high": 0.19}
    assert fix["tried"]["median"] == 0.42
    assert fix["saved_share"] == {"median": 0.4, "low": 0.38, "high": 0.45}
    assert fix["file"] == ".rlprof/2.verify.json"
