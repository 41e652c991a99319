from __future__ import annotations

import pytest

from rlprof.detectors.learner_starved import DETECTOR, MIN_WAITING, MIN_WORKING
from rlprof.discovery import discover_detectors
from rlprof.model.finding import Finding, PricedFinding
from rlprof.report.findings import sell_samples
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, STDLIB, Script, detect, lines_of, profile_of

ENV = Script(
    "env.py",
    """
    class CartEnv:
        def step(self, action):
            self.state = integrate(self.state, action)
    """,
)
LEARN = ("train.py:3 learn", f"{SITE}/torch/optim/adam.py:3 step")
RECV = f"{STDLIB}/multiprocessing/connection.py:382 Connection._recv"
STEP = ENV.at("integrate", "CartEnv.step")


def a_training(
    *, learner_waits_s: float, workers_work_s: float = 9.5, workers: int = 2, cores: int = 2
) -> RunBuilder:
    """10 s: the learner learns, then waits for samples; the workers step, then wait."""
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": str(cores)})
    run.process("main", steps=1_000).spends(10.0 - learner_waits_s, *LEARN)
    run.spends(learner_waits_s, "train.py:2 collect", RECV, idle=True)
    for name in range(workers):
        run.process(f"worker {name}").spends(workers_work_s, STEP)
        run.spends(10.0 - workers_work_s, "env.py:20 work", RECV, idle=True)
    return run


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, ENV)


def listed(run: RunBuilder) -> list[PricedFinding]:
    priced = sell_samples(profile_of(run, ENV), discover_detectors())[0].ranking()
    return [finding for finding in priced.listed if finding.finding.detector == DETECTOR.id]


def test_says_that_the_learner_waits_for_samples():
    (finding,) = found(a_training(learner_waits_s=9.0))

    assert finding.title == (
        "the main process (pid 1000) waits 90 % of the time for samples of 2 environment workers"
    )
    assert lines_of(finding) == [ENV.line("integrate")]
    assert (
        "works 10 % of the time and waits 90 %; 2 environment workers work 95 %"
        in (finding.evidence[0])
    )


def test_silent_just_under_its_thresholds():
    def waiting(share: float) -> list[Finding]:
        return found(a_training(learner_waits_s=10 * share))

    def working(share: float) -> list[Finding]:
        return found(a_training(learner_waits_s=9.0, workers_work_s=10 * share))

    assert waiting(MIN_WAITING - 0.01) == []
    assert len(waiting(MIN_WAITING + 0.01)) == 1
    assert working(MIN_WORKING - 0.01) == []
    assert len(working(MIN_WORKING + 0.01)) == 1


def test_silent_on_a_healthy_run():
    assert found(a_training(learner_waits_s=1.0)) == []


def test_silent_where_environments_run_in_real_time():
    run = a_run(steady_s=10.0).process("main", steps=100)
    run.spends(0.5, *LEARN).spends(9.5, "train.py:2 collect", RECV, idle=True)
    run.process("worker").spends(0.5, STEP).spends(9.5, "env.py:9 CartEnv.step", idle=True)

    assert found(run) == []


def test_silent_on_a_program_that_does_not_learn():
    """It only collects: what bounds it are its environments, and nobody starves."""
    run = a_run(steady_s=10.0).process("main", steps=100)
    run.spends(1.0, "train.py:3 count").spends(9.0, "train.py:2 collect", RECV, idle=True)
    run.process("worker").spends(10.0, STEP)

    assert found(run) == []


def test_silent_on_a_sweep_whose_workers_learn():
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "2"})
    run.process("main").spends(10.0, "train.py:2 sweep", RECV, idle=True)
    for name in range(2):
        run.process(f"worker {name}", steps=500).spends(8.0, STEP)
        run.spends(2.0, *LEARN)

    assert found(run) == []


def test_on_full_cores_it_costs_nothing():
    run = a_training(learner_waits_s=9.0, workers=2, cores=2)

    (finding,) = found(run)

    assert finding.remainder is None
    assert "0 of 2 cores are free" in finding.evidence[-1]
    assert listed(run) == []


def test_ranks_by_what_more_workers_on_free_cores_could_give():
    """Three of four cores are free: with four workers a quarter of the wait would be left."""
    (priced,) = listed(a_training(learner_waits_s=9.0, workers=1, cores=4))

    assert "Collect with 4 workers instead of 1" in priced.finding.fix
    assert priced.saved_share.low > 0.2
    assert priced.saved_share.high == pytest.approx(0.9 * 3 / 4, abs=0.08)


@pytest.mark.parametrize(("learner_waits_s", "saved"), [(9.0, 0.75), (4.0, 0.4)])
def test_workers_that_step_on_their_own_give_more_until_the_learner_is_busy(learner_waits_s, saved):
    """Steps are counted in the worker: four in place of one make four times as many at best."""
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "4"}).process("main")
    run.spends(10.0 - learner_waits_s, *LEARN)
    run.spends(learner_waits_s, "train.py:2 collect", RECV, idle=True)
    run.process("worker", steps=1_000).spends(10.0, STEP)

    (finding,) = found(run)

    assert finding.remainder is not None
    assert finding.remainder.left.low == pytest.approx(1 - saved, abs=0.02)
    assert finding.remainder.left.high == pytest.approx(1 - 0.4 * saved, abs=0.02)
