"""Findings that were tried: at what was measured, and where that puts them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.model.experiment import Experiment, MeasuredShare, TryOutcome
from rlprof.model.finding import Confidence, Finding, Location, PricedFinding, Range, Saving
from rlprof.model.profile import PhaseKind, Profile
from rlprof.pricing.experiments import with_experiments
from rlprof.pricing.ranking import Priced, saved_together
from rlprof.pricing.sale import price
from rlprof.profile.build import build_profile
from rlprof.report import wording
from rlprof.report.wording.experiments import measured_times
from tests.experiment_factory import a_ceiling, a_failed_experiment, a_gain
from tests.factories import a_run

HOT = "/home/researcher/project/hot.py:3 hot"
PUBLISH = "/home/researcher/project/publish.py:7 publish"
ELSEWHERE = "/home/researcher/project/elsewhere.py:9 elsewhere"


@pytest.fixture(scope="module")
def profile() -> Profile:
    """A thousand steps per second; half of the time in ``hot.py``, a tenth in ``publish.py``."""
    run = a_run(steady_s=60).process("main", steps=60_000)
    for seconds, place in ((30, HOT), (6, PUBLISH), (24, "train.py:14 step")):
        run.spends(seconds, "train.py:12 loop", place)
    return build_profile(run.recording())


def a_claim(
    profile: Profile, detector: str, place: str, phase: PhaseKind = PhaseKind.STEADY
) -> Finding:
    file, _, rest = place.rpartition(":")
    line, _, function = rest.partition(" ")
    nodes = frozenset(
        node for node in profile.whole.hot_nodes() if profile.whole.frame(node).file == file
    )
    return Finding(
        title=f"{function} is slow",
        savings=(Saving(nodes, Range(1.0, 1.0)),),
        locations=(Location(file, int(line), function, 0.5),),
        evidence=("seen in samples",),
        fix="Leave it out.",
        detector=detector,
        phase=phase,
    )


def told_by_samples(profile: Profile) -> Priced:
    claims = [a_claim(profile, "hot-call", HOT), a_claim(profile, "model-publish", PUBLISH)]
    return price(claims, profile)


def after(profile: Profile, *experiments: Experiment) -> dict[str, PricedFinding]:
    """The findings by detector, in their order."""
    priced = with_experiments(told_by_samples(profile), experiments, profile)
    entries = (*priced.listed, *priced.also_seen)
    assert [entry.rank for entry in entries] == [*range(1, len(entries) + 1)]
    return {entry.finding.detector: entry for entry in entries}


def test_a_measured_gain_is_the_price(profile):
    entry = after(profile, a_gain("model-publish", PUBLISH))["model-publish"]

    assert entry.saved_share == (0.38, 0.45)
    assert entry.tried_share == 0.40
    assert entry.finding.confidence is Confidence.TRIED
    assert entry.sps_after == pytest.approx((1000 / 0.62, 1000 / 0.55), rel=0.01)
    assert entry.saved_us == pytest.approx(
        (0.38 * profile.steady_us, 0.45 * profile.steady_us), rel=0.01
    )
    assert entry.finding.evidence == (
        "tried in 8 pairs of slots of 0.8 s: saves 40 % (38 to 45 %); samples had told 4.0 to 19 %",
        "seen in samples",
    )


def test_a_gain_of_more_than_a_hundred_times_is_told_as_it_was_measured(profile):
    measured = MeasuredShare(0.9992, 0.9990, 0.9995)

    entry = after(profile, replace(a_gain("hot-call", HOT), measured=measured))["hot-call"]

    assert entry.sps_after == pytest.approx((1_000_000, 2_000_000), rel=0.01)
    assert saved_together([entry]) == pytest.approx((0.9990, 0.9995))
    assert (
        measured_times(entry)
        == f"measured: {wording.count(1250)}× ({wording.count(1000)} to {wording.count(2000)})"
    )


@pytest.mark.parametrize(
    ("saves", "order"),
    [
        ((0.65, 0.6, 0.7), ["model-publish", "hot-call"]),
        ((0.40, 0.38, 0.45), ["hot-call", "model-publish"]),
    ],
)
def test_it_is_ranked_by_what_was_measured(profile, saves, order):
    assert [*after(profile, a_gain("model-publish", PUBLISH, saves=saves))] == order


def test_what_was_not_tried_keeps_its_price(profile):
    before = told_by_samples(profile).listed[0]

    assert after(profile, a_gain("model-publish", PUBLISH))["hot-call"] == before


def test_without_a_prediction_it_is_beside_the_price_of_this_run(profile):
    (predicted,) = told_by_samples(profile).listed[1:]

    entry = after(profile, a_gain("model-publish", PUBLISH, told=None))["model-publish"]

    assert f"samples had told {predicted.saved_share.low * 100:.1f} to" in entry.finding.evidence[0]


def test_at_another_line_it_is_of_the_only_finding_of_its_cause(profile):
    entry = after(profile, a_gain("model-publish", ELSEWHERE))["model-publish"]

    assert entry.finding.confidence is Confidence.TRIED


def test_of_two_findings_of_one_cause_only_that_at_its_line_was_tried(profile):
    claims = [a_claim(profile, "slow-call", place) for place in (HOT, PUBLISH)]
    priced = price(claims, profile)

    at_the_line = with_experiments(priced, [a_gain("slow-call", PUBLISH)], profile)
    elsewhere = with_experiments(priced, [a_gain("slow-call", ELSEWHERE)], profile)

    assert [
        entry.finding.title
        for entry in at_the_line.listed
        if entry.finding.confidence is Confidence.TRIED
    ] == ["publish is slow"]
    assert elsewhere == priced


@pytest.mark.parametrize(
    "experiment",
    [
        a_gain("other-cause", PUBLISH),
        a_gain("", PUBLISH, told=None),
        a_gain("model-publish", PUBLISH, outcome=TryOutcome.NOT_CLEAR),
        a_failed_experiment(TryOutcome.REFUSED, "model-publish", PUBLISH),
    ],
    ids=["another cause", "a treatment of the user's", "not clear", "refused"],
)
def test_all_else_changes_nothing(profile, experiment):
    before = told_by_samples(profile)

    assert with_experiments(before, [experiment], profile) == before


def test_of_two_treatments_the_better_one_is_the_price(profile):
    worse = a_gain("model-publish", PUBLISH, saves=(0.1, 0.05, 0.2))
    better = a_gain("model-publish", PUBLISH)

    assert after(profile, better, worse) == after(profile, worse, better)
    assert after(profile, worse, better)["model-publish"].saved_share == (0.38, 0.45)


def test_a_gain_of_nothing_is_said(profile):
    entry = after(profile, a_gain("hot-call", HOT, saves=(-0.002, -0.012, 0.021)))["hot-call"]

    assert entry.saved_share == (0.0, 0.021)
    assert entry.tried_share == 0.0
    assert entry.rank == 2
    assert entry.finding.evidence[0] == (
        "tried: nothing was gained in 8 pairs of slots of 0.8 s (-1.2 to 2.1 %); "
        "samples had told 4.0 to 19 %"
    )


def test_what_makes_steps_slower_saves_nothing(profile):
    entry = after(profile, a_gain("hot-call", HOT, saves=(-0.3, -0.4, -0.1)))["hot-call"]

    assert entry.saved_share == (0.0, 0.0)
    assert "nothing was gained" in entry.finding.evidence[0]


def test_an_interval_around_0_that_reaches_far_is_no_such_thing(profile):
    entry = after(profile, a_gain("hot-call", HOT, saves=(0.02, -0.01, 0.05)))["hot-call"]

    assert entry.saved_share == (0.0, 0.05)
    assert "saves 2.0 % (-1.0 to 5.0 %)" in entry.finding.evidence[0]


def test_a_ceiling_ends_a_price_that_is_higher(profile):
    predicted = told_by_samples(profile).listed[0].saved_share

    entry = after(profile, a_ceiling("hot-call", HOT, saves=(0.2, 0.15, 0.25)))["hot-call"]

    assert predicted.low > 0.25
    assert entry.saved_share == (0.25, 0.25)
    assert entry.sps_after == pytest.approx((1000 / 0.75, 1000 / 0.75), rel=0.01)
    assert entry.finding.confidence is Confidence.MEASURED
    assert entry.tried_share is None
    assert entry.finding.evidence[0].startswith(
        "its ceiling was tried in 8 pairs of slots of 0.8 s: no fix saves more than 25 %; samples had told "
    )


def test_what_other_lines_take_is_added_to_a_ceiling(profile):
    """The treatment may have been at the heaviest alone."""
    claim = a_claim(profile, "hot-call", HOT)
    further = replace(claim, locations=(*claim.locations, Location("other.py", 3, "other", 0.1)))
    ceiling = a_ceiling("hot-call", HOT, saves=(0.2, 0.15, 0.25))

    (entry,) = with_experiments(price([further], profile), [ceiling], profile).listed

    assert entry.saved_share.high == pytest.approx(0.35)
    assert entry.finding.evidence[0].startswith(
        "its ceiling was tried in 8 pairs of slots of 0.8 s: no fix saves more than 35 %, 10 % of which is the time of its other lines; "
    )


def test_a_ceiling_above_the_price_leaves_it(profile):
    before = told_by_samples(profile).listed[1]

    entry = after(profile, a_ceiling("model-publish", PUBLISH))["model-publish"]

    assert entry.saved_share == before.saved_share
    assert entry.finding.evidence[0] == (
        "its ceiling was tried in 8 pairs of slots of 0.8 s: no fix saves more than 45 %"
    )


def test_a_gain_goes_before_a_ceiling(profile):
    entry = after(
        profile,
        a_ceiling("hot-call", HOT, saves=(0.2, 0.15, 0.25)),
        a_gain("hot-call", HOT, saves=(0.3, 0.28, 0.31)),
    )["hot-call"]

    assert entry.saved_share == (0.28, 0.31)


def test_a_start_up_finding_is_not_priced_by_slots(profile):
    claim = a_claim(profile, "process-startup", HOT, PhaseKind.START_UP)
    before = price([claim], profile)

    assert with_experiments(before, [a_gain("process-startup", HOT)], profile) == before


def test_together_what_was_tried_is_not_added_to_what_may_be_the_same_time(profile):
    entries = after(profile, a_gain("model-publish", PUBLISH)).values()
    hot = told_by_samples(profile).listed[0]

    together = saved_together([*entries])

    assert together.low == max(0.38, hot.saved_share.low)
    assert together.high > 0.6
