from __future__ import annotations

import pytest

from rlprof.detectors.memory_growth import DETECTOR, FARTHEST, HORIZON_H
from rlprof.discovery import discover_detectors
from rlprof.model import gauges
from rlprof.model.finding import Confidence, Finding, PricedFinding
from rlprof.profile.memory import MIN_GROWTH_BYTES, MIN_STEADY_US
from rlprof.report.findings import sell_samples
from tests.factories import RunBuilder, a_run
from tests.profile_factory import Script, detect, lines_of, profile_of

MIB = 1 << 20
GIB = 1 << 30
TRAIN = Script(
    "train.py",
    """
    class Agent:
        def __init__(self):
            self.losses = []

        def learn(self, batch):
            loss = self.loss(batch)
            self.losses.append(loss)

    agent = Agent()
    while True:
        agent.learn(env.rollout())
    """,
)
BOUNDED = Script("train.py", TRAIN.text.replace("= []", "= deque(maxlen=100)"))
LEARN = (TRAIN.at("agent.learn", "<module>"), TRAIN.at("self.loss(", "Agent.learn"))
KEEP = (TRAIN.at("agent.learn", "<module>"), TRAIN.at(".append", "Agent.learn"))
ROLLOUT = (TRAIN.at("agent.learn", "<module>"), "env.py:3 rollout")


def a_training(
    *resident: float, virtual: tuple[float, ...] = (), steady_s: float = 60.0, free: float = 8 * GIB
) -> RunBuilder:
    """A minute of 6 000 steps, in which the process's memory goes through these levels."""
    run = a_run("train.py", steady_s=steady_s).process("learner", steps=6_000)
    run.spends(steady_s * 0.5, *LEARN).spends(steady_s * 0.1, *KEEP)
    run.spends(steady_s * 0.4, *ROLLOUT)
    run.gauge(gauges.RSS_BYTES, *resident).gauge(gauges.VIRTUAL_BYTES, *(virtual or resident))
    return run.gauge(gauges.HOST_MEMORY_AVAILABLE_BYTES, free)


def found(run: RunBuilder, script: Script = TRAIN) -> list[Finding]:
    return detect(DETECTOR, run, script)


def also_seen(run: RunBuilder) -> list[PricedFinding]:
    priced = sell_samples(profile_of(run, TRAIN), discover_detectors())[0].ranking()
    assert not [finding for finding in priced.listed if finding.finding.detector == DETECTOR.id]
    return [finding for finding in priced.also_seen if finding.finding.detector == DETECTOR.id]


def test_memory_that_grows_to_the_end():
    (finding,) = found(a_training(500 * MIB, 800 * MIB))

    assert finding.title == "memory is full in about 27 min, growing by 17.7 GiB an hour"
    assert "300.0 MiB more" in finding.evidence[0]
    assert "51.6 KiB a step" in finding.evidence[0]
    assert finding.confidence is Confidence.MEASURED
    assert any(
        "self.losses is only ever added to, at train.py:7" in line for line in finding.evidence
    )
    assert lines_of(finding) == [TRAIN.line(".append")]
    assert "loss.item()" in finding.fix


def test_silent_just_under_its_thresholds():
    grown = MIN_GROWTH_BYTES / MIB
    an_hour_of_a_gib = (500 * MIB, 500 * MIB + GIB)
    a_minute_of_a_gib_an_hour = (500 * MIB, 500 * MIB + GIB / 60)
    # Free memory that a GiB an hour takes just so long to fill.
    slow, far = GIB * HORIZON_H, GIB * FARTHEST / 60

    assert found(a_training(500 * MIB, (500 + grown * 0.9) * MIB, free=GIB)) == []
    assert len(found(a_training(500 * MIB, (500 + grown * 1.1) * MIB, free=GIB))) == 1
    assert found(a_training(*an_hour_of_a_gib, steady_s=3600.0, free=1.1 * slow)) == []
    assert len(found(a_training(*an_hour_of_a_gib, steady_s=3600.0, free=0.9 * slow))) == 1
    assert found(a_training(*a_minute_of_a_gib_an_hour, free=1.1 * far)) == []
    assert len(found(a_training(*a_minute_of_a_gib_an_hour, free=0.9 * far))) == 1
    least_s = MIN_STEADY_US / 1e6
    assert found(a_training(500 * MIB, 800 * MIB, steady_s=0.9 * least_s)) == []
    assert len(found(a_training(500 * MIB, 800 * MIB, steady_s=1.1 * least_s))) == 1


