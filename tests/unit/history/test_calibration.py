"""Promises against what came: their arithmetic and their formats."""

from __future__ import annotations

import json

import pytest

from rlprof.documents.markdown import as_markdown
from rlprof.documents.terminal import as_text
from rlprof.history.calibration import Calibration, GainSource, calibration_of
from rlprof.history.document import calibration_document, points
from rlprof.history.json_document import calibration_as_json
from rlprof.history.rows import Unread, history_of
from rlprof.model.experiment import TryOutcome
from tests.experiment_factory import (
    a_ceiling,
    a_failed_experiment,
    a_gain,
    a_treatment_of_the_user,
)
from tests.history_factory import a_row
from tests.verification_factory import a_verified_fix


def calibrated(*read) -> Calibration:
    return calibration_of(history_of(read))


TRIED = a_row(
    1000,
    at=1,
    experiments=(
        a_gain("model-publish", told=(0.30, 0.50), saves=(0.38, 0.36, 0.40)),
        a_gain("eager-log-format", told=(0.10, 0.20), saves=(-0.02, -0.04, 0.01)),
        a_ceiling("env-step-bound"),
        a_failed_experiment(TryOutcome.REFUSED),
        a_gain("gc-pressure", outcome=TryOutcome.NOT_CLEAR),
        a_treatment_of_the_user("train:f"),
        a_gain("", told=(0.1, 0.2), treatment="all-together"),
    ),
)
VERIFIED = (
    a_verified_fix("model-publish", promised=(0.04, 0.20), saves=(0.40, 0.38, 0.45), at=3),
    a_verified_fix("model-publish", promised=(0.30, 0.40), saves=(0.33, 0.30, 0.36), at=2),
)
SEVERAL = calibrated(TRIED, *VERIFIED)
NOTHING = calibrated(a_row(1000, at=1), Unread("x.verify.json", "x.verify.json is damaged"))
HOSTILE = calibrated(
    a_verified_fix("x|y`\x1b[31m\udc80" * 20, promised=(0.0, 1.0), saves=(-900.0, -1e6, 0.5)),
    Unread("x|y", "x|y is damaged \udc80"),
)
CALIBRATIONS = {"several": SEVERAL, "nothing": NOTHING, "hostile": HOSTILE}


def test_gains_of_both_kinds_count_and_nothing_else():
    assert SEVERAL.whole is not None
    assert SEVERAL.whole.number(GainSource.VERIFIED) == 2
    assert SEVERAL.whole.number(GainSource.TRIED) == 2
    assert (SEVERAL.ceilings, SEVERAL.unclear) == (1, 2)


def test_a_detector_has_its_share_held_and_its_errors():
    publish, logging = SEVERAL.rows

    assert (publish.finding, publish.kept, len(publish.promises)) == ("model-publish", 2, 3)
    assert publish.held == pytest.approx(2 / 3)
    # 0.02 too much, 0.02 too much, 0.28 too little.
    assert publish.median_excess == pytest.approx(0.02)
    assert publish.worst_excess == pytest.approx(-0.28)
    assert (logging.held, logging.worst_excess) == (0, pytest.approx(0.17))


def test_all_of_them_are_judged_together():
    whole = SEVERAL.whole

    assert whole is not None
    assert (whole.kept, len(whole.promises)) == (2, 4)
    assert whole.median_excess == pytest.approx(0.02)
    assert whole.worst_excess == pytest.approx(-0.28)
    times = [promise.when for promise in whole.promises]
    assert times == sorted(times)


def test_copies_of_a_run_count_once():
    whole = calibrated(TRIED, TRIED).whole

    assert whole is not None
    assert len(whole.promises) == 2


def text_of(calibration: Calibration) -> list[str]:
    text = as_text(calibration_document(calibration), width=110, colored=False)
    return [" ".join(line.split()) for line in text.splitlines()]


def test_the_text_begins_with_all_of_them_and_has_a_line_for_each_detector():
    lines = text_of(SEVERAL)

    assert lines[0] == "2 of 4 promises held; the median error is +2.0 points, the worst −28."
    assert "model-publish 2 1 67 % +2.0 −28" in lines
    assert "eager-log-format 0 1 0.0 % +17 +17" in lines
    assert "all 2 2 50 % +2.0 −28" in lines


def test_each_promise_stands_beside_what_came():
    lines = text_of(SEVERAL)

    assert "model-publish 4.0 to 20 % 40 % −28 verified 2023-11-15 01:13" in lines


def test_what_is_left_out_is_told():
    text = " ".join(text_of(SEVERAL))

    assert "1 ceiling is left out" in text
    assert "2 experiments are left out" in text


def test_without_any_it_says_how_to_come_by_one():
    text = " ".join(text_of(NOTHING))

    assert text.startswith("Nothing that was promised here has been measured yet.")
    assert "not read: x.verify.json is damaged" in text
    assert "**" not in as_markdown(calibration_document(NOTHING))
    assert json.loads(calibration_as_json(NOTHING))["whole"] is None


def test_the_json_holds_every_promise():
    document = json.loads(calibration_as_json(SEVERAL))

    assert [row["finding"] for row in document["by_finding"]] == [
        "model-publish",
        "eager-log-format",
    ]
    assert document["whole"]["held"] == 0.5
    assert [promise["source"] for promise in document["promises"]] == [
        *("tried", "tried"),
        *("verified", "verified"),
    ]


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.12, "+12"), (-0.034, "−3.4"), (0.0001, "0"), (-0.0001, "0"), (0.0996, "+10")],
)
def test_points_have_a_sign(share, expected):
    assert points(share) == expected
