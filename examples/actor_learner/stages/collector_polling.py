"""DQN on CartPole with a synchronous collector: workers step, the main process acts and learns.

rlprof should find: the main process asks without a pause whether the workers are done
(ipc-polling).
"""

from __future__ import annotations

import os
from multiprocessing.process import BaseProcess

import numpy as np
import torch
from cartpole import OBSERVATION_SIZE, CartPole, observe
from counting import step
from network import BATCH, Learner, Policy
from processes import ChildDied, children, context
from progress import Progress
from replay import Replay
from settings import Settings
from shared import SharedArray

ENVS = 64
"""Of each worker."""
CAPACITY = 50_000
"""Transitions."""
LEARN_AFTER = 500
"""Steps before the first update."""
LEARN_EVERY = 256
"""Steps for one update."""
LONGEST_WAIT_S = 0.1
"""After which a worker looks whether the main process is still there."""


class Shared:
    """What the collector and its workers share."""

    def __init__(self, settings: Settings) -> None:
        agents = settings.agents
        self.replay = Replay(CAPACITY, parts=agents, agents=agents)
        self.observations = SharedArray((agents, ENVS, OBSERVATION_SIZE), np.float32)
        self.actions = SharedArray((agents, ENVS), np.int64)
        self.go = [context().Event() for _ in range(agents)]
        self.done = [context().Event() for _ in range(agents)]
        self.stopped = SharedArray((1,), np.bool_)

    def stop(self) -> None:
        self.stopped.array[0] = True

    def free(self) -> None:
        for array in (self.replay, self.observations, self.actions, self.stopped):
            array.free()


def train(settings: Settings) -> Progress:
    shared = Shared(settings)
    arguments = [(agent, settings, shared) for agent in range(settings.agents)]
    try:
        with children(work, arguments, stop=shared.stop) as workers:
            return collect_and_learn(settings, shared, workers)
    finally:
        shared.free()


def work(agent: int, settings: Settings, shared: Shared) -> None:
    """Step the environments when told to, in a process of its own."""
    collector = os.getppid()
    seed = settings.seed + 1_000 * (agent + 1)
    envs = [CartPole(seed + index) for index in range(ENVS)]
    observations = shared.observations.array[agent]
    observations[:] = observe(envs)
    shared.done[agent].set()
    while not shared.stopped.array[0] and os.getppid() == collector:
        if not shared.go[agent].wait(LONGEST_WAIT_S):
            continue
        shared.go[agent].clear()
        actions = shared.actions.array[agent]
        for index, env in enumerate(envs):
            shared.replay.add(env.step(actions[index]), part=agent)
            observations[index] = env.observation
        step(ENVS)
        shared.replay.note_episodes(agent, envs)
        shared.done[agent].set()


def collect_and_learn(settings: Settings, shared: Shared, workers: list[BaseProcess]) -> Progress:
    """Act for all workers at once, and learn between their steps."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(settings.seed)
    learner = Learner(settings.seed)
    policy = Policy(learner.network, settings.seed)
    progress = Progress(settings, shared.replay, warm_up=LEARN_AFTER)
    due = LEARN_AFTER
    wait_for_workers(shared, workers)
    while not progress.is_over:
        seen = shared.observations.array.reshape(-1, OBSERVATION_SIZE)
        shared.actions.array[:] = policy.act_all(seen).reshape(-1, ENVS)
        for go in shared.go:
            go.set()
        wait_for_workers(shared, workers)
        while shared.replay.steps >= due:
            learner.update(shared.replay.sample(BATCH, rng))
            due += LEARN_EVERY
        progress.report(learner.updates)
    return progress


def wait_for_workers(shared: Shared, workers: list[BaseProcess]) -> None:
    """Return when all have made their steps."""
    busy = dict(enumerate(workers))
    while busy:
        for agent, worker in tuple(busy.items()):
            if shared.done[agent].is_set():
                shared.done[agent].clear()
                del busy[agent]
            elif not worker.is_alive():
                raise ChildDied(f"{worker.name} (pid {worker.pid}) ended before the training did")
