from __future__ import annotations

from rlprof.pace.pace import measure_pace
from rlprof.profile.fold import steady_quarters
from tests.factories import a_run
from tests.profile_factory import profile_of


def test_the_steady_phase_in_four_parts():
    run = a_run(steady_s=10.0).process("main", steps=1_000)
    run.spends(8.0, "train.py:2 learn").spends(2.0, "train.py:5 act")

    quarters = profile_of(run).quarters

    assert [round(quarter.steps) for quarter in quarters] == [250] * 4
    assert [sum(quarter.wall_us.values()) for quarter in quarters] == [2_500_000] * 4


def test_there_are_none_where_nothing_counts_steps():
    recording = a_run(steady_s=10.0).process("main").spends(10.0, "train.py:2 learn").recording()

    assert steady_quarters(recording, measure_pace(recording), {0}) == ()