HEALTHY = {
    "flat": a_training(500 * MIB),
    "a start that fills caches": a_training(500 * MIB, 790 * MIB, 800 * MIB, 800 * MIB, 800 * MIB),
    "a buffer made in one piece that fills up": a_training(
        500 * MIB, 800 * MIB, virtual=(2 * GIB, 2 * GIB)
    ),
    "a list that fills up to its bound": a_training(500 * MIB, 800 * MIB, 800 * MIB),
    "given back again and again": a_training(*[500 * MIB, 800 * MIB] * 6),
}


@pytest.mark.parametrize("run", HEALTHY.values(), ids=HEALTHY)
def test_silent_on_a_healthy_run(run):
    assert found(run) == []


def test_it_costs_nothing_so_it_is_listed_apart():
    (priced,) = also_seen(a_training(500 * MIB, 800 * MIB))

    assert priced.saved_share == (0.0, 0.0)


def test_silent_when_workers_are_replaced_in_turn():
    run = a_training(500 * MIB)
    run.process("worker").spends(10.0, "env.py:3 step")
    # The one grows while the other shrinks: all together there is no more.
    run.gauge(gauges.RSS_BYTES, 100 * MIB, 400 * MIB)
    run.process("worker").spends(10.0, "env.py:3 step")
    run.gauge(gauges.RSS_BYTES, 400 * MIB, 100 * MIB)

    assert found(run) == []


def test_says_which_process_grows():
    run = a_training(500 * MIB)
    run.process("worker").spends(10.0, "env.py:3 step")
    run.gauge(gauges.RSS_BYTES, 100 * MIB, 400 * MIB)

    (finding,) = found(run)

    (text,) = [line for line in finding.evidence if line.startswith("by process")]
    assert "pid 1001" in text
    assert "pid 1000" not in text
    assert finding.locations == ()  # The worker runs no file of which the source is known.


def test_without_a_place_to_name_it_is_less_sure():
    (finding,) = found(a_training(500 * MIB, 800 * MIB), BOUNDED)

    assert finding.confidence is Confidence.BOUNDED
    assert finding.locations == ()
    assert "tracemalloc" in finding.fix


def test_a_line_with_more_growth_than_time_is_named():
    run = a_training(500 * MIB, 800 * MIB).remembers(200 * MIB, *KEEP).remembers(100 * MIB, *LEARN)

    (finding,) = found(run, BOUNDED)

    assert lines_of(finding) == [TRAIN.line(".append")]
    assert any("67 % of the growth and 10 % of the time" in line for line in finding.evidence)


def test_a_line_that_just_ran_is_not_accused():
    run = a_training(500 * MIB, 800 * MIB).remembers(250 * MIB, *LEARN)
    run.remembers(50 * MIB, *KEEP).remembers(200 * MIB, *ROLLOUT)

    (finding,) = found(run, BOUNDED)

    assert finding.locations == ()
    assert any("no line stands out" in line for line in finding.evidence)


def test_a_list_of_the_function_that_trains_counts_and_one_of_a_short_call_does_not():
    script = Script(
        "train.py",
        """
        def train(env):
            episodes = []
            while True:
                episodes.append(rollout(env))

        def rollout(env):
            steps = []
            while not env.done:
                steps.append(env.step())
            env.add(steps)
        """,
    )
    run = a_run("train.py", steady_s=60).process("main", steps=6_000)
    within = script.at("rollout(env))", "train")
    run.spends(40.0, within, script.at("env.step", "rollout")).spends(20.0, within, "env.py:1 add")
    run.gauge(gauges.RSS_BYTES, 500 * MIB, 800 * MIB)

    (finding,) = found(run, script)

    assert lines_of(finding) == [script.line("episodes.append")]
    assert "deque(maxlen" in finding.fix
