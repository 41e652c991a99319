from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.detectors.thread_oversubscription import (
    DETECTOR,
    HINDERED,
    MIN_NATIVE,
    MIN_WANTED,
    REMOVABLE,
    REMOVABLE_LONG,
)
from rlprof.discovery import discover_detectors
from rlprof.model.finding import Finding, PricedFinding
from rlprof.model.profile import Profile
from rlprof.model.recording import Gauge
from rlprof.profile.build import build_profile
from rlprof.report.findings import sell_samples
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, STDLIB, Script, lines_of

LEARN = Script(
    "learn.py",
    """
    def learn(net, optimizer):
        while True:
            loss = net(x).mean()
            loss.backward()
    """,
)
FORWARD = (LEARN.at("net(x)", "learn"), f"{SITE}/torch/nn/modules/linear.py:130 Linear.forward")
BACKWARD = (LEARN.at("backward", "learn"), f"{SITE}/torch/autograd/graph.py:3 _engine_run_backward")
RECV = f"{STDLIB}/multiprocessing/connection.py:382 Connection._recv"


def a_training(*, cores: int = 2, **environment: str) -> RunBuilder:
    host = {"usable_cores": str(cores)}
    return a_run(steady_s=10.0).with_run(host=host, environment=environment)


def learners(run: RunBuilder, number: int, *, on_cpu: float) -> RunBuilder:
    """Processes that compute all the time, ``on_cpu`` of it on a core."""
    for name in range(number):
        run.process(f"learner {name}", steps=1_000)
        run.spends(4.0, *FORWARD, cpu=on_cpu).spends(6.0, *BACKWARD, cpu=on_cpu)
    return run


def seen(run: RunBuilder, *, native: float, threads: int = 0) -> Profile:
    """The profile, where ``native`` of the CPU time of each process, or of the first where ``threads`` are
    told for it, is in threads without Python.
    """
    recording = run.source(LEARN.file, LEARN.text).recording()
    gauges = tuple(
        Gauge(
            clock.window,
            recording.threads[clock.thread].process,
            "cpu_us",
            clock.on_cpu_us / (1 - native),
        )
        for clock in recording.clocks
        if clock.on_cpu_us and not (threads and recording.threads[clock.thread].process)
    )
    if threads:
        gauges += tuple(Gauge(window.id, 0, "threads", threads) for window in recording.windows)
    return build_profile(replace(recording, gauges=gauges))


def found(profile: Profile) -> list[Finding]:
    return list(DETECTOR.in_samples.detect(profile))


def listed(profile: Profile) -> list[PricedFinding]:
    return list(sell_samples(profile, discover_detectors())[0].ranking().listed)


def test_names_the_learners_whose_threads_share_too_few_cores():
    run = learners(a_training(), 4, on_cpu=0.25)

    (finding,) = found(seen(run, native=0.5))

    assert finding.title == "4 processes with 2 compute threads each share 2 cores"
    assert lines_of(finding) == [LEARN.line("backward"), LEARN.line("net(x)")]
    assert "50 % of the CPU time" in finding.evidence[0]
    assert "8.0 threads are ready to run at any time, on 2 cores" in finding.evidence[1]
    assert "OMP_NUM_THREADS" in finding.evidence[2]


def test_silent_just_under_its_thresholds():
    """Four Python threads of 10 s want 4 cores; teams of two want 8."""

    def a_run_on(cores: float) -> list[Finding]:
        run = learners(a_training(cores=2), 4, on_cpu=0.25).with_run(
            host={"usable_cores": str(cores)}
        )
        return found(seen(run, native=0.5))

    assert a_run_on(8 / MIN_WANTED + 0.1) == []
    assert len(a_run_on(8 / MIN_WANTED - 0.1)) == 1
    run = learners(a_training(), 4, on_cpu=0.25)
    assert found(seen(run, native=MIN_NATIVE - 0.01)) == []
    assert len(found(seen(run, native=MIN_NATIVE + 0.01))) == 1


def test_silent_on_one_learner_with_a_thread_for_each_core():
    run = learners(a_training(cores=2), 1, on_cpu=1.0)

    assert found(seen(run, native=0.5)) == []


def test_silent_where_each_process_has_one_thread():
    run = learners(a_training(cores=2), 4, on_cpu=0.5)

    assert found(seen(run, native=0.0)) == []


def test_threads_of_a_compiler_are_no_compute_threads():
    def mostly_in(*stack: str) -> list[Finding]:
        run = a_training(cores=1).process("learner", steps=1_000)
        return found(
            seen(run.spends(9.0, *stack, cpu=0.5).spends(1.0, *FORWARD, cpu=0.5), native=0.5)
        )

    assert mostly_in(*FORWARD)
    assert not mostly_in(FORWARD[0], f"{SITE}/jax/_src/compiler.py:330 backend_compile_and_load")


