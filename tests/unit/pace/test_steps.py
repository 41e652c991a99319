from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.model.profile import PhaseKind
from rlprof.model.recording import Counter, Gauge, Recording
from rlprof.pace.steps import Span, count_steps
from rlprof.profile.build import build_profile
from tests.factories import a_run

STEADY_WINDOWS = range(4, 24)
"""Of ``a_run()``: half a second each, after 2 s of start-up."""


def a_recording(*, counters: list[Counter] | None = None, gauges: list[Gauge] | None = None):
    recording = a_run().process("main").spends(10.0, "train.py:12 step").recording()
    return replace(recording, counters=tuple(counters or ()), gauges=tuple(gauges or ()))


def evenly(name: str, value: float, *, every: int = 1) -> list[Counter]:
    return [Counter(window, 0, name, value) for window in STEADY_WINDOWS[every - 1 :: every]]


def phases(recording: Recording) -> dict[PhaseKind, tuple[float, float]]:
    return {
        phase.kind: (phase.start_us / 1e6, phase.end_us / 1e6)
        for phase in build_profile(recording).phases
    }


def test_steps_of_the_program_go_before_those_in_its_output():
    recording = a_recording(counters=evenly("steps", 50) + evenly("output_steps", 7))

    throughput = build_profile(recording).throughput

    assert throughput.source == "rlprof.step"
    assert throughput.steady_sps.median == 100
    assert throughput.total_steps == 1000


def test_steps_in_the_output_serve_where_the_program_counts_none():
    recording = a_recording(counters=evenly("output_steps", 50))

    profile = build_profile(recording)

    assert profile.throughput.source == "output pattern"
    assert profile.throughput.steady_sps.median == 100
    assert profile.critical.threads == {0}


def test_rates_in_the_output_are_the_program_s_own():
    printed = [Gauge(window, 0, "output_sps", 640 + window) for window in STEADY_WINDOWS]

    throughput = build_profile(a_recording(gauges=printed)).throughput

    assert throughput.source == "as printed by the program"
    assert throughput.steady_sps.median == 640 + 13.5
    assert throughput.steady_sps.low < 653 < throughput.steady_sps.high


def test_no_steps_leave_the_rate_unknown():
    throughput = build_profile(a_recording()).throughput

    assert (throughput.unit, throughput.source) == ("none", "none")
    assert throughput.steady_sps is None
    assert throughput.series == ()


def test_start_up_lasts_until_the_first_window_with_steps():
    recording = a_run(start_up_s=3.0, steady_s=10.0).process("main", steps=1000).recording()

    assert phases(recording) == {PhaseKind.START_UP: (0, 3), PhaseKind.STEADY: (3, 13)}


def test_a_slow_first_second_is_warm_up():
    slow = [Counter(window, 0, "steps", 5) for window in (4, 5, 6)]
    usual = [Counter(window, 0, "steps", 50 + window % 3) for window in STEADY_WINDOWS[3:]]

    recording = a_recording(counters=slow + usual)

    assert phases(recording)[PhaseKind.WARM_UP] == (2.0, 3.5)
    assert build_profile(recording).throughput.steady_sps.median == pytest.approx(102, abs=2)


def test_what_follows_the_last_step_is_shutdown():
    recording = a_recording(counters=evenly("steps", 50)[:-4])

    assert phases(recording)[PhaseKind.SHUTDOWN] == (10.0, 12.0)


def test_a_last_window_half_full_of_steps_is_not_steady():
    counters = evenly("steps", 50)
    counters[-1] = counters[-1]._replace(value=10)

    recording = a_recording(counters=counters)

    assert count_steps(recording).spans[0] == Span(4, 22)
    assert phases(recording)[PhaseKind.SHUTDOWN] == (11.5, 12.0)


def test_a_count_once_per_rollout_is_spread_over_the_rollout():
    recording = a_recording(counters=evenly("steps", 200, every=4))

    profile = build_profile(recording)

    rates = {rate for start, _, rate in profile.throughput.series if start >= 4_000_000}
    assert rates == {100.0}
    # The first rollout began nobody knows when: 800 of the 1000 steps tell the rate.
    assert phases(recording)[PhaseKind.STEADY] == (4.0, 12.0)
    assert profile.throughput.total_steps == 1000


def test_a_pool_s_steps_add_up_while_workers_come_and_go():
    run = a_run()
    for name in ("main", "one", "two"):
        run.process(name)
    early = [Counter(window, 1, "steps", 30) for window in range(4, 14)]
    late = [Counter(window, 2, "steps", 30) for window in range(14, 24)]
    recording = replace(run.recording(), counters=tuple(early + late))

    profile = build_profile(recording)

    assert profile.throughput.steady_sps.median == 60
    assert len(profile.throughput.series) == 20


