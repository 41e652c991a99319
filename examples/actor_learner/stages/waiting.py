"""DQN on CartPole, as in stage 8, with semaphores in place of every sleep.

rlprof should find: what it finds on stage 8. No gain over its sleeps of 1 ms could be shown.
"""

from __future__ import annotations

import os
from multiprocessing.process import BaseProcess

import numpy as np
import torch
from cartpole import CartPole, observe
from counting import step
from network import BATCH, Learner, Policy, QNetwork
from processes import check, children, context, wait_for
from progress import Progress
from replay import Replay
from settings import Settings
from shared import SharedArray
from weights import SharedWeights

ENVS = 8
"""Of each agent."""
CAPACITY = 50_000
"""Transitions."""
LEARN_AFTER = 500
"""Steps before the first update."""
LEARN_EVERY = 128
"""Steps of an agent for one round of updates: each transition is trained on once, on average."""
UPDATES = 1
"""In a round."""
LEAD = 500
"""Steps that the actors may be ahead of the learner, by the round."""
PUBLISH_EVERY = 2
"""Updates between two publications of the network."""
LONGEST_WAIT_S = 0.1
"""After which a process looks whether the others are still there."""


class Shared:
    """What the learner and the actors share."""

    def __init__(self, settings: Settings) -> None:
        self.replay = Replay(CAPACITY, parts=settings.agents, agents=settings.agents)
        self.ready = context().Semaphore(0)
        """Counts the rounds of steps that the learner has yet to train on."""
        self.room = context().Semaphore(settings.agents + LEAD // LEARN_EVERY)
        """Counts the rounds of steps that the actors may be ahead."""
        self.weights = SharedWeights(QNetwork())
        self.start = context().Event()
        self.stopped = SharedArray((1,), np.bool_)

    def stop(self) -> None:
        self.stopped.array[0] = True

    def free(self) -> None:
        self.weights.free()
        self.stopped.free()
        self.replay.free()


def train(settings: Settings) -> Progress:
    shared = Shared(settings)
    arguments = [(agent, settings, shared) for agent in range(settings.agents)]
    try:
        with children(act, arguments, stop=shared.stop) as actors:
            return learn(settings, shared, actors)
    finally:
        shared.free()


def act(agent: int, settings: Settings, shared: Shared) -> None:
    """Collect transitions, in a process of its own."""
    torch.set_num_threads(1)
    learner = os.getppid()
    replay, weights = shared.replay, shared.weights
    seed = settings.seed + 1_000 * (agent + 1)
    network = QNetwork()
    policy = Policy(network, seed)
    envs = [CartPole(seed + index) for index in range(ENVS)]
    observations = observe(envs)
    version = 0
    until_round = 0
    wait_for(shared.start)
    while not shared.stopped.array[0] and os.getppid() == learner:
        if until_round == 0 and not shared.room.acquire(timeout=LONGEST_WAIT_S):
            continue
        version = weights.fetch(network, version)
        actions = policy.act_all(observations)
        for index, (env, action) in enumerate(zip(envs, actions)):
            replay.add(env.step(action), part=agent)
            observations[index] = env.observation
            step()
        replay.note_episodes(agent, envs)
        until_round = (until_round + ENVS) % LEARN_EVERY
        if until_round == 0:
            shared.ready.release()


def learn(settings: Settings, shared: Shared, actors: list[BaseProcess]) -> Progress:
    """Train on what the actors collect, in the main process."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(settings.seed)
    learner = Learner(settings.seed)
    progress = Progress(settings, shared.replay, warm_up=LEARN_AFTER + LEAD)
    shared.start.set()
    while not progress.is_over:
        check(actors)
        progress.report(learner.updates)
        if not shared.ready.acquire(timeout=LONGEST_WAIT_S):
            continue
        if shared.replay.steps < LEARN_AFTER:
            shared.room.release()
            continue
        for _ in range(UPDATES):
            learner.update(shared.replay.sample(BATCH, rng))
            if learner.updates % PUBLISH_EVERY == 0:
                shared.weights.publish(learner.network)
        shared.room.release()
    return progress
