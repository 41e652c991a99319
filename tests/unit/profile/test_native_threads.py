from __future__ import annotations

import pytest

from rlprof.model import gauges
from rlprof.model.threads import ProcessThreads, ThreadUse
from rlprof.profile.build import build_profile
from tests.factories import RunBuilder, a_run

WINDOWS_PER_S = 2


def use(run: RunBuilder) -> ThreadUse:
    found = build_profile(run.recording()).thread_use
    assert found is not None
    return found


def of_main(run: RunBuilder) -> ProcessThreads:
    return use(run).processes[0]


def a_learner(*, threads: float, cpu_s: float) -> RunBuilder:
    """Ten seconds of training: the main thread computes for eight, a logger sleeps; all threads
    together take ``cpu_s`` seconds of CPU time.
    """
    run = a_run(steady_s=10).process("learner", steps=1_000)
    run.spends(8.0, "train.py:3 learn").spends(2.0, "train.py:4 wait", idle=True)
    run.thread("logger").spends(10.0, "log.py:3 run", idle=True)
    run.gauge(gauges.THREADS, threads)
    return run.gauge(gauges.CPU_US, cpu_s * 1e6 / (10 * WINDOWS_PER_S))


def test_what_python_threads_do_not_account_for_is_native():
    main = of_main(a_learner(threads=10, cpu_s=20))

    assert (main.threads, main.python, main.native) == (10, 2, 8)
    assert main.cpu_us == pytest.approx(20e6)
    assert main.cores == 8


def test_without_native_threads_a_gauge_that_lags_makes_none():
    main = of_main(a_learner(threads=2, cpu_s=7.9))

    assert main.native == 0
    assert main.cpu_us == pytest.approx(8e6)


def test_a_process_may_have_fewer_cores_than_the_run():
    run = a_learner(threads=10, cpu_s=20).gauge(gauges.AFFINITY_CORES, 2)

    assert of_main(run).cores == 2
    assert use(run).cores == 8


def test_what_waits_for_a_cpu():
    run = a_run(steady_s=10).process(steps=10).spends(10.0, "train.py:3 learn", cpu=0.75)

    main = of_main(run.gauge(gauges.THREADS, 1))

    assert main.run_queue_us == pytest.approx(2.5e6)


def test_the_machine_and_the_settings():
    run = a_learner(threads=2, cpu_s=8).with_run(
        environment={"OMP_NUM_THREADS": "4", "HOME": "/home/researcher"}
    )
    run.gauge(gauges.HOST_RUN_QUEUE, 12).gauge(gauges.HOST_THROTTLED_US, 1_000)

    found = use(run)

    assert found.settings == {"OMP_NUM_THREADS": "4"}
    assert found.host_run_queue == pytest.approx(12)
    assert found.throttled_us == 20 * 1_000


def test_what_was_not_measured_is_not_told():
    found = use(a_learner(threads=2, cpu_s=8))

    assert found.host_run_queue is None
    assert found.throttled_us is None
    assert build_profile(a_run().process(steps=10).recording()).thread_use is None