def test_silent_where_the_team_hardly_runs():
    """A torch call once in a while, beside workers that use the cores by themselves."""
    run = a_training(cores=2).process("learner")
    run.spends(0.3, *FORWARD).spends(9.7, LEARN.at("net(x)", "learn"), RECV, idle=True)
    for name in ("one", "two", "three"):
        run.process(name, steps=1_000).spends(10.0, "env.py:3 step", cpu=0.65)
    recording = run.recording()
    gauges = tuple(
        Gauge(clock.window, 0, "cpu_us", clock.on_cpu_us * 2)
        for clock in recording.clocks
        if clock.thread == 0 and clock.on_cpu_us
    )

    assert found(build_profile(replace(recording, gauges=gauges))) == []


def test_a_team_beside_busy_workers_is_one_too_many():
    """Two threads of the learner and one worker that always runs: three on two cores."""
    run = learners(a_training(cores=2), 1, on_cpu=0.66)
    run.process("worker").spends(10.0, "env.py:3 step", cpu=0.68)
    recording = run.recording()
    gauges = tuple(
        Gauge(clock.window, 0, "cpu_us", clock.on_cpu_us * 2)
        for clock in recording.clocks
        if clock.thread == 0
    )

    (finding,) = found(build_profile(replace(recording, gauges=gauges)))

    assert finding.remainder is not None
    assert "3.0 threads are ready" in finding.evidence[1]


def test_ranks_by_its_price():
    run = learners(a_training(), 4, on_cpu=0.25)

    first = listed(seen(run, native=0.5))[0]

    assert first.finding.detector == DETECTOR.id
    assert first.saved_share.low == pytest.approx(REMOVABLE.low, abs=0.08)
    assert first.saved_share.high == pytest.approx(REMOVABLE.high, abs=0.01)


def test_costs_only_the_part_of_the_cpu_time_that_the_teams_have():
    """On a full host a worker of one thread has a quarter: at most three quarters are to be had, and of
    those as much as the learner's own thread waits for a core, for a quarter of its time, or the square of it.
    """
    run = learners(a_training(cores=2), 1, on_cpu=0.75)
    run.process("worker", steps=10).spends(10.0, "env.py:3 step", cpu=0.5)
    recording = run.recording()
    gauges = tuple(
        Gauge(clock.window, 0, "cpu_us", clock.on_cpu_us * 2)
        for clock in recording.clocks
        if clock.thread == 0
    )

    (finding,) = found(build_profile(replace(recording, gauges=gauges)))

    assert finding.remainder is not None
    most, least = 0.25 / HINDERED.low, (0.25 / HINDERED.high) ** 2
    assert finding.remainder.left.low == pytest.approx(1 - 0.75 * REMOVABLE.high * most)
    assert finding.remainder.left.high == pytest.approx(1 - 0.75 * REMOVABLE.low * least)


def test_promises_less_where_single_operations_take_long():
    run = learners(a_training(), 4, on_cpu=0.25)
    profile = seen(run, native=0.5)
    long = replace(profile, critical=replace(profile.critical, sample_interval_us=400_000))

    (finding,) = found(long)

    assert finding.remainder is not None
    assert finding.remainder.left.high == pytest.approx(1 - REMOVABLE_LONG.low)


def test_says_what_the_environment_sets():
    run = learners(a_training(OMP_NUM_THREADS="8"), 4, on_cpu=0.25)

    (finding,) = found(seen(run, native=0.5))

    assert finding.evidence[2] == "in the environment: OMP_NUM_THREADS=8"


def test_without_frames_of_a_library_the_lines_that_compute_are_named():
    """``x @ w`` runs in C, straight from the user's line."""
    run = a_training()
    for name in range(4):
        run.process(f"learner {name}", steps=1_000)
        run.spends(9.0, LEARN.at("net(x)", "learn"), cpu=0.25)
        run.spends(1.0, RECV, idle=True)

    (finding,) = found(seen(run, native=0.5))

    assert lines_of(finding) == [LEARN.line("net(x)")]


def test_threads_beside_a_python_that_does_not_compute_are_no_compute_threads():
    """Those of Ray pass messages on, while its Python waits for the next one."""
    loop = f"{SITE}/ray/_private/log_monitor.py:300 LogMonitor.run"
    run = a_training()
    for name in range(4):
        run.process(f"service {name}", steps=1_000)
        run.spends(4.0, loop, cpu=0.25).spends(6.0, loop, idle=True)

    assert not found(seen(run, native=0.5))


