from __future__ import annotations

import pytest

from rlprof.model import gauges
from rlprof.model.threads import ThreadUse
from rlprof.profile.build import build_profile
from tests.factories import RunBuilder, a_run


def use(run: RunBuilder) -> ThreadUse:
    found = build_profile(run.recording()).thread_use
    assert found is not None
    return found


def a_learner(*, threads: float) -> RunBuilder:
    """Ten seconds of training: the main thread computes for eight, a logger sleeps."""
    run = a_run(steady_s=10).process("learner", steps=1_000)
    run.spends(8.0, "train.py:3 learn").spends(2.0, "train.py:4 wait", idle=True)
    run.thread("logger").spends(10.0, "log.py:3 run", idle=True)
    return run.gauge(gauges.THREADS, threads)


def test_what_python_threads_do_not_account_for_is_native():
    assert use(a_learner(threads=10)).native == {0: 8}


def test_a_gauge_that_lags_makes_no_less_than_none():
    assert use(a_learner(threads=1)).native == {0: 0}


def test_the_machine_has_a_queue():
    run = a_learner(threads=2).gauge(gauges.HOST_RUN_QUEUE, 12)

    assert use(run).host_run_queue == pytest.approx(12)


def test_what_was_not_measured_is_not_told():
    assert use(a_learner(threads=2)).host_run_queue is None
    assert build_profile(a_run().process(steps=10).recording()).thread_use is None
