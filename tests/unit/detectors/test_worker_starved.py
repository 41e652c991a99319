from __future__ import annotations

import pytest

from rlprof.detectors.worker_starved import DETECTOR, MIN_WAITING, MIN_WORKING
from rlprof.discovery import discover_detectors
from rlprof.model.finding import Finding
from rlprof.report.findings import sell_samples
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, STDLIB, Script, detect, lines_of, profile_of

TRAIN = Script(
    "train.py",
    """
    for update in range(1000):
        observations = collect()
        loss = learn(observations)
    """,
)
LEARN = (TRAIN.at("learn(", "<module>"), f"{SITE}/torch/optim/adam.py:3 step")
COLLECT = TRAIN.at("collect()", "<module>")
RECV = f"{STDLIB}/multiprocessing/connection.py:382 Connection._recv"
STEP = "env.py:5 CartEnv.step"


def a_training(
    *, learns_s: float, workers_wait_s: float, workers: int = 8, cores: int = 16
) -> RunBuilder:
    """10 s: the learner works, then waits; the workers wait, then work."""
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": str(cores)})
    run.process("main", steps=1_000).spends(learns_s, *LEARN)
    run.spends(10.0 - learns_s, COLLECT, RECV, idle=True)
    for name in range(workers):
        run.process(f"worker {name}").spends(workers_wait_s, "env.py:20 work", RECV, idle=True)
        run.spends(10.0 - workers_wait_s, STEP)
    return run


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, TRAIN)


def test_says_whom_the_workers_wait_for():
    (finding,) = found(a_training(learns_s=9.0, workers_wait_s=8.0))

    assert (
        finding.title
        == "8 environment workers wait 80 % of the time for the main process (pid 1000), which works meanwhile"
    )
    assert lines_of(finding) == [TRAIN.line("learn(")]
    assert (
        "work 20 % of the time, and wait 80 %; the main process (pid 1000) works 90 %"
        in (finding.evidence[0])
    )
    assert "up to 5.0 times" in finding.evidence[1]
    assert "2 workers would do in place of 8" in finding.fix


def test_silent_just_under_its_thresholds():
    def waiting(share: float) -> list[Finding]:
        return found(a_training(learns_s=9.0, workers_wait_s=10 * share))

    def working(share: float) -> list[Finding]:
        return found(a_training(learns_s=10 * share, workers_wait_s=8.0))

    assert waiting(MIN_WAITING - 0.01) == []
    assert len(waiting(MIN_WAITING + 0.01)) == 1
    assert working(MIN_WORKING - 0.01) == []
    assert len(working(MIN_WORKING + 0.01)) == 1


def test_silent_on_a_healthy_run():
    """The workers step all the time, the learner keeps up."""
    assert found(a_training(learns_s=3.0, workers_wait_s=1.0)) == []


def test_silent_where_a_worker_is_fed_slowly_by_design():
    run = a_run(steady_s=10.0).process("main", steps=100)
    run.spends(9.5, "train.py:9 pace", idle=True).spends(0.5, *LEARN)
    run.process("worker").spends(9.5, "env.py:20 work", RECV, idle=True).spends(0.5, STEP)

    assert found(run) == []


def test_silent_where_most_workers_have_work():
    """Two of eight wait: that is how the work is shared out, not who gives it."""
    run = a_training(learns_s=9.0, workers_wait_s=0.5, workers=6)
    for name in ("slow", "slower"):
        run.process(name).spends(8.0, "env.py:20 work", RECV, idle=True).spends(2.0, STEP)

    assert found(run) == []


def test_silent_without_workers():
    assert found(a_training(learns_s=9.0, workers_wait_s=0.0, workers=0)) == []


@pytest.mark.parametrize("waits_s", [6.0, 9.0])
def test_costs_nothing_by_itself(waits_s):
    """What bounds the run are the learner's lines: they are priced where they are found."""
    profile = profile_of(a_training(learns_s=9.0, workers_wait_s=waits_s), TRAIN)

    priced = sell_samples(profile, discover_detectors())[0].ranking()

    (seen,) = [finding for finding in priced.also_seen if finding.finding.detector == DETECTOR.id]
    assert seen.saved_share == (0.0, 0.0)
    assert DETECTOR.id not in {finding.finding.detector for finding in priced.listed}
