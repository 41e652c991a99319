"""Sentences that tell how a try goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.experiments import words
from rlprof.experiments.plan import PlannedFinding, PlannedOption
from rlprof.model.experiment import Experiment, MeasuredShare, TreatmentKind, TryOutcome
from rlprof.model.finding import Range
from rlprof.report import wording

OPTION = PlannedOption("lazy-log-text", "builds texts late", "gain", [{"way": "edit"}])

HALF = MeasuredShare(0.5, 0.4, 0.6)
PRICE = Range(0.5, 0.8)


def planned(finding: str = "eager-log-format", *, refusal: str = "") -> PlannedFinding:
    options = [] if refusal else [OPTION]
    return PlannedFinding(
        finding, 1, "title", "/project/train.py", 7, "step", 0.2, 0.5, options, refusal
    )


def experiment(
    outcome: TryOutcome = TryOutcome.MEASURED,
    measured: MeasuredShare | None = HALF,
    *,
    kind: TreatmentKind = TreatmentKind.GAIN,
    finding: str = "eager-log-format",
    predicted: Range | None = PRICE,
    note: str = "",
) -> Experiment:
    return Experiment(
        finding=finding,
        file="train.py",
        line=7,
        function="step",
        treatment="lazy-log-text",
        kind=kind,
        outcome=outcome,
        predicted=predicted,
        measured=measured,
        pairs=8,
        slot_s=0.8,
        seconds=9.6,
        note=note,
    )


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 findings"), (1, "1 finding "), (3, "3 findings")]
)
def test_it_begins_with_how_many_there_are(count, text):
    assert text in words.begins([planned()] * count, [], 120.0)


def test_one_that_is_tried_in_both_ways_is_one_finding():
    told = words.begins([planned(), replace(planned(), rank=2)], [planned()], 120.0)

    assert "2 findings to try, 1 of them by runs of their own" in told


def test_what_is_tried_is_named_with_its_place():
    assert (
        words.tries(planned(), OPTION) == "tries eager-log-format (train.py:7): builds texts late"
    )


def test_treatments_of_the_users_are_told_apart_by_their_functions():
    own = PlannedFinding("", 0, "", "train", 0, "publish", 0, 0, [OPTION])
    told = replace(experiment(finding="", predicted=None), file="train", function="publish")

    assert words.tries(own, OPTION) == "tries lazy-log-text train:publish: builds texts late"
    assert words.tried(told).startswith("lazy-log-text train:publish: 2.00×")


def test_what_is_not_tried_says_why():
    assert words.not_tried(planned(refusal="its line is in no function")) == (
        "does not try eager-log-format (train.py:7): its line is in no function"
    )
    assert "--budget" in words.no_time_for([planned()])


def test_a_gain_is_told_beside_what_samples_told():
    assert words.tried(experiment()) == (
        "eager-log-format: 2.00× (1.67× to 2.50×), 8 pairs in 10 s; samples told 2.00× to 5.00×"
    )


def test_a_ceiling_is_told_as_one():
    told = words.tried(experiment(kind=TreatmentKind.CEILING, predicted=None))

    assert told == "eager-log-format: at most 2.00× (1.67× to 2.50×), 8 pairs in 10 s"


@pytest.mark.parametrize(
    "outcome", [each for each in TryOutcome if each is not TryOutcome.MEASURED]
)
def test_other_ends_are_told_in_words(outcome):
    told = words.tried(experiment(outcome, None, note="it is a generator"))

    assert told.startswith(f"eager-log-format: {outcome.value.replace('-', ' ')}")
    assert told.endswith("(it is a generator)")
    assert "×" not in told


def test_what_is_not_clear_is_told_with_its_bounds():
    told = words.tried(experiment(TryOutcome.NOT_CLEAR, MeasuredShare(0.5, -0.25, 0.75)))

    assert told == "eager-log-format: not clear: 2.00× (0.80× to 4.00×), 8 pairs in 10 s"


@pytest.mark.parametrize("saved", [1.0, 0.99999, 2.0])
def test_a_saving_of_all_is_no_division_by_zero(saved):
    assert words.times(MeasuredShare(saved, saved, saved)).startswith(f"{wording.count(10_000)}×")


def test_all_together_have_the_parts_of_each_and_multiply():
    together = words.together([(planned(), OPTION), (planned("gc-pressure"), OPTION)])

    (option,) = together.options
    assert option.treatment == words.TOGETHER
    assert option.parts == [{"way": "edit"}] * 2
    assert (together.low, together.high) == pytest.approx((1 - 0.8**2, 1 - 0.5**2))
    assert words.tries(together, option) == "tries all-together: all 2 that gained something"


def test_a_finding_that_is_not_there_is_told_with_those_that_are():
    error = words.no_such_finding("nonsense", [planned(), planned("gc-pressure")])

    assert "nonsense" in error.message
    assert error.hint == "its findings are: 1 eager-log-format, 1 gc-pressure"
    assert words.no_such_finding("nonsense", []).hint == "its findings are: none"


@pytest.mark.parametrize(
    "error",
    [words.nothing_counted(), words.counts_too_seldom(20.0), words.ended_too_early()],
)
def test_each_error_says_what_to_do_next(error):
    assert error.slug.startswith("try-")
    assert error.hint
