"""The arithmetic of ``benchmarks/accuracy.py``."""

from __future__ import annotations

import pytest

from benchmarks.verdict import (
    Expectation,
    Measured,
    Prediction,
    Run,
    Verdict,
    read_prediction,
    totals,
)

POLLING = Expectation("ipc-polling", allowed=frozenset({"learner-starved"}))
FREE_POLLING = Expectation("ipc-polling", allowed=frozenset(), worth_nothing=True)
HEALTHY = Expectation("", allowed=frozenset())


def finding(name, low, high, confidence="measured", phase="steady"):
    share = {"low": low, "high": high}
    likely = (low + high) / 2
    return {
        "id": name,
        "confidence": confidence,
        "phase": phase,
        "saved_share": share,
        "likely_share": likely,
    }


def report(*listed, also_seen=()):
    ranked = [{**row, "rank": rank} for rank, row in enumerate([*listed, *also_seen], start=1)]
    return {"findings": ranked[: len(listed)], "also_seen": ranked[len(listed) :]}


def said(low, high, rank=1, false=()):
    return Prediction(low, high, (low + high) / 2, rank, false=tuple(false), listed=())


def judged(*predictions, savings=(0.5,), expected=POLLING):
    return Verdict("program", expected, predictions, Measured(tuple(savings), neighbours=0.0))


def test_the_right_finding_is_read_with_its_rank_and_range():
    text = report(finding("hot-spot", 0.0, 0.6), finding("ipc-polling", 0.3, 0.4))

    prediction = read_prediction(text, POLLING)

    assert (prediction.low, prediction.high, prediction.rank) == (0.3, 0.4, 2)
    assert prediction.likely == pytest.approx(0.35)
    assert prediction.listed == ("hot-spot", "ipc-polling")


def test_what_is_not_mentioned_is_predicted_to_save_next_to_nothing():
    prediction = read_prediction(report(finding("hot-spot", 0.0, 0.6)), POLLING)

    assert (prediction.low, prediction.high, prediction.rank) == (0.0, 0.01, None)


def test_what_is_paid_once_is_ranked_by_itself():
    told = report(finding("other", 0.2, 0.4), finding("ipc-polling", 0.3, 0.5, phase="start-up"))

    assert read_prediction(told, POLLING).rank == 1


def test_what_is_only_seen_has_a_price_but_no_rank():
    text = report(
        finding("gc-pressure", 0.1, 0.2), also_seen=[finding("ipc-polling", 0.001, 0.004)]
    )

    prediction = read_prediction(text, FREE_POLLING)

    assert (prediction.low, prediction.high, prediction.rank) == (0.001, 0.004, None)


@pytest.mark.parametrize(
    ("row", "is_false"),
    [
        (finding("gc-pressure", 0.01, 0.031), True),
        (finding("gc-pressure", 0.01, 0.029), False),
        (finding("learner-starved", 0.4, 0.5), False),
        (finding("ipc-polling", 0.4, 0.5), False),
        (finding("startup-bound", 0.4, 0.5), False),
        (finding("hot-spot", 0.0, 0.9, confidence="suspected"), False),
    ],
    ids=["foreign", "small", "allowed", "right", "start-up", "of unknown cause"],
)
def test_a_finding_is_false_when_its_cause_is_not_in_the_program(row, is_false):
    prediction = read_prediction(report(row), POLLING)

    assert bool(prediction.false) == is_false


def test_a_cause_that_costs_nothing_is_false_when_listed_at_a_price():
    prediction = read_prediction(report(finding("ipc-polling", 0.0, 0.08)), FREE_POLLING)

    assert prediction.false == ("ipc-polling [0.00, 0.08]",)


def test_a_healthy_program_may_have_no_known_cause():
    prediction = read_prediction(report(finding("ipc-polling", 0.02, 0.05)), HEALTHY)

    assert prediction.false == ("ipc-polling [0.02, 0.05]",)


def test_savings_are_of_the_time_per_step():
    rates = [(100.0, 400.0), (100.0, 200.0), (300.0, 200.0)]
    pairs = [(Run(before, 0.0), Run(after, 0.3)) for before, after in rates]

    measured = Measured.of(pairs)

    assert measured.savings == (0.75, 0.5, -0.5)
    assert measured.median == 0.5
    assert measured.neighbours == pytest.approx(0.15)


def test_the_uncertainty_of_a_median_shrinks_with_the_pairs():
    few = Measured((0.4, 0.5, 0.6), neighbours=0.0)
    many = Measured((0.4, 0.5, 0.6) * 12, neighbours=0.0)

    assert few.uncertainty == pytest.approx(0.072, abs=0.001)
    assert many.uncertainty == pytest.approx(0.0173, abs=0.0005)
    assert Measured((0.4,), neighbours=0.0).uncertainty == 0.0


def test_the_middle_of_the_recordings_is_what_is_judged():
    verdict = judged(said(0.3, 0.4), said(0.4, 0.5), said(0.1, 0.9), savings=[0.5, 0.5, 0.5])

    assert (verdict.low, verdict.high) == (0.3, 0.5)
    assert verdict.error == pytest.approx(-5.0)
    assert verdict.is_in_range


@pytest.mark.parametrize(
    ("savings", "is_in_range"),
    [([0.52, 0.52, 0.52], False), ([0.42, 0.52, 0.62], True), ([0.3, 0.3, 0.3], True)],
    ids=["exact and outside", "outside by less than it is known", "at the edge"],
)
def test_a_price_holds_when_the_measurement_does_not_contradict_it(savings, is_in_range):
    verdict = judged(said(0.3, 0.5), savings=savings)

    assert verdict.is_in_range == is_in_range


def test_the_worst_recording_gives_the_rank():
    second = judged(said(0.4, 0.5, rank=1), said(0.4, 0.5, rank=2))
    lost = judged(said(0.4, 0.5, rank=1), said(0.0, 0.01, rank=None))

    assert (second.rank, second.is_first, second.is_within) == (2, False, True)
    assert (lost.rank, lost.is_first, lost.is_within) == (None, False, False)


def test_what_costs_nothing_is_right_where_it_is_not_listed():
    quiet = judged(said(0.0, 0.01, rank=None), savings=[0.0], expected=FREE_POLLING)
    listed = judged(said(0.1, 0.2, rank=1), savings=[0.0], expected=FREE_POLLING)

    assert quiet.is_first
    assert quiet.is_within
    assert not listed.is_first
    assert not listed.is_within


def test_totals_are_set_against_the_targets():
    exact = judged(said(0.45, 0.55), savings=[0.5])
    dear = judged(said(0.6, 0.8, rank=2, false=["gc-pressure [0.10, 0.20]"]), savings=[0.5])
    clean = Verdict("clean", HEALTHY, (said(0.0, 0.01, rank=None),), None)

    rows = {row.what: (row.reached, row.is_met) for row in totals([exact, dear], [clean])}

    assert rows == {
        "right finding first": ("1 of 2 (50 %)", False),
        "right finding in the first three": ("2 of 2 (100 %)", True),
        "measured in the predicted range": ("1 of 2 (50 %)", False),
        "median error": ("10.0 points", False),
        "worst error": ("20.0 points", False),
        "pairs without a false finding": ("1 of 2 (50 %)", False),
        "innocents without a finding": ("1 of 1 (100 %)", True),
    }
