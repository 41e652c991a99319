from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rlprof.model.activity import Bound, BoundBy
from rlprof.model.finding import Confidence, PricedFinding, Range
from rlprof.model.profile import Drift, Interval, PhaseKind, Throughput
from rlprof.model.recording import Note
from rlprof.model.report import Report
from rlprof.renderers.terminal import RENDERER
from rlprof.report import wording
from rlprof.report.wording.rates import on_the_rate
from rlprof.report.wording.run import run_facts
from tests.report_factories import a_finding, a_report, a_tried_finding


def why(throughput: Throughput) -> str:
    report: Report = a_report(sps=None)
    return on_the_rate(replace(report, throughput=throughput))


def test_why_there_is_no_rate_tells_what_was_missing():
    rates = tuple((at, at + 500_000, 90.0) for at in range(0, 1_500_000, 500_000))
    printed = Throughput("steps", "as printed by the program", None, series=rates)

    assert "nothing counted steps" in why(Throughput("none", "none", None))
    assert "12 steps were counted" in why(Throughput("steps", "rlprof.step", None, total_steps=12))
    assert "too few rates" in why(printed)
    assert "too few rates" in wording.lack_of_rate(printed)


@pytest.mark.parametrize("rates", [1, 2])
def test_who_prints_a_rate_at_the_end_alone_is_not_told_to_train_for_longer(rates):
    series = tuple((at, at + 500_000, 90.0) for at in range(0, rates * 500_000, 500_000))
    told = why(Throughput("steps", "as printed by the program", None, series=series))

    assert "Call rlprof.step(n)" in told
    assert "longer" not in told


def test_a_rate_that_was_printed_has_no_count():
    printed = Throughput("steps", "as printed by the program", Interval(90.0, 80.0, 99.0))
    facts = dict(run_facts(replace(a_report(), throughput=printed)))

    assert wording.unglued(facts["Steps"]).startswith("as printed by the program; steady 90 sps")


def drifting(first: float, last: float) -> Throughput:
    rate = Interval(126.0, min(first, last), max(first, last))
    return Throughput("steps", "rlprof.step", rate, total_steps=9_000, drift=Drift(first, last))


def test_a_rate_that_drifts_by_factors_is_told_with_both_its_ends():
    assert "561 sps in the first third of the steady phase, 24 sps in the last" in wording.unglued(
        why(drifting(561.4, 24.0))
    )
    assert why(drifting(561.4, 400.0)) == ""


def test_a_price_of_nearly_all_time_has_no_upper_end():
    def after(low: float, high: float) -> str:
        report = a_report(sps=126.0)
        priced = a_finding(saves=(low, high), sps_after=(126 / (1 - low), 126 / (1 - high)))
        return wording.unglued(wording.price_after(priced, report))

    assert after(0.608, 0.99) == "at least 321 sps"
    assert after(0.5, 0.6) == "252 to 315 sps"
    assert after(0.98, 0.99) == "6 300 to 12 600 sps"
    assert wording.price_after(a_finding(sps_after=None), a_report()) == ""


def test_a_finding_that_is_not_listed_says_where_its_time_is_counted():
    def price(high: float, **changes: Any) -> str:
        found = replace(a_finding(saves=(0.0, high), rank=4), **changes)
        return wording.unglued(wording.price_of_seen(found))

    assert price(0.0) == "not priced"
    assert price(0.004) == "saves at most 0.4 %"
    assert price(0.0, counted_in=2) == "counted in finding 2"
    assert price(0.004, counted_in=2) == "saves at most 0.4 % besides what is counted in finding 2"


def test_seconds_saved_are_those_of_the_run():
    assert wording.unglued(wording.seconds_saved(a_finding(saved_s=(1.25, 2.5)))) == "1.2 to 2.5 s"


def test_processes_of_one_role_are_named_by_it():
    assert wording.named("main", [1000]) == "main 1000"
    assert wording.named("worker", [1, 2, 3]) == "3 workers"


def test_the_gravest_notes_come_first_and_else_stay_in_order():
    levels = ("info", "odd", "warning", "error", "warning")
    notes = [Note(level, f"{number}", "") for number, level in enumerate(levels)]

    assert [note.slug for note in wording.gravest_first(notes)] == ["3", "2", "4", "0", "1"]


def the_verdict(*findings: PricedFinding, **changes: Any) -> str:
    bound = Bound(BoundBy.PROCESS, (0,), 0.93, "the learner")
    report = a_report(findings=findings, seen={"bound": bound}, **changes)
    return wording.unglued(wording.verdict(report))


def saving(low: float, high: float, **changes: Any) -> PricedFinding:
    return a_finding(saves=(low, high), **changes)


