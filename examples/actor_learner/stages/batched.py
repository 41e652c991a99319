"""DQN on CartPole in one process, with the policy asked for all environments at once.

rlprof should find: the policy is asked for one environment at a time (python-env-loop). Stage
``batched`` has the fix; stage 2 is what is tried instead, more processes.
"""

from __future__ import annotations

import numpy as np
import torch
from cartpole import CartPole, observe
from counting import step
from network import BATCH, Learner, Policy
from progress import Progress
from replay import Replay
from settings import Settings

ENVS = 8
"""Of each agent."""
CAPACITY = 50_000
"""Transitions."""
LEARN_AFTER = 500
"""Steps before the first update."""
LEARN_EVERY = 128
"""Steps for one update: each transition is trained on once, on average."""


def train(settings: Settings) -> Progress:
    torch.set_num_threads(1)
    replay = Replay(CAPACITY, parts=1, agents=1)
    try:
        return collect_and_learn(settings, replay)
    finally:
        replay.free()


def collect_and_learn(settings: Settings, replay: Replay) -> Progress:
    rng = np.random.default_rng(settings.seed)
    learner = Learner(settings.seed)
    policy = Policy(learner.network, settings.seed)
    envs = [CartPole(settings.seed + index) for index in range(settings.agents * ENVS)]
    observations = observe(envs)
    progress = Progress(settings, replay, warm_up=LEARN_AFTER)
    due = LEARN_AFTER
    while not progress.is_over:
        actions = policy.act_all(observations)
        for index, (env, action) in enumerate(zip(envs, actions)):
            replay.add(env.step(action))
            observations[index] = env.observation
            step()
        while replay.steps >= due:
            learner.update(replay.sample(BATCH, rng))
            due += LEARN_EVERY
        replay.note_episodes(0, envs)
        progress.report(learner.updates)
    return progress