def test_a_worker_that_joins_late_does_not_make_the_time_before_a_warm_up():
    run = a_run(steady_s=20.0)
    for name in ("main", "one", "two"):
        run.process(name)
    throughout = [Counter(window, 1, "steps", 30) for window in range(4, 44)]
    later = [Counter(window, 2, "steps", 30) for window in range(18, 44)]
    recording = replace(run.recording(), counters=tuple(throughout + later))

    assert PhaseKind.WARM_UP not in phases(recording)


def test_a_host_that_is_shared_for_a_while_is_no_warm_up():
    """Half of the time in the run queue, half of the steps; the pace is the same."""
    recording = a_recording(
        counters=[Counter(w, 0, "steps", 25 if w < 11 else 50) for w in STEADY_WINDOWS]
    )
    queueing = tuple(
        clock._replace(on_cpu_us=250_000, run_queue_us=250_000) if clock.window < 11 else clock
        for clock in recording.clocks
    )

    assert phases(recording)[PhaseKind.STEADY] == (5.5, 12.0)
    # The first window alone goes: it is half full, and might be so for its set-up.
    assert phases(replace(recording, clocks=queueing))[PhaseKind.STEADY] == (2.5, 12.0)


def test_steps_for_one_second_tell_no_rate_and_a_note_says_so():
    recording = a_recording(counters=evenly("steps", 50)[:2])

    profile = build_profile(recording)

    assert profile.throughput.steady_sps is None
    assert profile.throughput.total_steps == 100
    assert "too-few-step-windows" in {note.slug for note in profile.notes}


def test_one_printed_rate_is_no_count_of_steps():
    recording = replace(a_recording(), gauges=(Gauge(20, 0, "output_sps", 90.0),))

    notes = {note.slug: note.text for note in build_profile(recording).notes}

    assert notes["too-few-step-windows"].startswith("The program printed a rate once or twice")
    assert "longer" not in notes["too-few-step-windows"]


def notes_of(recording: Recording) -> dict[str, str]:
    return {note.slug: note.text for note in build_profile(recording).notes}


def test_a_falling_rate_is_noted():
    falling = [Counter(window, 0, "steps", 100 - 3 * window) for window in STEADY_WINDOWS]

    notes = notes_of(a_recording(counters=falling))

    assert "from 161 to 83 steps per second" in notes["throughput-falls"]
    assert "throughput-drifts" not in notes


def test_a_rising_rate_drifts():
    rising = [Counter(window, 0, "steps", 50 + 3 * window) for window in STEADY_WINDOWS]

    recording = a_recording(counters=rising)

    assert "rose" in notes_of(recording)["throughput-drifts"]
    drift = build_profile(recording).throughput.drift
    assert drift is not None
    assert drift.change > 0.3


@pytest.mark.parametrize(
    ("names", "source"),
    [
        (["steps", "steps:custom", "steps:sb3.vec"], "rlprof.step"),
        (["steps:custom", "steps:pufferlib", "steps:sb3.vec"], "--steps-from"),
        (["steps:sb3.vec", "steps:gymnasium.env"], "Stable-Baselines3 vector env"),
        (["steps:gymnasium.env", "steps:gymnasium.vector"], "gymnasium vector env"),
        (["steps:torchrl.env", "steps:torchrl.batched"], "TorchRL batched env"),
        (["steps:gymnasium.env", "steps:torchrl.env"], "TorchRL env"),
        (["output_steps", "steps:gymnasium.env", "updates"], "gymnasium env"),
    ],
)
def test_steps_counted_in_several_places_count_once_from_the_best(names, source):
    best_counts_100 = [counter for name in names for counter in evenly(name, 100)]
    in_workers = [counter._replace(process=1) for counter in evenly(names[-1], 7)]

    recording = a_recording(counters=[*best_counts_100, *in_workers])

    assert build_profile(recording).throughput.source == source


def test_workers_and_their_vector_env_do_not_add_up():
    run = a_run().process("main").process("worker")
    parent = evenly("steps:sb3.vec", 40)
    workers = [counter._replace(process=1) for counter in evenly("steps:gymnasium.env", 40)]
    recording = replace(run.recording(), counters=(*parent, *workers))

    throughput = build_profile(recording).throughput

    assert throughput.steady_sps.median == 80
    assert throughput.total_steps == 800


