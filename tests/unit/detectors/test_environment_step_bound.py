from __future__ import annotations

from rlprof.detectors.environment_step_bound import DETECTOR, MIN_SHARE
from rlprof.discovery import discover_detectors
from rlprof.model.finding import Finding
from rlprof.report.findings import sell_samples
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, detect, lines_of, profile_of

ENV = Script(
    "world.py",
    """
    class World:
        def step(self, action):
            self.simulate(action)
            return self.state

        def simulate(self, action):
            self.state = self.matrix @ self.state
    """,
)
LOOP = "train.py:9 collect"
STEP = ENV.at("self.simulate", "World.step")
SIMULATE = ENV.at("self.matrix", "World.simulate")
LEARN = ("train.py:12 main", "train.py:30 learn", f"{SITE}/torch/_tensor.py:500 Tensor.backward")


def stepping(seconds: float) -> RunBuilder:
    run = a_run("train.py", steady_s=10.0).process("main", steps=10_000)
    run.spends(seconds * 0.1, LOOP, STEP)
    run.spends(seconds * 0.5, LOOP, STEP, SIMULATE)
    run.spends(seconds * 0.4, LOOP, STEP, SIMULATE, f"{SITE}/numpy/linalg/_linalg.py:9 solve")
    return run.spends(10.0 - seconds, *LEARN)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, ENV)


def test_names_the_lines_of_the_environment_and_its_ceiling():
    (finding,) = found(stepping(8.0))

    # What numpy does is the line's that called it.
    assert lines_of(finding) == [ENV.line("self.matrix"), ENV.line("self.simulate")]
    assert finding.locations[0].share == 0.72
    assert any("800 µs a step" in text for text in finding.evidence)
    assert any("1 250 steps per second" in text for text in finding.evidence)


def test_silent_just_under_its_threshold():
    assert found(stepping(10 * MIN_SHARE * 0.98)) == []
    assert len(found(stepping(10 * MIN_SHARE * 1.02))) == 1


def test_silent_on_a_healthy_run():
    run = a_run("train.py", steady_s=10.0).process("main", steps=10_000)
    run.spends(3.0, LOOP, STEP)
    run.spends(7.0, *LEARN)

    assert found(run) == []


def test_ranks_by_its_price_which_is_none():
    priced = sell_samples(profile_of(stepping(9.0), ENV), discover_detectors())[0].ranking()

    assert DETECTOR.id not in [entry.finding.detector for entry in priced.listed]
    (entry,) = [finding for finding in priced.also_seen if finding.finding.detector == DETECTOR.id]
    assert entry.saved_share == (0.0, 0.0)


def test_an_environment_of_a_library_is_named_by_its_own_lines():
    run = a_run("train.py", steady_s=10.0).process("main", steps=10_000)
    checker = f"{SITE}/gymnasium/wrappers/common.py:300 PassiveEnvChecker.step"
    run.spends(3.0, LOOP, checker)
    run.spends(5.0, LOOP, checker, f"{SITE}/gymnasium/envs/cartpole.py:150 CartPoleEnv.step")
    run.spends(2.0, *LEARN)

    (finding,) = found(run)

    assert "cartpole.py:150" in finding.title
    assert any("38 % of it is in wrappers" in text for text in finding.evidence)


def test_silent_on_an_environment_that_sleeps_until_it_is_time():
    run = a_run("robot.py", steady_s=10.0).process("main", steps=500)
    run.spends(6.0, LOOP, STEP, idle=True)
    run.spends(3.0, LOOP, STEP)
    run.spends(1.0, *LEARN)

    assert found(run) == []
