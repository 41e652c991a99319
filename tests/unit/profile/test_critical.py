from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.model.profile import Profile
from rlprof.model.recording import Gauge, Recording
from rlprof.profile.build import build_profile
from tests.factories import RunBuilder, a_run

SECOND = 1_000_000
RECV = "/usr/lib/python3.11/multiprocessing/connection.py:382 Connection._recv"


def on_cores(run: RunBuilder, cores: int) -> RunBuilder:
    return run.with_run(host={"cores": "64", "usable_cores": str(cores)})


def share(profile: Profile, line: str) -> float:
    """Part of the critical time on ``file:line``, below it excluded."""
    file, _, number = line.rpartition(":")
    claimed = sum(
        profile.steady.self_cost(node).wall_us
        for node in profile.steady.hot_nodes()
        if profile.steady.frame(node)[::2] == (file, int(number))
    )
    return claimed / profile.critical.wall_us


def test_the_process_that_steps_is_critical():
    run = a_run().process("main").spends(10.0, "train.py:9 wait", idle=True)
    run.process("worker", steps=1000).spends(10.0, "train.py:12 step")

    profile = build_profile(run.recording())

    assert profile.critical.threads == {1}
    assert profile.critical.wall_us == 10 * SECOND
    assert not profile.load.saturated


def test_all_workers_that_step_are_critical():
    run = a_run().process("main").spends(10.0, "train.py:9 wait", idle=True)
    for name in ("one", "two", "three"):
        run.process(name, steps=1000).spends(10.0, "train.py:12 step")

    profile = build_profile(run.recording())

    assert profile.critical.threads == {1, 2, 3}
    assert profile.critical.wall_us == 30 * SECOND


def test_without_steps_those_that_work_like_the_busiest_are_critical():
    run = a_run().process("main").spends(10.0, "train.py:9 wait", idle=True)
    run.process("one").spends(10.0, "train.py:12 step")
    run.process("two").spends(4.0, "train.py:12 step").spends(6.0, RECV, idle=True)
    run.process("logger").spends(1.0, "log.py:3 write").spends(9.0, RECV, idle=True)

    profile = build_profile(run.recording())

    assert profile.critical.threads == {1, 2}


WATCHES = """
import threading, time

def main():
    while True:
        {wait}
"""


@pytest.mark.parametrize(
    ("wait", "busy_s", "critical"),
    [
        ("time.sleep(1.0)", 0.01, {1, 2}),
        ("time.sleep(1.0)", 2.0, {0}),
        ("learner.join()", 0.01, {0}),
    ],
    ids=["sleeps", "works as well", "waits for them"],
)
def test_threads_of_a_process_whose_main_thread_only_sleeps_stand_for_it(wait, busy_s, critical):
    run = on_cores(a_run(), 8).process("main").source("train.py", WATCHES.format(wait=wait))
    run.spends(busy_s, "train.py:5 main").spends(10.0 - busy_s, "train.py:6 main", idle=True)
    run.thread("actor").spends(8.0, "env.py:5 step").spends(2.0, RECV, idle=True)
    run.thread("learner").spends(4.0, "train.py:40 learn").spends(6.0, RECV, idle=True)
    run.thread("logger").spends(1.0, "log.py:3 write").spends(9.0, RECV, idle=True)

    profile = build_profile(run.recording())

    assert profile.critical.threads == critical


def test_a_wait_for_workers_is_replaced_by_what_they_did():
    """Four environments side by side: 8 s of 10 s in wait, a quarter of that in rendering."""
    run = on_cores(a_run(), 8).process("main", steps=1000)
    run.spends(2.0, "train.py:20 update").spends(8.0, "train.py:12 step", RECV, idle=True)
    for name in ("one", "two", "three", "four"):
        run.process(name)
        run.spends(6.0, "env.py:5 step").spends(2.0, "env.py:9 render")
        run.spends(2.0, RECV, idle=True)

    profile = build_profile(run.recording())

    assert profile.critical.threads == {0}
    assert profile.critical.wall_us == 10 * SECOND
    assert profile.steady.total.wall_us == 10 * SECOND
    assert share(profile, "env.py:5") == pytest.approx(0.6)
    assert share(profile, "env.py:9") == pytest.approx(0.2)
    assert share(profile, "train.py:20") == pytest.approx(0.2)
    assert profile.steady.total.idle_us == 0


