from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.detectors.too_many_workers import (
    DETECTOR,
    FEWER_MESSAGES,
    MIN_OVER,
    MIN_QUEUED,
    MIN_WORKING,
)
from rlprof.discovery import discover_detectors
from rlprof.model.finding import Finding
from rlprof.model.recording import Gauge, Recording
from rlprof.profile.build import build_profile
from rlprof.report.findings import sell_samples
from tests.factories import RunBuilder, a_run
from tests.profile_factory import STDLIB, Script, detect, lines_of, profile_of

ENV = Script(
    "env.py",
    """
    class CartEnv:
        def step(self, action):
            self.state = integrate(self.state, action)
    """,
)
STEP = ENV.at("integrate", "CartEnv.step")
RECV = f"{STDLIB}/multiprocessing/connection.py:382 Connection._recv"


def a_training(
    *, workers: int = 8, cores: float = 2, busy_s: float = 10.0, on_cpu: float = 0.25
) -> RunBuilder:
    """10 s in which workers are busy, ``on_cpu`` of that on a core, and wait for the rest."""
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": str(cores)})
    run.process("main").spends(10.0, "train.py:9 <module>", RECV, idle=True)
    for name in range(workers):
        run.process(f"worker {name}", steps=1_000).spends(busy_s, STEP, cpu=on_cpu)
        run.spends(10.0 - busy_s, "env.py:20 work", RECV, idle=True)
    return run


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, ENV)


def test_says_that_workers_take_turns():
    (finding,) = found(a_training())

    assert finding.title == "8 environment workers share 2 cores"
    assert lines_of(finding) == [ENV.line("integrate")]
    assert "ready to run 100 % of the time, and wait 75 % of it for a core" in finding.evidence[0]
    assert finding.evidence[1] == "the run wants 8.0 cores and has 2"
    assert "Try 2 workers" in finding.fix


def replaced(workers: int, *, cores: float) -> RunBuilder:
    """Half of the workers are there for the first half of the time, the others for the second."""
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": str(cores)})
    run.process("main").spends(10.0, "train.py:9 <module>", RECV, idle=True)
    for name in range(workers):
        run.process(f"worker {name}", steps=1_000).spends(5.0, STEP, cpu=0.25)
    return run


def lived(run: RunBuilder, workers: int) -> Recording:
    recording = run.recording()
    steady_us = recording.windows[-1].end_us
    halves = [(0, steady_us // 2), (steady_us // 2, steady_us)]
    processes = [
        replace(process, started_us=start, ended_us=end)
        for process in recording.processes[1:]
        for start, end in [halves[(process.id - 1) // (workers // 2)]]
    ]
    return replace(recording, processes=(recording.processes[0], *processes))


@pytest.mark.parametrize(
    ("workers", "told"), [(6, []), (12, ["6 environment workers share 2 cores"])]
)
def test_workers_that_were_replaced_share_the_cores_with_nobody(workers: int, told: list[str]):
    profile = build_profile(lived(replaced(workers, cores=2), workers))

    findings = list(DETECTOR.in_samples.detect(profile))

    assert [finding.title for finding in findings] == told
    assert all("12 environment workers, 6 at a time, are" in each.evidence[0] for each in findings)


def test_silent_just_under_its_thresholds():
    def queued(share: float) -> list[Finding]:
        return found(a_training(on_cpu=1 - share))

    def working(share: float) -> list[Finding]:
        return found(a_training(busy_s=10 * share, on_cpu=0.2))

    assert found(a_training(cores=8 / MIN_OVER + 0.1)) == []
    assert len(found(a_training(cores=8 / MIN_OVER - 0.1))) == 1
    assert queued(MIN_QUEUED - 0.01) == []
    assert len(queued(MIN_QUEUED + 0.01)) == 1
    assert working(MIN_WORKING - 0.01) == []
    assert len(working(MIN_WORKING + 0.01)) == 1


def test_silent_on_a_healthy_run():
    assert found(a_training(workers=2, on_cpu=0.99)) == []


def test_silent_where_the_workers_mostly_wait():
    assert found(a_training(workers=16, busy_s=1.0)) == []


def test_silent_on_a_machine_that_others_use():
    """Two workers for two cores queue, but not for each other."""
    assert found(a_training(workers=2, on_cpu=0.4)) == []


def test_compute_threads_are_told_by_their_own_detector():
    recording = a_training(workers=4).recording()
    gauges = tuple(
        Gauge(clock.window, recording.threads[clock.thread].process, "cpu_us", 2 * clock.on_cpu_us)
        for clock in recording.clocks
    )

    assert list(DETECTOR.in_samples.detect(build_profile(replace(recording, gauges=gauges)))) == []


def test_ranks_last_since_fewer_workers_do_the_same():
    priced = sell_samples(profile_of(a_training(), ENV), discover_detectors())[0].ranking()

    (seen,) = [finding for finding in priced.also_seen if finding.finding.detector == DETECTOR.id]
    assert seen.saved_share == (0.0, 0.0)
    assert DETECTOR.id not in {finding.finding.detector for finding in priced.listed}


def test_is_worth_a_part_of_the_messages_that_fewer_workers_send():
    """Eight workers on two cores: a quarter of the messages is left, and some of the time for the rest."""
    run = a_training(busy_s=8.0)
    for _ in range(2):
        run.process("worker", steps=1_000).spends(8.0, STEP, cpu=0.25)
        run.spends(2.0, "env.py:20 work", RECV, cpu=0.25)

    (finding,) = found(run)

    (saving,) = finding.savings
    assert saving.removable.low == pytest.approx(FEWER_MESSAGES.low * (1 - 2 / 10))
    assert saving.removable.high == pytest.approx(FEWER_MESSAGES.high * (1 - 2 / 10))
