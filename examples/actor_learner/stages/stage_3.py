"""DQN on CartPole with one update for 128 new steps, from a large buffer.

rlprof should find: actors ask the policy for one environment at a time
(python-env-loop).
"""

from __future__ import annotations

import copy
import multiprocessing
import time
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

THREADS = 16
"""For torch in the learner: as many as the machine had that this was written on."""
ENVS = 8
"""Of each agent."""
CAPACITY = 50_000
"""Transitions."""
LEARN_AFTER = 500
"""Steps before the first update."""
LEARN_EVERY = 128
"""Steps for one round of updates: each transition is trained on once, on average."""
UPDATES = 1
"""In a round."""
LEAD = 500
"""Steps that the actors may be ahead of the learner."""
PUBLISH_EVERY = 2
"""Updates between two publications of the network."""
POLL_S = 0.001


class Shared:
    """What the learner and the actors share."""

    def __init__(self, settings: Settings) -> None:
        self.replay = Replay(CAPACITY, parts=1, agents=settings.agents)
        self.trained = SharedArray((1,), np.int64)
        """Steps that the learner has trained for."""
        self.trained.array[0] = LEARN_AFTER
        self.lock = context().Lock()
        self.weights = [context().Queue(maxsize=4) for _ in range(settings.agents)]
        self.start = context().Event()
        self.stop = context().Event()

    @property
    def lead(self) -> int:
        """How many steps the actors are ahead of the learner."""
        return self.replay.steps - int(self.trained.array[0])

    def free(self) -> None:
        for queue in self.weights:
            queue.cancel_join_thread()
            queue.close()
        self.trained.free()
        self.replay.free()


def train(settings: Settings) -> Progress:
    shared = Shared(settings)
    arguments = [(agent, settings, shared) for agent in range(settings.agents)]
    try:
        with children(act, arguments, stop=shared.stop.set) as actors:
            return learn(settings, shared, actors)
    finally:
        shared.free()


def act(agent: int, settings: Settings, shared: Shared) -> None:
    """Collect transitions, in a process of its own."""
    torch.set_num_threads(1)
    learner = multiprocessing.parent_process()
    replay, weights = shared.replay, shared.weights[agent]
    seed = settings.seed + 1_000 * (agent + 1)
    network = QNetwork()
    policy = Policy(network, seed)
    envs = [CartPole(seed + index) for index in range(ENVS)]
    observations = observe(envs)
    wait_for(shared.start)
    while True:
        while not weights.empty():
            network.load_state_dict(weights.get())
        if shared.lead >= LEAD:
            if shared.stop.is_set() or not learner.is_alive():
                return
            time.sleep(POLL_S)
            continue
        actions = [policy.act(observation) for observation in observations]
        for index, (env, action) in enumerate(zip(envs, actions)):
            if shared.stop.is_set() or not learner.is_alive():
                return
            transition = env.step(action)
            with shared.lock:
                replay.add(transition)
            observations[index] = env.observation
            step()
        replay.note_episodes(agent, envs)


def learn(settings: Settings, shared: Shared, actors: list[BaseProcess]) -> Progress:
    """Train on what the actors collect, in the main process."""
    torch.set_num_threads(THREADS)
    rng = np.random.default_rng(settings.seed)
    learner = Learner(settings.seed)
    progress = Progress(settings, shared.replay, warm_up=LEARN_AFTER + LEAD)
    shared.start.set()
    while not progress.is_over:
        check(actors)
        progress.report(learner.updates)
        if shared.lead < LEARN_EVERY:
            time.sleep(POLL_S)
            continue
        for _ in range(UPDATES):
            # So that no actor overwrites what is being trained on.
            with shared.lock:
                learner.update(shared.replay.sample(BATCH, rng))
            if learner.updates % PUBLISH_EVERY == 0:
                publish(learner, shared)
        shared.trained.array[0] += LEARN_EVERY
    return progress


def publish(learner: Learner, shared: Shared) -> None:
    for queue in shared.weights:
        queue.put(copy.deepcopy(learner.network).cpu().state_dict())