def test_work_beside_the_critical_thread_replaces_no_more_than_its_wait():
    """The worker is busy all the time, main waits for 1 s: 1 s is all that the worker can cost."""
    run = on_cores(a_run(), 8).process("main", steps=1000)
    run.spends(9.0, "train.py:20 update").spends(1.0, "train.py:12 get", RECV, idle=True)
    run.process("worker").spends(10.0, "env.py:5 step")

    profile = build_profile(run.recording())

    assert share(profile, "env.py:5") == pytest.approx(0.1)
    assert share(profile, "train.py:20") == pytest.approx(0.9)


def test_a_sleep_is_no_wait_for_others():
    run = on_cores(a_run(), 8).process("main", steps=1000)
    run.spends(5.0, "train.py:20 update").spends(5.0, "train.py:30 pace", idle=True)
    run.process("worker").spends(10.0, "env.py:5 step")

    profile = build_profile(run.recording())

    assert share(profile, "env.py:5") == 0
    assert share(profile, "train.py:30") == pytest.approx(0.5)


def test_a_saturated_host_is_bound_by_its_cpus():
    """facts: main spins beside two workers on two cores; without the spin 0.482 was saved."""
    run = on_cores(a_run(steady_s=5.7), 2)
    run.process("main").spends(5.7, "train.py:40 spin", cpu=5.5 / 5.7)
    for name in ("one", "two"):
        run.process(name, steps=500).spends(5.7, "train.py:12 step", cpu=3.1 / 5.7)

    profile = build_profile(run.recording())

    assert profile.load.saturated
    assert share(profile, "train.py:40") == pytest.approx(0.47, abs=0.005)


def test_as_many_busy_workers_as_cores_do_not_saturate():
    run = on_cores(a_run(), 2).process("main").spends(10.0, "train.py:9 wait", idle=True)
    for name in ("one", "two"):
        run.process(name, steps=500).spends(10.0, "train.py:12 step", cpu=0.99)

    assert not build_profile(run.recording()).load.saturated


def test_a_loaded_machine_is_not_a_saturated_run():
    """Half of the time in the run queue, because of others: one thread does not fill two cores."""
    run = on_cores(a_run(), 2).process("main", steps=500)
    run.spends(10.0, "train.py:12 step", cpu=0.5)

    assert not build_profile(run.recording()).load.saturated


def test_cpu_time_of_threads_that_are_not_python_s_is_never_for_sale():
    """BLAS threads: 16 s of the 20 CPU seconds are in no stack."""
    run = on_cores(a_run(), 2).process("main", steps=500)
    run.spends(10.0, "train.py:12 step", cpu=0.4)
    recording = run.recording()
    windows = [window.id for window in recording.windows if window.start_us >= 2 * SECOND]
    gauges = tuple(Gauge(window, 0, "cpu_us", SECOND) for window in windows)

    profile = build_profile(replace(recording, gauges=gauges))

    assert profile.load.saturated
    assert share(profile, "train.py:12") == pytest.approx(0.2)


def test_torn_stacks_are_counted_among_the_busy_time():
    run = a_run().process("main", steps=100)
    run.spends(4.0, "train.py:12 step").spends(4.0, ":INVALID:").spends(2.0, RECV, idle=True)

    assert build_profile(run.recording()).critical.torn_share == pytest.approx(0.5)


def test_a_process_without_a_probe_rests_on_the_clock():
    recording = a_run().process("main", steps=100).spends(10.0, "train.py:12 step").recording()
    blind = tuple(replace(process, probe_samples=0) for process in recording.processes)

    assert build_profile(recording).critical.clock_only_share == 0
    assert build_profile(replace(recording, processes=blind)).critical.clock_only_share == 1


def with_samples(recording: Recording, **samples: int) -> Recording:
    processes = tuple(replace(process, **samples) for process in recording.processes)
    return replace(recording, processes=processes)


