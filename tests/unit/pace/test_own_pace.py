"""What a profiler of rlprof's slowed down is left out, as if it had not been."""

from __future__ import annotations

from dataclasses import replace

from rlprof.pace.own_pace import at_own_pace
from rlprof.profile.build import build_profile
from tests.factories import RunBuilder, a_run

SECOND = 1_000_000


def a_training() -> RunBuilder:
    return (
        a_run("train.py", start_up_s=2.0, steady_s=10.0)
        .process("main", steps=20_000)
        .gauge("rss_bytes", 100.0)
        .spends(10.0, "train.py:9 step")
        .spends(2.0, "train.py:1 <module>", start_up=True)
    )


def test_without_windows_of_the_profiler_the_recording_is_the_same():
    recording = a_training().recording()
    assert at_own_pace(recording) is recording


def test_whole_windows_of_the_recording_go_and_what_follows_moves_up():
    recording = a_training().torch_window(5.1, 5.2).torch_window(8.4, 8.6).recording()
    at_pace = at_own_pace(recording)

    # 5.0 to 5.5, 8.0 to 8.5 and 8.5 to 9.0.
    assert at_pace.run.wall_us == 10.5 * SECOND
    assert [window.id for window in at_pace.windows] == list(range(21))
    assert all(
        before.end_us == after.start_us
        for before, after in zip(at_pace.windows, at_pace.windows[1:], strict=False)
    )
    assert at_pace.windows[-1].end_us == at_pace.processes[0].ended_us == at_pace.run.wall_us


def test_time_steps_and_levels_of_the_others_stay_as_they_are():
    recording = a_training().torch_window(5.1, 5.2).recording()
    at_pace = at_own_pace(recording)

    assert sum(at_pace.samples.wall_us) == 11.5 * SECOND
    assert sum(clock.wall_us for clock in at_pace.clocks) == 11.5 * SECOND
    assert sum(counter.value for counter in at_pace.counters) == 19_000
    assert {gauge.window for gauge in at_pace.gauges} == set(range(23))
    assert {row[0] for row in at_pace.samples.rows()} == set(range(23))


def test_a_slow_stretch_under_the_profiler_does_not_lower_the_rate():
    recording = a_training().torch_window(7.0, 8.0).recording()
    slowed = replace(
        recording,
        counters=tuple(
            counter._replace(value=10.0) if counter.window in (14, 15) else counter
            for counter in recording.counters
        ),
    )
    rate = build_profile(at_own_pace(slowed)).throughput.steady_sps

    assert rate is not None
    assert rate.low == rate.median == rate.high == 2000


def test_cutting_twice_cuts_once():
    once = at_own_pace(a_training().torch_window(5.1, 5.2).torch_window(5.3, 5.6).recording())
    assert at_own_pace(once) is once


def test_a_run_that_hardly_lasts_longer_than_its_windows_is_kept_whole():
    recording = a_training().torch_window(2.0, 7.0).recording()
    assert at_own_pace(recording) is recording


def test_a_process_that_began_within_a_cut_begins_where_it_ends():
    recording = a_training().process("worker").torch_window(5.1, 5.4).recording()
    main, worker = recording.processes
    late = replace(recording, processes=(main, replace(worker, started_us=5_300_000)))

    assert at_own_pace(late).processes[1].started_us == 5 * SECOND
