"""Small trainings around the snippets of the detectors' pages.

``{once}`` and ``{each}`` stand for the parts of a snippet before and after its ``...``, ``{all}`` for one without
such parts. ``main(steps)`` trains.
"""

from __future__ import annotations

import re
from textwrap import indent

from tests.detector_pages import parts

_PLACE = re.compile(r"^(?P<margin> *)\{(?P<part>once|each|all)\}\n", re.MULTILINE)

PROGRAMS = {
    "hashed-keys": """
from collections import defaultdict
from dataclasses import dataclass

ACTIONS = range(7)


@dataclass(frozen=True)
class Position:
    cells: tuple
    mover: int


class Node:
    def __init__(self):
        self.total = [0.0] * 7
        self.visits = [0] * 7


def main(steps):
    states = [Position((0,) * 42, mover) for mover in (1, 2)]
    total, visits = defaultdict(float), defaultdict(int)
    nodes = {state: Node() for state in states}
    for step in range(steps):
        state = states[step % 2]
        sum(range(12_000))
        {all}
""",
    "array-conversion-in-loop": """
import numpy as np


class Agent:
    def __init__(self, arms):
        {once}

    def act(self):
        {each}
        return best


def main(steps):
    agent = Agent(16)
    for _ in range(steps):
        agent.act()
""",
    "blocking-io": """
import numpy as np

np.save("maze.npy", np.zeros((200, 200)))


def play(maze, step):
    return sum(range(1000))


def main(steps):
    {all}
""",
    "checkpoint-heavy": """
import time

import torch


def main(updates):
    policy = torch.nn.Linear(256, 256)
    optimizer = torch.optim.SGD(policy.parameters())
    batch = torch.randn(64, 256)

    def learn(batch):
        policy(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    {all}
""",
    "monitoring-share": """
import numpy as np


class Game:
    def step(self, action):
        return action, float(sum(range(20_000)) > action), False, {}


def main(steps):
    game, at, values = Game(), 0, np.zeros((4, 4))
    {once}
    for update in range(steps):
        action = int(values[at].argmax())
        at, reward, over, _ = game.step(action)
        values[at][action] += 0.1 * (reward - values[at][action])
        {each}
""",
    "deepcopy-in-loop": """
{once}

class Game:
    def __init__(self):
        self.walls = [[0] * 12 for _ in range(12)]
        self.position = [0, 0]

    def play_out(self, rng):
        self.position[0] += sum(range(rng))


def main(steps):
    game, rng = Game(), 1000
    for _ in range(steps):
        {each}
""",
    "distribution-validation": """
import torch


class Envs:
    def step(self, actions):
        return torch.zeros(16, 4), sum(range(10_000))


def main(steps):
    policy, envs = torch.nn.Linear(4, 2), Envs()
    observations = torch.zeros(16, 4)
    {once}
    for _ in range(steps):
        {each}
        observations, reward = envs.step(actions)
""",
    "eager-log-format": """
import logging

import numpy as np

logger = logging.getLogger("agent")
logger.setLevel(logging.INFO)


def main(steps):
    q = np.zeros(10)
    for step in range(steps):
        {all}
""",
    "environment-step-bound": """
class World:
    def render(self):
        return [[row * column for column in range(30)] for row in range(30)]


class GridEnv:
    render_mode = None

    def __init__(self):
        self.world = World()

    {all}

def learn():
    return sum(it * it for it in range(200))


def main(steps):
    env = GridEnv()
    for _ in range(steps):
        env.step(0)
        learn()
""",
    "environment-recreated": """
class Maze:
    def __init__(self, size):
        self.distance = {(x, y): x + y for x in range(size) for y in range(size)}

    def reset(self, seed=0):
        return 0, {}

    def step(self, action):
        return 0, 0.0, True, False, {}


def main(episodes):
    {all}
""",
    "evaluation-share": """
class Env:
    def __init__(self):
        self.left = 0

    def reset(self):
        self.left = 20
        return 0

    def step(self, action):
        self.left -= 1
        return sum(range(300)), 1.0, not self.left, {}


def train_episode(env, values):
    state, over = env.reset(), False
    while not over:
        state, reward, over, _ = env.step(0)
        values.append(reward)


def how_it_goes(values, env, episodes):
    total = 0.0
    for _ in range(episodes):
        state, over = env.reset(), False
        while not over:
            state, reward, over, _ = env.step(0)
            total += reward
    return total


def main(episodes):
    env, test_env, values = Env(), Env(), []
    for episode in range(episodes):
        {all}
""",
    "gae-loop": """
import numpy as np
import torch


def advantages_of(rewards, values, going_on, last, T, gamma, lam):
    {all}
    return advantages


def main(updates):
    T = 32
    for _ in range(updates):
        rewards, going_on = torch.zeros(T, 4), torch.ones(T, 4)
        values = torch.zeros(T + 1, 4)
        advantages_of(rewards, values, going_on, 0.0, T, 0.99, 0.95)
""",
    "gc-pressure": """
import collections
import gc


def play(env):
    return [(state, sum(range(300))) for state in range(50)]


def main(episodes):
    env, replay = None, collections.deque(maxlen=20_000)
    {all}
""",
    "growing-array": """
import numpy as np


class Store:
    def __init__(self, size, capacity):
        {once}

    def put(self, row):
        {each}


def main(steps):
    store = Store(32, steps)
    for step in range(steps):
        store.put(np.full(32, float(sum(range(100)))))
""",
    "grads-in-rollout": """
import numpy as np
import torch


class Env:
    def step(self, action):
        return np.full(4, action, dtype=np.float32)


def main(steps):
    policy = torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.Tanh(), torch.nn.Linear(64, 2))
    env = Env()
    observation = env.step(0)
    for _ in range(steps):
        {all}
        observation = env.step(action)
""",
    "ipc-polling": """
import multiprocessing
import threading


class Worker:
    def is_alive(self):
        return True


def main(updates):
    workers = [Worker(), Worker()]
    done = multiprocessing.Event()
    for _ in range(updates):
        done.clear()
        threading.Timer(0.002, done.set).start()
        {all}
""",
    "output-per-step": """
import logging

logger = logging.getLogger("train")
logger.setLevel(logging.INFO)
logger.addHandler(logging.FileHandler("train.log"))


class Env:
    def step(self, action):
        return action, sum(range(1000))


def main(steps):
    env, action = Env(), 0
    {all}
""",
    "model-publish": """
import copy
import multiprocessing

import torch


def main(updates):
    model = torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(4)))
    queues = [multiprocessing.SimpleQueue() for _ in range(2)]
    {once}
    for update in range(updates):
        {each}
        for queue in queues:
            if not queue.empty():
                queue.get()
""",
    "numpy-tiny-ops": """
import math

import numpy as np


class Cart:
    def __init__(self):
        self.speed = self.x = self.y = 0.0

    def step(self, push):
        {all}
        return distance


def main(steps):
    cart = Cart()
    for _ in range(steps):
        cart.step(0.1)
""",
    "omegaconf-in-loop": """
import random

from omegaconf import OmegaConf

rng = random.Random(0)


def main(steps):
    cfg = OmegaConf.create({"steps": steps, "agent": {"epsilon": 0.1}})
    {all}
""",
    "optimizer-not-fused": """
import torch


def main(updates):
    layers = [torch.nn.Linear(16, 16) for _ in range(4)]
    policy = torch.nn.Sequential(*layers)
    observations = torch.zeros(8, 16)
    {all}
    for _ in range(updates):
        optimizer.zero_grad()
        policy(observations).square().mean().backward()
        optimizer.step()
""",
    "python-env-loop": """
import numpy as np
import torch
from torch.distributions import Categorical

policy = torch.nn.Linear(4, 2)


def act(observations):
    actions = []
    {all}
    return actions


def main(steps):
    observations = [np.zeros(4, dtype=np.float32) for _ in range(16)]
    for _ in range(steps):
        act(observations)
""",
    "python-loop-over-tensor": """
import torch


def scaled_rewards(rewards):
    mean, deviation = rewards.mean(), rewards.std() + 1e-6
    {all}
    return scaled


def main(updates):
    rewards = torch.randn(64)
    for _ in range(updates):
        scaled_rewards(rewards)
""",
    "replay-sampling": """
import collections
import random

import numpy as np
import torch


class Replay:
    def __init__(self):
        state = np.zeros(4, dtype=np.float32)
        self.memory = collections.deque([(state, 0, 0.0)] * 5_000)
        self.states = np.zeros((5_000, 4), dtype=np.float32)
        self.rng = np.random.default_rng(0)
        self.size, self.at = 5_000, 0

    def add(self, state):
        {once}

    def sample(self, batch_size):
        {each}
        return states


def main(updates):
    replay = Replay()
    replay.add(np.ones(4, dtype=np.float32))
    for _ in range(updates):
        replay.sample(64)
""",
    "slow-call": """
from collections import deque
{once}


def main(steps):
    rewards, smoothed = deque([0.5], maxlen=100), []
    for step in range(steps):
        rewards.append(step * 0.1)
        sum(range(1000))
        {each}
""",
    "target-update-per-parameter": """
import torch


def a_network():
    network = torch.nn.Sequential(*(torch.nn.Linear(16, 16) for _ in range(4)))
    return network.requires_grad_(False)


def main(updates):
    network, target_network, tau = a_network(), a_network(), 0.005
    {once}
    for _ in range(updates):
        {each}
""",
    "tensor-from-list": """
import numpy as np
import torch


def collect(env_step):
    observations = []
    for _ in range(64):
        observation = env_step()
        {once}
    {each}
    return batch


def main(updates):
    observation = np.zeros(8, dtype=np.float32)
    for _ in range(updates):
        collect(observation.copy)
""",
}


def program(detector_id: str, snippet: str) -> str:
    """The training around ``snippet``, which stands in it letter by letter."""
    *once, each = parts(snippet)
    pieces = {"once": "".join(once), "each": each, "all": snippet}
    return _PLACE.sub(
        lambda place: indent(pieces[place["part"]] or "pass\n", place["margin"]),
        PROGRAMS[detector_id].lstrip("\n"),
    )