def test_the_sampling_interval_is_the_one_achieved():
    run = a_run(start_up_s=0).process("main", steps=100)
    recording = run.spends(9.0, "train.py:12 step").spends(1.0, RECV, idle=True).recording()

    probed = build_profile(with_samples(recording, clock_samples=1000, probe_samples=300))
    clocked = build_profile(with_samples(recording, clock_samples=1000, probe_samples=0))
    unknown = build_profile(with_samples(recording, clock_samples=0, probe_samples=0))

    # The probe ticks while the thread is busy, the clock always.
    assert probed.critical.sample_interval_us == 30_000
    assert clocked.critical.sample_interval_us == 10_000
    assert unknown.critical.sample_interval_us == 10_000


def a_crowded_host(*, got_s: float, host_s: float, rlprof_s: float = 0.0) -> Profile:
    """Three processes on two cores for 10 s, which get ``got_s`` of CPU time; all get ``host_s``, rlprof
    ``rlprof_s`` of it.
    """
    run = a_run().with_run(host={"cores": "2", "usable_cores": "2"})
    for name in ("one", "two", "three"):
        run.process(name, steps=500).spends(10.0, "train.py:12 step", cpu=got_s / 30)
    recording = run.recording()
    steady = recording.windows[4:]
    host = tuple(
        Gauge(window.id, 0, "host_cpu_us", host_s * SECOND / len(steady)) for window in steady
    )
    own_us = rlprof_s * SECOND * recording.run.wall_us / sum(window.length_us for window in steady)
    return build_profile(
        replace(
            recording,
            gauges=(*recording.gauges, *host),
            overhead={"samplers_cpu_us": own_us / 2, "recorder_cpu_us": own_us / 2},
        )
    )


@pytest.mark.parametrize(("host_s", "is_told"), [(20.0, True), (14.0, False)])
def test_a_full_host_of_which_others_have_a_part_is_told(host_s, is_told):
    profile = a_crowded_host(got_s=13.5, host_s=host_s)

    assert profile.load.saturated
    assert ("host-shared" in {note.slug for note in profile.notes}) == is_told


def test_a_host_that_others_fill_beside_a_run_is_saturated():
    load = a_crowded_host(got_s=12.0, host_s=19.0).load

    assert load.saturated
    assert load.own_part == pytest.approx(12 / 19)


@pytest.mark.parametrize(
    ("processes", "own", "host_s", "in_step_s"),
    [
        pytest.param(1, 0.6, 20.0, 6.0, id="beside another program"),
        pytest.param(1, 0.95, 19.0, 0.0, id="alone"),
        pytest.param(2, 0.3, 20.0, 0.0, id="more threads of its own than cores"),
    ],
)
def test_the_team_of_a_run_that_others_crowd_is_in_step_with_it(processes, own, host_s, in_step_s):
    """Each process has its main thread and one of torch, that get ``own`` of a core each; all get ``host_s``."""
    run = a_run().with_run(host={"cores": "2", "usable_cores": "2"})
    for name in range(processes):
        run.process(f"learner {name}", steps=500).spends(10.0, "train.py:12 step", cpu=own)
    recording = run.recording()
    gauges = [
        Gauge(clock.window, recording.threads[clock.thread].process, "cpu_us", 2 * clock.on_cpu_us)
        for clock in recording.clocks
    ]
    gauges += [
        Gauge(window.id, 0, "host_cpu_us", host_s * window.length_us / 10)
        for window in recording.windows
    ]

    profile = build_profile(replace(recording, gauges=tuple(gauges)))

    assert profile.critical.in_step_us == pytest.approx(in_step_s * SECOND)


def test_what_rlprof_takes_itself_is_no_load_that_stays():
    load = a_crowded_host(got_s=18.0, host_s=20.0, rlprof_s=2.0).load

    assert load.own_part == pytest.approx(1.0)


def test_a_run_that_gets_little_of_a_full_host_is_not_what_saturates_it():
    assert not a_crowded_host(got_s=4.0, host_s=20.0).load.saturated


def test_a_host_with_free_cores_is_not_saturated():
    assert not a_crowded_host(got_s=12.0, host_s=13.0).load.saturated