def test_no_more_compute_threads_are_told_than_there_are():
    """The Python thread hardly had a core: the ratio of their CPU times says nothing."""
    run = learners(a_training(), 4, on_cpu=0.0001)

    (finding,) = found(seen(run, native=0.9999, threads=9))

    assert finding.title.endswith("9 compute threads shares 2 cores")


def test_processes_of_one_role_are_judged_together():
    """One of four learners hardly got to compute: a tenth of its CPU time is native."""
    recording = learners(a_training(), 4, on_cpu=0.25).recording()
    factor = {0: 2.0, 1: 2.0, 2: 2.0, 3: 1.1}
    gauges = tuple(
        Gauge(clock.window, clock.thread, "cpu_us", clock.on_cpu_us * factor[clock.thread])
        for clock in recording.clocks
    )
    processes = tuple(
        replace(process, start_method="spawn", ppid=1) for process in recording.processes
    )

    (finding,) = found(build_profile(replace(recording, gauges=gauges, processes=processes)))

    assert finding.title == "4 learners with 2 compute threads each share 2 cores"


LOCKED = Script(
    "shared.py",
    """
    def learn(net, lock):
        while True:
            with lock:
                loss = net(x).mean()

    def act(env, lock):
        while True:
            transition = env.step()
            with lock:
                buffer.add(transition)
    """,
)


def test_a_team_far_larger_than_the_cores_holds_up_those_that_wait_for_its_lock():
    """Sixteen threads on two cores, mostly asleep at barriers, under a lock that the actor wants."""
    run = a_training().process("main").source(LOCKED.file, LOCKED.text)
    run.spends(9.0, LOCKED.at("net(x)", "learn"), FORWARD[1], cpu=0.5)
    run.spends(1.0, LOCKED.at("while True", "learn"), idle=True)
    run.process("actor", steps=1_000).spends(6.0, LOCKED.at("env.step", "act"), "env.py:3 step")
    run.spends(4.0, LOCKED.at("with lock", "act"), idle=True)

    small, crowded = (seen(run, native=0.4, threads=number) for number in (3, 17))

    assert found(small) == []
    (finding,) = found(crowded)
    assert finding.title.startswith("the main process")
    assert "17 compute threads" in finding.title
    assert finding.remainder is not None
    assert finding.remainder.left.low == pytest.approx(1 - 0.4 * 0.99, abs=0.02)


def test_formatting_is_no_computing_of_the_team():
    run = a_training()
    for name in range(4):
        run.process(f"learner {name}", steps=1_000).spends(7.0, *FORWARD, cpu=0.25)
        printing = f"{SITE}/numpy/_core/arrayprint.py:1701 _array_repr_implementation"
        below = f"{SITE}/numpy/_core/numeric.py:9 asarray"
        run.spends(1.0, LEARN.at("backward", "learn"), printing, cpu=0.25)
        run.spends(2.0, LEARN.at("backward", "learn"), printing, below, cpu=0.25)

    (finding,) = found(seen(run, native=0.5))

    assert lines_of(finding) == [LEARN.line("net(x)")]


def beside_others(*, ready: float, others_us: int) -> Profile:
    """A learner with a thread for each of the machine's two cores, of which others take ``others_us`` in each
    window, with ``ready`` threads of all of them that want one.
    """
    host = {"usable_cores": "2", "cores": "2"}
    run = learners(a_training().with_run(host=host), 1, on_cpu=0.5)
    recording = run.source(LEARN.file, LEARN.text).recording()
    own = {clock.window: clock.on_cpu_us * 2 for clock in recording.clocks}
    gauges = tuple(
        Gauge(window, 0, name, value)
        for window, us in own.items()
        for name, value in (
            ("cpu_us", us),
            ("host_cpu_us", us + others_us),
            ("host_run_queue", ready + 1),
            ("threads", 2),
        )
    )
    return build_profile(replace(recording, gauges=gauges))


def test_a_team_that_others_crowd_out():
    profile = beside_others(ready=4.0, others_us=1_000_000)

    (finding,) = found(profile)

    assert finding.title.endswith("2 compute threads shares 2 cores with other programs")
    assert (
        "4.0 threads are ready to run at any time, 2.0 of this run and the others of other programs"
        in finding.evidence[1]
    )


def test_silent_where_others_leave_the_cores_to_it():
    assert found(beside_others(ready=MIN_WANTED * 2 - 0.1, others_us=1_000_000)) == []
    # Threads that are ready for a moment, as those of the recorder.
    assert found(beside_others(ready=4.0, others_us=0)) == []
