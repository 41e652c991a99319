from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from rlprof.detectors.growing_cost import DETECTOR, LEAST_REMOVED, MOST_REMOVED
from rlprof.model.finding import Finding
from rlprof.model.profile import Profile, Quarter
from rlprof.profile.components import ENVIRONMENT
from tests.factories import a_run
from tests.profile_factory import Script, lines_of, profile_of

TRAIN = Script(
    "train.py",
    """
    class Watch:
        def hook(self, layer, given, out):
            self.shares.append((out <= 0).float().mean().item())

    def train(policy, env):
        while True:
            act(policy, env)
            learn(policy)
    """,
)
HOOK = TRAIN.at("self.shares.append", "Watch.hook")
ACT = TRAIN.at("act(policy, env)", "train")
LEARN = TRAIN.at("learn(policy)", "train")
STEPS = 1_000
"""In each quarter."""


def a_training(hook_s: Sequence[float], act_s: Sequence[float] = (2.0,) * 4) -> Profile:
    """Four quarters, each with so much time in the hook and in all else."""
    run = a_run(steady_s=sum(hook_s) + sum(act_s)).process("main", steps=4 * STEPS)
    run.spends(sum(hook_s), LEARN, HOOK).spends(sum(act_s), ACT)
    profile = profile_of(run, TRAIN)
    named = {node.frame.function: node.id for node in profile.steady.nodes}
    quarters = (
        Quarter(STEPS, {named["Watch.hook"]: round(hook * 1e6), named["train"]: round(act * 1e6)})
        for hook, act in zip(hook_s, act_s, strict=True)
    )
    return replace(profile, quarters=tuple(quarters))


def found(profile: Profile) -> list[Finding]:
    return list(DETECTOR.in_samples.detect(profile))


def test_tells_the_function_and_how_it_grows():
    (finding,) = found(a_training((1.0, 2.0, 3.0, 4.0)))

    assert finding.title == "hook takes ever longer (train.py:3)"
    assert lines_of(finding) == [TRAIN.line("self.shares.append")]
    assert finding.evidence[1].startswith("it takes 1 ms, 2 ms, 3 ms, 4 ms a step")
    assert finding.evidence[1].endswith("4 times as long in the last as in the first")


def test_promises_half_of_what_came_on_top_at_least():
    (finding,) = found(a_training((1.0, 2.0, 3.0, 4.0)))

    # 2.5 ms a step, of which 1.5 were not there at first.
    (saving,) = finding.savings
    assert saving.removable.low == pytest.approx(LEAST_REMOVED * 0.6)
    assert saving.removable.high == MOST_REMOVED


def test_an_environment_may_be_meant_to_get_harder():
    profile = a_training((1.0, 2.0, 3.0, 4.0))

    (finding,) = found(replace(profile, parts=[ENVIRONMENT] * len(profile.parts)))

    assert finding.savings[0].removable.low == 0.0


@pytest.mark.parametrize(
    ("hook_s", "act_s"),
    [
        ((2.0, 2.0, 2.1, 2.2), (2.0,) * 4),
        ((1.0, 2.0, 3.0, 4.0), (1.0, 2.0, 3.0, 4.0)),
        ((0.0, 0.0, 4.0, 4.0), (2.0,) * 4),
        ((0.5, 3.0, 3.0, 3.0), (2.0,) * 4),
        ((0.05, 0.1, 0.15, 0.2), (2.0,) * 4),
        ((1.0, 2.5, 2.0, 3.5), (2.0,) * 4),
        ((1.0, 2.0, 3.0, 4.0), (5.0, 4.0, 3.0, 2.0)),
    ],
    ids=["even", "all-alike", "begins-late", "fills-up", "little", "up-and-down", "moved"],
)
def test_silent_for(hook_s: Sequence[float], act_s: Sequence[float]):
    assert found(a_training(hook_s, act_s)) == []


def test_silent_where_nothing_counts_steps():
    assert found(replace(a_training((1.0, 2.0, 3.0, 4.0)), quarters=())) == []


def a_growing_act(text: str, *looks: int) -> Profile:
    """A training whose call of its policy takes ever longer; that was seen to get lists of so many items."""
    script = Script("train.py", text)
    learn, act = script.at("learn(policy)", "train"), script.at("policy(seen)", "train")
    run = a_run(steady_s=18).process("main", steps=4 * STEPS).spends(10.0, act).spends(8.0, learn)
    if looks:
        run.sees(act, seen=[f"type=list length={size}" for size in looks])
    profile = profile_of(run, script)
    (acting,) = (
        node.id for node in profile.steady.nodes if node.frame.line == script.line("policy(seen)")
    )
    (learning,) = (
        node.id for node in profile.steady.nodes if node.frame.line == script.line("learn(policy)")
    )
    quarters = (
        Quarter(STEPS, {acting: round(act_s * 1e6), learning: 2_000_000})
        for act_s in (1.0, 2.0, 3.0, 4.0)
    )
    return replace(profile, quarters=tuple(quarters))


GREEDY = """
def train(policy, env, rng):
    while True:
        if rng.random() < epsilon:
            action = env.sample()
        else:
            action = policy(seen)
        learn(policy)
"""


@pytest.mark.parametrize(
    "text",
    [
        GREEDY,
        """
def train(policy, rng):
    while True:
        action = env.sample() if rng.random() < epsilon else policy(seen)
        learn(policy)
""",
        """
def train(policy, env):
    while True:
        done = env.step()
        if done:
            policy(seen)
        learn(policy)
""",
        """
def train(policy, env):
    for episode in range(1000):
        policy(seen)
        while not env.done:
            learn(policy)
""",
    ],
    ids=["greedy", "in-an-expression", "at-the-end", "before-an-episode"],
)
def test_silent_where_it_may_only_run_more_often(text: str):
    assert found(a_growing_act(text)) == []


def test_told_there_of_what_gets_longer():
    assert found(a_growing_act(GREEDY, 100, 200, 300, 400))


@pytest.mark.parametrize(
    "condition",
    [
        "step % 4 == 0",
        "step > warm_up",
        "len(memory) >= batch",
        "len(memory) >= batch and step > 10",
    ],
)
def test_told_where_the_condition_is_regular(condition: str):
    text = f"""
def train(policy, env, warm_up, batch):
    for step in range(1000):
        memory.append(env.step())
        if {condition}:
            policy(seen)
        learn(policy)
"""

    assert found(a_growing_act(text))
