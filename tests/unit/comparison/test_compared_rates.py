"""The ratio of two rates, its range, and what is not claimed of it."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from rlprof.comparison.compare import compare
from rlprof.model.profile import Interval
from rlprof.model.report import Report, Resources
from rlprof.pace.steadiness import Segment, settled_rate
from tests.comparison_factory import a_training, compared
from tests.report_factories import a_report


def a_rate(median: float, *, within: float = 0.02, use: Resources | None = None) -> Report:
    report = a_report(seen={"resources": use})
    interval = Interval(median, median / (1 + within), median * (1 + within))
    return replace(report, throughput=replace(report.throughput, steady_sps=interval))


def cores(*, used: float, queued: float) -> Resources:
    return Resources(4.0, used, queued, 0.0, queued > 0, ())


def test_the_ratio_has_the_errors_of_both_rates():
    rate = compare(a_rate(100, within=0.03), a_rate(200, within=0.04)).rate

    # Relative errors add in squares: 3 % and 4 % make 5 %.
    assert rate.ratio.median == 2
    assert rate.ratio.high / 2 == pytest.approx(1.05, abs=0.001)
    assert 2 / rate.ratio.low == pytest.approx(1.05, abs=0.001)
    assert rate.is_clear


@pytest.mark.parametrize("median", [104, 97, 100])
def test_five_per_cent_is_never_claimed(median):
    assert not compare(a_rate(100, within=0.001), a_rate(median, within=0.001)).rate.is_clear


def test_rates_whose_ranges_explain_the_difference_are_alike():
    assert not compare(a_rate(100, within=0.3), a_rate(130, within=0.3)).rate.is_clear
    assert compare(a_rate(100, within=0.05), a_rate(130, within=0.05)).rate.is_clear


def test_other_programs_on_the_cores_explain_a_slower_run():
    alone, beside = cores(used=2, queued=0.0), cores(used=2, queued=1.0)
    found = compare(a_rate(150, use=alone), a_rate(100, use=beside))

    # A core waited for beside two that were used: half as long again.
    assert found.rate.crowding_ratio == pytest.approx(2 / 3)
    assert not found.rate.is_clear
    assert "run-crowded" in {note.slug for note in found.notes}
    assert compare(a_rate(150), a_rate(100)).rate.is_clear
    assert compare(a_rate(150, use=alone), a_rate(60, use=beside)).rate.is_clear


def test_a_run_that_is_quicker_beside_others_is_quicker():
    alone, beside = cores(used=2, queued=0.0), cores(used=2, queued=1.0)

    assert compare(a_rate(100, use=alone), a_rate(150, use=beside)).rate.is_clear


def test_a_run_that_queues_for_cores_it_fills_itself_is_not_crowded():
    alone, full = cores(used=4, queued=0.0), cores(used=4, queued=6.0)
    found = compare(a_rate(150, use=alone), a_rate(100, use=full))

    assert found.rate.crowding_ratio == 1
    assert found.rate.is_clear


def with_rate(report: Report, *, within: float, use: Resources | None = None) -> Report:
    steady = report.throughput.steady_sps
    interval = Interval(steady.median, steady.median / within, steady.median * within)
    throughput = replace(report.throughput, steady_sps=interval)
    return replace(report, throughput=throughput, resources=use)


def noise_of(base: Report, new: Report, metric: str) -> float:
    tree = compare(base, new, metric=metric).tree
    return next(box.noise_us for box in tree.boxes if box.label == "act")


def test_cpu_time_per_step_is_known_better_than_the_rate():
    found = compared(a_training(), a_training())
    base, new = (with_rate(report, within=2.0) for report in (found.base, found.new))

    assert noise_of(base, new, "cpu") < noise_of(base, new, "wall") / 2


def test_waiting_for_cores_explains_no_cpu_time():
    found = compared(a_training(), a_training())
    base, new = (with_rate(report, within=1.02) for report in (found.base, found.new))
    # A change for the worse is what waiting explains.
    new = replace(new, detail=replace(new.detail, steady_steps=new.detail.steady_steps / 1.2))
    beside = replace(new, resources=cores(used=2, queued=2.0))

    assert noise_of(base, beside, "wall") > noise_of(base, new, "wall")
    assert noise_of(base, beside, "cpu") == noise_of(base, new, "cpu")


def test_rates_of_different_things_are_not_compared():
    steps, updates = a_rate(100), a_rate(100)
    updates = replace(updates, throughput=replace(updates.throughput, unit="updates"))
    found = compare(steps, updates)

    assert found.rate is None
    assert "no-common-rate" in {note.slug for note in found.notes}


def test_a_run_without_a_rate_leaves_the_rest_of_the_comparison():
    found = compare(a_rate(100), a_report(sps=None))

    assert found.rate is None
    assert found.quantities


def test_the_same_program_twice_is_seldom_called_faster_or_slower():
    """Windows that vary by 10 % and depend on their neighbours, runs that differ by 2 %: of 300 pairs at
    most one in a hundred is called a change, and of pairs 25 % apart nearly all are.
    """
    random = Random(20261121)

    def claimed(factor: float, pairs: int) -> int:
        return sum(
            compare(_measured(random, 1.0), _measured(random, factor)).rate.is_clear
            for _ in range(pairs)
        )

    assert claimed(1.0, 300) <= 3
    assert claimed(1.25, 100) >= 85


def _measured(random: Random, factor: float) -> Report:
    level = 1000 * factor * random.gauss(1, 0.02)
    deviation, segments = 0.0, []
    for _ in range(80):
        deviation = 0.5 * deviation + random.gauss(0, 0.1 * (1 - 0.5**2) ** 0.5)
        segments.append(Segment(250_000, level * (1 + deviation) / 4))
    report = a_report()
    interval = settled_rate(segments)
    assert interval is not None
    return replace(report, throughput=replace(report.throughput, steady_sps=interval))
