from __future__ import annotations

import pytest

from rlprof.detectors.monitoring_share import DETECTOR
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, claimed_s, detect, lines_of, profile_of

TABLE = Script(
    "table.py",
    """
    import numpy as np

    def spread(values):
        total = 0.0
        for row in values:
            total += np.abs(row).sum()
        return total

    def best(values, at):
        return values[at].argmax()

    def main(env, values):
        watched = []
        at = env.reset()
        while True:
            action = best(values, at)
            at, reward, over, _ = env.step(action)
            values[at][action] += 0.1 * (reward - values[at][action])
            now = spread(values)
            watched.append(now)
            if over:
                print(watched[-1], spread(values))

    def inline(env, values):
        while True:
            action = best(values, at)
            at, reward, over, _ = env.step(action)
            values[at][action] += 0.1 * (reward - values[at][action])
            count = count + 1
            total = 0.0
            for row in values:
                total += row[0] * row[0]
            print(count, total)

    def play(env, values):
        watched = []
        while True:
            at, reward, over, _ = env.step(best(values, at))
            watched.append(spread(values))
    """,
)
SPREAD = TABLE.at("now = spread", "main")
WITHIN = TABLE.at("total += np.abs", "spread")
STEP = TABLE.at("env.step(action)", "main"), "env.py:3 Env.step"

LEARNER = Script(
    "learner.py",
    """
    import torch

    def distance(net, batch, old):
        return (old - net(batch)).mean()

    def update(net, optimizer, batches, whole, old, limit):
        for batch in batches:
            loss = net(batch).mean()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                gone = distance(net, whole, old)
            if gone > limit:
                break

    def targets(net, target, optimizer, batches):
        for batch in batches:
            with torch.no_grad():
                goal = distance(target, batch, 0)
            loss = (net(batch) - goal).mean()
            loss.backward()
            optimizer.step()
            shown = loss.item()
    """,
)
GONE = LEARNER.at("gone = distance", "update")
GOAL = LEARNER.at("goal = distance", "targets")
ASKED = LEARNER.at("old - net(batch)", "distance")
FORWARD = f"{SITE}/torch/nn/modules/module.py:1700 Module._call_impl"
NETWORK = "type=net.Net bases=torch.nn.modules.module.Module"


def found(seconds: float, *stack: str, script: Script = TABLE, steps: int = 1000) -> list[Finding]:
    return detect(DETECTOR, a_training(seconds, *stack, steps=steps), script)


def a_training(seconds: float, *stack: str, steps: int = 1000) -> RunBuilder:
    run = a_run(steady_s=10.0).process("main", steps=steps)
    return run.spends(seconds, *stack).spends(10.0 - seconds, *STEP)


def test_finds_what_no_action_and_no_update_depends_on():
    run = a_training(4.0, SPREAD, WITHIN)
    profile = profile_of(run, TABLE)
    (finding,) = DETECTOR.in_samples.detect(profile)

    assert lines_of(finding) == [TABLE.line("now = spread")]
    assert claimed_s(profile, finding) == 4.0


@pytest.mark.parametrize(
    "stack",
    [
        (TABLE.at("action = best", "main"), TABLE.at("values[at].argmax", "best")),
        (TABLE.at("values[at][action] +=", "main"),),
    ],
)
def test_silent_about_what_acts_and_learns(stack):
    assert not found(4.0, *stack)


def test_finds_a_loop_without_calls_and_no_counter_beside_it():
    assert found(4.0, TABLE.at("total += row[0]", "inline"))
    assert not found(4.0, TABLE.at("count = count + 1", "inline"))


def test_silent_about_lines_that_show_what_they_compute():
    assert not found(4.0, TABLE.at("print(watched", "main"))


def test_finds_what_a_line_calls_in_order_to_show_it():
    (finding,) = found(4.0, TABLE.at("print(watched", "main"), WITHIN)

    assert lines_of(finding) == [TABLE.line("total += np.abs")]


def test_silent_where_nothing_is_learned():
    playing = TABLE.text.replace("values[at][action] += 0.1", "values_of_another = 0.1")

    assert not found(4.0, SPREAD, WITHIN, script=Script("table.py", playing))


@pytest.mark.parametrize("seconds", [0.4, 9.5])
def test_silent_about_a_small_part_and_about_nearly_all(seconds):
    assert not found(seconds, SPREAD, WITHIN)


def test_finds_what_decides_when_an_update_ends():
    run = (
        a_training(4.0, GONE, ASKED, FORWARD)
        .sees(ASKED, net=NETWORK)
        .sees(LEARNER.at("loss = net(batch)", "update"), net=NETWORK)
    )
    (finding,) = detect(DETECTOR, run, LEARNER, TABLE)

    assert finding.title == "whether an update goes on is asked too often (learner.py:12)"


def test_silent_about_targets_that_the_loss_needs():
    run = a_training(4.0, GOAL, ASKED, FORWARD).sees(ASKED, net=NETWORK)

    assert not detect(DETECTOR, run, LEARNER, TABLE)


def test_silent_about_reads_that_may_wait_for_a_device():
    assert not found(4.0, LEARNER.at("shown = loss.item()", "targets"), script=LEARNER)