def test_the_verdict_adds_up_what_the_first_findings_save():
    one, two, three, four = (saving(0.2, 0.25) for _ in range(4))

    assert the_verdict(one) == (
        "Bound by the learner; fixing the first finding gives 1.2× to 1.3×."
    )
    assert "the first two gives 1.7× to 1.8×" in the_verdict(one, two)
    assert "the first three gives 2.5× to 3.1×" in the_verdict(one, two, three, four)


def test_the_verdict_promises_nothing_that_is_not_sure():
    assert "gives up to 1.3×" in the_verdict(saving(0.0, 0.25))
    assert "×" not in the_verdict(saving(0.0, 0.03))


def test_the_verdict_does_not_add_up_upper_ends_that_cannot_be_true_at_once():
    assert "gives 2.1× to 22×" in the_verdict(
        saving(0.49, 0.94), saving(0.016, 0.13), saving(0.014, 0.13)
    )


def test_the_verdict_says_no_upper_end_that_nobody_can_know():
    assert "gives at least 8.0×" in the_verdict(saving(0.875, 0.99), saving(0.0, 0.5))


def test_the_verdict_never_promises_that_all_time_goes():
    assert "gives 50× to 100×" in the_verdict(saving(0.49, 0.6), saving(0.49, 0.6))


def test_the_verdict_counts_no_start_up_no_guess_and_no_run_without_steps():
    start_up = saving(0.5, 0.6, phase=PhaseKind.START_UP, sps_after=None)
    guess = saving(0.0, 0.5, confidence=Confidence.SUSPECTED)

    assert the_verdict(start_up) == (
        "Bound by the learner. No known cause makes the steps slower; the start-up could be "
        f"{wording.unglued(wording.seconds_saved(start_up))} shorter."
    )
    assert "×" not in the_verdict(guess)
    assert "×" not in the_verdict(saving(0.5, 0.6, sps_after=None), sps=None)


def test_the_verdict_of_a_run_with_nothing_to_fix_says_that():
    assert the_verdict() == (
        "Bound by the learner. Nothing worth fixing was found: no known cause costs 1.0 % of the time or more."
    )


@pytest.mark.parametrize(
    ("low_us", "high_us", "said"),
    [
        (1_200_000, 1_400_000, "1.2 to 1.4 s"),
        (2_350, 91_100, "2.35 to 91.1 ms"),
        (850_000, 2_060_000, "850 ms to 2.1 s"),
        (6.65, 2_060_000, "up to 2.1 s"),
        (145, 2_130_000, "up to 2.1 s"),
        (0, 500_000, "up to 500 ms"),
        (3_210_000, 3_190_000, "3.2 s"),
        (0, 0, "0 µs"),
        (70_000_000, 130_000_000, "1 min 10 s to 2 min 10 s"),
    ],
)
def test_ranges_of_time_tell_their_unit_once_and_no_end_that_is_nothing(low_us, high_us, said):
    assert wording.unglued(wording.duration_range(Range(low_us, high_us))) == said


def test_the_rate_now_reads_the_same_in_the_headline_and_beside_a_price():
    report = a_report(sps=9775.5, findings=[a_finding()])
    text = wording.unglued(RENDERER.render(report, {}))

    assert text.startswith("9 780 sps. ")
    assert "(now 9 780)" in text
    assert wording.unglued(wording.speed(a_report(sps=98_292_012_463_427.0))) == (
        "98 300 000 000 000 sps"
    )


@pytest.mark.parametrize(
    ("besides", "text"),
    [
        (None, "10 to 33 % of steady time, likely 22 %"),
        (Range(0.08, 0.31), "10 to 33 % of steady time, likely 22 %"),
        (
            Range(0.0, 0.031),
            "10 to 33 % of steady time, likely 22 %, up to 3.1 % after the fixes before it",
        ),
        (
            Range(0.0, 0.0),
            "10 to 33 % of steady time, likely 22 %, nothing after the fixes before it",
        ),
    ],
)
def test_what_is_left_of_a_price_stands_beside_it(besides, text):
    priced = replace(a_finding(saves=(0.1, 0.33)), besides=besides)

    assert wording.unglued(wording.share_saved(priced)) == text


def test_the_likely_rate_is_the_geometric_mean_of_those_at_the_ends():
    priced = a_finding(saves=(0.5, 0.875))  # 2 and 8 times as fast

    assert priced.likely_share == pytest.approx(0.75)  # 4 times
    assert wording.unglued(wording.share_saved(priced)) == (
        "50 to 88 % of steady time, likely 75 %"
    )


@pytest.mark.parametrize("saves", [(0.3, 0.34), (0.0, 0.4)])
def test_no_likely_price_stands_beside_one_that_says_as_much_or_may_be_nothing(saves):
    assert "likely" not in wording.share_saved(a_finding(saves=saves))


def test_what_was_tried_needs_no_likely_price():
    assert a_tried_finding().likely_share == 0.40
    assert "likely" not in wording.share_saved(a_tried_finding())
