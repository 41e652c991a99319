"""Which findings appeared, grew, shrank or went."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rlprof.comparison.calltree import Scale, compare_trees
from rlprof.comparison.compare import compare
from rlprof.comparison.findings import Fate, finding_changes
from rlprof.model.detail import Detail
from rlprof.model.finding import Confidence
from rlprof.model.profile import Interval, PhaseKind
from rlprof.model.report import Report, Resources
from tests.comparison_factory import (
    DEEPCOPY,
    HOME,
    a_training,
    compared,
    reading_its_configuration,
    stacks_of,
)
from tests.report_factories import a_finding, a_location, a_report

SOURCE = "def step(cfg):\n" + "    pass\n" * 10 + "    return cfg.env.scale\n"


def a_run_that_reads_its_configuration(seconds: float):
    return reading_its_configuration(seconds).source(f"{HOME}/train.py", SOURCE)


def fates(base: Report, new: Report) -> list[tuple[str, Fate]]:
    return [
        (finding.shown.finding.detector, finding.fate) for finding in compare(base, new).findings
    ]


def fate(base: Report, new: Report) -> Fate:
    ((_, only),) = fates(base, new)
    return only


def with_finding(*, sps: float = 500.0, **finding: Any) -> Report:
    return a_report(sps=sps, findings=[a_finding(**finding)])


def test_a_finding_whose_time_went_has_gone_and_the_other_way_round_it_appeared():
    slow, quick = a_run_that_reads_its_configuration(12), a_run_that_reads_its_configuration(0)

    there, back = compared(slow, quick), compared(quick, slow)

    assert [(finding.shown.finding.detector, finding.fate) for finding in there.findings] == [
        ("omegaconf-in-loop", Fate.VANISHED)
    ]
    assert [finding.fate for finding in back.findings] == [Fate.APPEARED]
    assert there.findings[0].new_cost is None
    low, high = there.findings[0].base_cost
    assert low < 12e6 / 1000 < high * 1.2


def test_a_cost_that_is_spread_over_small_functions_is_seen_in_what_calls_them():
    acting = {("main", "act"): [900_000] * 10}
    spread = {("main", "read", f"f{number}"): [1_200] * 10 for number in range(30)}
    base, new = (stacks_of(paths, blocks=10) for paths in (acting, {**acting, **spread}))
    small = {at for at, box in enumerate(new.boxes) if box.label.startswith("f")}
    new = replace(new, box_of_node={0: frozenset(small)})
    scales = (Scale(1000.0, 0.0), Scale(1000.0, 0.0))
    tree = compare_trees(base, new, scales, metric="wall", per="step")
    slow = a_report(
        findings=[a_finding(saves=(0.2, 0.3))],
        seen={"detail": Detail(finding_nodes=((1, frozenset({0})),))},
    )

    (change,) = finding_changes(a_report(), slow, tree, (base, new))

    assert not any(tree.boxes[tree.new_places[at]].is_clear for at in small)
    assert change.fate is Fate.APPEARED


def test_a_cost_per_step_is_as_uncertain_as_the_rate():
    report = with_finding(saves=(0.2, 0.2))
    unsure = replace(report.throughput, steady_sps=Interval(500.0, 400.0, 625.0))

    (change,) = compare(replace(report, throughput=unsure), report).findings

    assert change.base_cost == (0.2e6 / 625, 0.2e6 / 400)


def test_a_run_and_itself_have_the_same_findings():
    run = a_run_that_reads_its_configuration(12)

    assert [finding.fate for finding in compared(run, run).findings] == [Fate.UNCHANGED]


def test_a_finding_that_falls_silent_while_its_time_stays_has_not_gone():
    run = a_run_that_reads_its_configuration(12)
    found = compared(run, run)
    silent = replace(found.new, findings=(), also_seen=())

    assert fate(found.base, silent) is Fate.UNCLEAR
    assert fate(silent, found.new) is Fate.UNCLEAR


def test_lines_may_move_and_files_be_renamed():
    before = with_finding(locations=[a_location(f"{HOME}/stage_1.py:42", "step")])
    after = with_finding(locations=[a_location(f"{HOME}/stage_2.py:57", "step")])

    assert fate(before, after) is Fate.UNCHANGED


def test_one_cause_in_two_functions_is_two_findings():
    step, act, learn = (
        a_location(f"{HOME}/train.py:{n}", name)
        for n, name in ((4, "step"), (5, "act"), (6, "learn"))
    )
    before = a_report(findings=[a_finding(locations=[step]), a_finding(rank=2, locations=[act])])
    after = a_report(findings=[a_finding(locations=[step]), a_finding(rank=2, locations=[learn])])

    found = sorted(outcome.value for _, outcome in fates(before, after))

    assert found == ["unchanged", "unchanged"]
    three = a_report(findings=[*after.findings, a_finding(rank=3, locations=[act])])
    assert sorted(outcome.value for _, outcome in fates(before, three)) == [
        "appeared",
        "unchanged",
        "unchanged",
    ]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ((0.30, 0.36), Fate.UNCHANGED),
        ((0.60, 0.70), Fate.GREW),
        ((0.05, 0.10), Fate.SHRANK),
    ],
)
def test_prices_are_compared_by_their_ranges(after, expected):
    assert fate(with_finding(saves=(0.28, 0.34)), with_finding(saves=after)) is expected


def test_a_larger_share_of_a_quicker_run_is_no_growth():
    before = with_finding(sps=100.0, saves=(0.10, 0.12))
    after = with_finding(sps=500.0, saves=(0.50, 0.60))

    assert fate(before, after) is Fate.UNCHANGED


def test_a_slower_machine_makes_no_finding_grow():
    before = with_finding(sps=500.0, saves=(0.30, 0.34))
    after = with_finding(sps=150.0, saves=(0.31, 0.35))

    assert fate(before, after) is Fate.UNCHANGED


def test_what_others_on_the_cores_explain_is_no_growth():
    beside = Resources(4.0, 2.0, 2.0, 0.0, True, ())
    before, after = with_finding(saves=(0.2, 0.24)), with_finding(saves=(0.4, 0.44))

    assert fate(before, after) is Fate.GREW
    assert fate(before, replace(after, resources=beside)) is Fate.UNCHANGED


def test_a_finding_that_is_worth_next_to_nothing_has_not_grown():
    assert fate(with_finding(saves=(0.0, 0.0)), with_finding(saves=(0.004, 0.04))) is Fate.UNCHANGED


def test_without_a_rate_shares_are_compared():
    before = a_report(sps=None, findings=[a_finding(saves=(0.1, 0.12), sps_after=None)])
    after = a_report(sps=None, findings=[a_finding(saves=(0.5, 0.6), sps_after=None)])

    (change,) = compare(before, after).findings

    assert (change.fate, change.unit) == (Fate.GREW, "share")


def test_start_up_is_compared_by_its_seconds():
    def slow_start(seconds: float) -> Report:
        return with_finding(
            detector="startup-bound",
            saved_s=(seconds * 0.9, seconds * 1.1),
            phase=PhaseKind.START_UP,
        )

    (change,) = compare(slow_start(2), slow_start(8)).findings

    assert (change.fate, change.unit) == (Fate.GREW, "run")
    assert change.new_cost == (8e6 * 0.9, 8e6 * 1.1)


def test_a_finding_near_its_threshold_is_no_news():
    assert fate(a_report(), with_finding(saves=(0.005, 0.03))) is Fate.UNCLEAR


def test_hot_lines_without_a_cause_are_no_findings_of_a_comparison():
    hot = with_finding(detector="hot-spot", saves=(0.3, 0.5), confidence=Confidence.SUSPECTED)

    assert fates(a_report(), hot) == []


def test_the_worst_news_comes_first():
    before = a_report(
        findings=[a_finding("gone-now", locations=[]), a_finding("same", locations=[])]
    )
    after = a_report(
        findings=[
            a_finding("same", locations=[]),
            a_finding("small", locations=[], saves=(0.1, 0.2)),
            a_finding("large", locations=[], saves=(0.5, 0.6)),
        ]
    )

    assert [detector for detector, _ in fates(before, after)] == [
        "large",
        "small",
        "gone-now",
        "same",
    ]


def test_copies_in_a_training_are_no_finding_here():
    # No detector knows it: the tree says it alone.
    found = compared(a_training(), a_training(copying_s=5))

    assert found.findings == ()
    assert any(box.label == "deepcopy" and box.is_clear for box in found.tree.boxes)
    assert DEEPCOPY.endswith("deepcopy")