def test_optimizer_steps_give_a_rate_where_nothing_counts_steps():
    recording = a_recording(counters=evenly("updates", 5))

    throughput = build_profile(recording).throughput

    assert (throughput.unit, throughput.source) == ("updates", "optimizer steps")
    assert throughput.steady_sps.median == throughput.updates_per_s.median == 10


def test_progress_bars_give_a_rate_where_nothing_else_does():
    bars = evenly("iterations:tqdm", 50)

    alone = build_profile(a_recording(counters=bars)).throughput
    beside = build_profile(a_recording(counters=[*bars, *evenly("updates", 5)])).throughput

    assert (alone.unit, alone.source) == ("iterations", "tqdm's progress bars")
    assert alone.steady_sps.median == 100
    assert alone.steps_per_s is None
    assert beside.unit == "updates"


def test_steps_that_were_found_while_it_ran_do_not_end_its_start_up():
    counters = [counter for counter in evenly("steps:recognised", 50) if counter.window >= 4]

    profile = build_profile(a_recording(counters=counters))

    assert profile.start_up_us == 0
    assert profile.throughput.steps_per_s.median == 100


@pytest.mark.parametrize(
    ("lived_s", "source"), [(0.3, "none"), (5.0, "calls that return observation, reward and end")]
)
def test_steps_of_a_worker_that_soon_is_gone_are_those_of_one_among_many(lived_s, source):
    recording = a_run().process("main").process("pool worker").recording()
    main, worker = recording.processes
    worker = replace(worker, started_us=3_000_000, ended_us=3_000_000 + round(lived_s * 1e6))

    counted = replace(
        recording,
        processes=(main, worker),
        counters=(Counter(6, worker.id, "steps:recognised", 40),),
    )

    assert count_steps(counted).source == source


def test_updates_and_batches_stand_beside_the_steps():
    counters = evenly("steps", 50) + evenly("updates", 5, every=4) + evenly("batches", 20)

    throughput = build_profile(a_recording(counters=counters)).throughput

    assert throughput.unit == "steps"
    assert throughput.updates_per_s.median == pytest.approx(2.5)
    assert throughput.batches_per_s.median == 40


def test_updates_before_the_steady_phase_are_no_rate_of_it():
    counters = [*evenly("steps", 50), Counter(1, 0, "updates", 900)]

    assert build_profile(a_recording(counters=counters)).throughput.updates_per_s is None


def test_a_stretch_in_which_rlprof_stood_still_is_not_judged():
    """Ctrl-Z for 20 s, say: one window, with the steps of half a second."""
    recording = a_recording(counters=evenly("steps", 50))
    windows = list(recording.windows)
    windows[12] = replace(windows[12], end_us=windows[12].end_us + 20_000_000)
    windows[13:] = [
        replace(w, start_us=w.start_us + 20_000_000, end_us=w.end_us + 20_000_000)
        for w in windows[13:]
    ]

    profile = build_profile(replace(recording, windows=tuple(windows)))

    assert profile.throughput.steady_sps.median == 100
    assert "20.5 s" in {n.slug: n.text for n in profile.notes}["recording-paused"]


def test_long_windows_of_a_long_run_are_no_pause():
    recording = a_recording(counters=evenly("steps", 50))
    long = tuple(
        replace(window, start_us=window.start_us * 200, end_us=window.end_us * 200)
        for window in recording.windows
    )

    assert "recording-paused" not in notes_of(replace(recording, windows=long))


VECTOR, SINGLE = "steps:gymnasium.vector", "steps:gymnasium.env"


@pytest.mark.parametrize(
    ("beside", "source", "total"),
    [
        (10_000, "gymnasium env", 10_000),
        # A vector environment that steps its own in threads.
        (400, "gymnasium vector env", 400),
        # Evaluations, or episodes at random before the training.
        (90, "gymnasium vector env", 400),
    ],
)
def test_evaluations_in_vector_environments_are_not_the_training(beside, source, total):
    recording = a_run().process().counts(VECTOR, 400).counts(SINGLE, beside).recording()

    counts = count_steps(recording)

    assert (counts.source, round(counts.total)) == (source, total)


def test_evaluations_in_a_process_of_their_own_are_not_the_training():
    run = a_run().process().counts(SINGLE, 10_000).process("evaluates").counts(VECTOR, 400)

    assert count_steps(run.recording()).source == "gymnasium env"


def test_steps_in_workers_of_a_vector_environment_are_its_own():
    """Whose workers skip frames."""
    run = a_run().process().counts(VECTOR, 400).process("worker").counts(SINGLE, 1_600)

    assert count_steps(run.recording()).source == "gymnasium vector env"
