"""The rate of a run, as a check takes it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.gate.measured_run import MeasuredRun, measured
from rlprof.gate.program import Side
from rlprof.model.recording import Recording
from rlprof.profile.build import build_profile
from tests.check_factory import a_program
from tests.factories import a_run
from tests.run_files import write_run


@pytest.fixture
def of_run_file(tmp_path):
    def _of(recording: Recording) -> MeasuredRun:
        file = tmp_path / "head.rlprof"
        write_run(file, recording)
        return measured(file, program=a_program(Side.HEAD), pair=1, needs_rate=True)

    return _of


def steady_run() -> Recording:
    return a_run(steady_s=20.0).process("main", steps=20_000).recording()


def slower_in(recording: Recording, windows: range, factor: float) -> Recording:
    """With fewer steps in some of its windows, as one that pauses to save."""
    return replace(
        recording,
        counters=tuple(
            counter._replace(value=counter.value * factor) if counter.window in windows else counter
            for counter in recording.counters
        ),
    )


def test_it_is_that_of_all_steps(of_run_file):
    run = of_run_file(steady_run())

    assert run.sps is not None
    assert run.sps.median == pytest.approx(1000, rel=0.02)
    assert sum(window.steps for window in run.steady) == pytest.approx(20_000, rel=0.06)


def test_a_pause_now_and_then_is_seen(of_run_file):
    pausing = slower_in(steady_run(), range(20, 26), 0.1)

    run = of_run_file(pausing)

    reported = build_profile(pausing).throughput.steady_sps
    assert reported is not None
    assert run.sps is not None
    assert reported.median == pytest.approx(1000, rel=0.02), "the median does not see it"
    assert run.sps.median == pytest.approx(865, rel=0.03)


def test_windows_are_where_they_were_in_time(of_run_file):
    recording = steady_run()

    run = of_run_file(recording)

    begun = recording.run.started_unix_s
    assert begun + 2 <= run.steady[0].start < begun + 4
    assert run.steady[-1].end <= begun + recording.run.wall_us / 1e6


@pytest.mark.parametrize("steps", [9_973, 8_021])
def test_of_a_large_total_no_event_is_lost(of_run_file, steps):
    copied = 12_345_678_901
    run = of_run_file(
        a_run(steady_s=20.0).process("main", steps=steps).counts("h2d_bytes", copied).recording()
    )

    assert run.counters.per_step["h2d_bytes"] * run.steps == pytest.approx(copied, abs=0.01)
