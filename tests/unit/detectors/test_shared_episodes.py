"""evaluation-share: functions by which a program trains and evaluates, told apart by how they are called."""

from __future__ import annotations

import pytest

from rlprof.detectors.evaluation_share import DETECTOR
from tests.factories import a_run
from tests.profile_factory import Script, detect

STEP = "env.py:3 Env.step"

BY_FLAG = """
def play(env, agent, learn=True, buffer=None):
    obs, total, done = env.reset(), 0.0, False
    while not done:
        action = agent.act(obs)
        nxt, reward, done, _ = env.step(action)
        {keeps}
        total += reward
        obs = nxt
    return total

def main(env, agent, buffer):
    for episode in range(1000):
        play(env, agent, buffer=buffer)
        if episode % 10 == 0:
            {evaluates}
"""


def told_by_flag(keeps: str, evaluates: str) -> int:
    script = Script("train.py", BY_FLAG.format(keeps=keeps, evaluates=evaluates))
    steps = script.at("env.step(action)", "play")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, script.at(evaluates, "main"), steps, STEP)
    run.spends(6.0, script.at("play(env, agent, buffer=buffer)", "main"), steps, STEP)
    return len(detect(DETECTOR, run, script))


@pytest.mark.parametrize(
    ("keeps", "evaluates", "number"),
    [
        ("if learn: agent.learn(obs, action, reward)", "score = play(env, agent, learn=False)", 1),
        ("if not learn: total += 1\n        else: agent.learn(obs)", "play(env, agent, False)", 1),
        ("if buffer is not None: buffer.append(obs)", "score = play(env, agent)", 1),
        ("if learn and buffer: agent.learn(obs)", "score = play(env, agent, learn=False)", 1),
        ("if learn: agent.learn(obs, action, reward)", "score = play(env, agent, learn=True)", 0),
        ("if learn: agent.learn(obs, action, reward)", "score = play(env, agent, learn=often)", 0),
        ("if learn or buffer: agent.learn(obs)", "score = play(env, agent, True)", 0),
        ("agent.learn(obs, action, reward)", "score = play(env, agent, learn=False)", 0),
    ],
)
def test_a_flag_tells_evaluations(keeps: str, evaluates: str, number: int):
    assert told_by_flag(keeps, evaluates) == number


BY_USE = """
def play(env, agent, greedy):
    observed, rewards = [], []
    obs, done = env.reset(), False
    while not done:
        observed.append(obs)
        obs, reward, done, _ = env.step(agent.act(obs, greedy))
        rewards.append(reward)
    return observed, rewards

def score(env, agent):
    _, rewards = play(env, agent, True)
    return sum(rewards)

def improve(agent, gain):
    agent.weights = agent.weights + gain

def main(env, agent, centre):
    for update in range(1000):
        agent.learn(play(env, agent, False))
        scores = []
        for part in range(5):
            {plays}
        {then}
"""


def told_by_use(plays: str, then: str, ends: str = "return observed, rewards") -> int:
    text = BY_USE.format(plays=plays, then=then).replace("return observed, rewards", ends)
    script = Script("train.py", text)
    steps = script.at("env.step(agent", "play")
    line = script.at(plays.partition("\n")[0], "main")
    inside = (
        [script.at("_, rewards = play", "score")] if plays.startswith("scores.append(score") else []
    )
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, line, *inside, steps, STEP)
    run.spends(6.0, script.at("agent.learn(play", "main"), steps, STEP)
    return len(detect(DETECTOR, run, script))


KEEPS_THE_SUM = "seen, rewards = play(env, agent, True)\n            scores.append(sum(rewards))"


@pytest.mark.parametrize(
    ("plays", "then", "number"),
    [
        (KEEPS_THE_SUM, "print(sum(scores))", 1),
        ("scores.append(score(env, agent))", "print(sum(scores))", 1),
        (KEEPS_THE_SUM, "improve(agent, sum(scores))", 0),
        (KEEPS_THE_SUM.replace("sum(rewards)", "rewards"), "print(scores)", 0),
        (KEEPS_THE_SUM, "loss = -sum(scores)\n        loss.backward()", 0),
        (
            KEEPS_THE_SUM.replace("env, agent", "env, centre"),
            "centre = centre + 0.1 * max(scores)",
            0,
        ),
    ],
    ids=["told", "by another function", "handed on", "kept whole", "differentiated", "the search"],
)
def test_episodes_of_which_only_numbers_are_told_are_evaluations(
    plays: str, then: str, number: int
):
    assert told_by_use(plays, then) == number


def test_silent_where_the_function_itself_learns_from_the_episode():
    ends = "agent.improve(observed)\n    return observed, rewards"

    assert told_by_use(KEEPS_THE_SUM, "print(sum(scores))", ends) == 0
