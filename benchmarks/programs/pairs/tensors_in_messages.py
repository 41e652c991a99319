"""Q-learning with two actors: each transition goes to the learner by itself, with its reward as a tensor of one number.

``--fixed`` sends the reward as a number.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import multiprocessing as mp
from torch import nn

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_ACTORS = 2
BATCH = 64
STATE = 4


class Pendulum:
    """A pole on a pivot, pushed to either side."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.reset()

    def reset(self):
        self.state = self.rng.uniform(-0.05, 0.05, STATE)
        self.steps = 0
        return self.state.astype(np.float32)

    def step(self, action):
        position, speed, angle, turning = self.state
        push = 9.8 * np.sin(angle) + (5.0 if action else -5.0) * np.cos(angle)
        self.state = np.array(
            [
                position + 0.02 * speed,
                speed + 0.01 * push,
                angle + 0.02 * turning,
                turning + 0.02 * push,
            ]
        )
        self.steps += 1
        is_over = bool(abs(angle) > 0.2 or self.steps >= 500)
        return self.state.astype(np.float32), 1.0 - abs(angle), is_over


def act(seed, transitions, is_fixed):
    env = Pendulum(seed)
    weights = env.rng.normal(size=STATE)
    observation = env.reset()
    while True:
        action = int(observation @ weights + env.rng.normal() > 0)
        following, reward, is_over = env.step(action)
        told = reward if is_fixed else torch.tensor(reward)
        transitions.put((observation, action, told, following, is_over))
        observation = env.reset() if is_over else following


def main():
    options = arguments()
    torch.set_num_threads(1)
    context = mp.get_context("fork")
    transitions = context.Queue(512)
    actors = [
        context.Process(target=act, args=(seed, transitions, options.fixed), daemon=True)
        for seed in range(NUM_ACTORS)
    ]
    for process in actors:
        process.start()
    network = nn.Sequential(nn.Linear(STATE, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        batch = [transitions.get() for _ in range(BATCH)]
        observations, actions, rewards, following, ends = zip(*batch, strict=True)
        rewards = torch.tensor([float(reward) for reward in rewards])
        with torch.no_grad():
            ahead = network(torch.from_numpy(np.stack(following))).max(1).values
        values = network(torch.from_numpy(np.stack(observations)))
        chosen = values.gather(1, torch.tensor(actions)[:, None]).squeeze(1)
        wanted = rewards + 0.99 * ahead * ~torch.tensor(ends)
        optimizer.zero_grad()
        (chosen - wanted).pow(2).mean().backward()
        optimizer.step()
        rlprof.step(BATCH)
        watch.count(BATCH)
    for process in actors:
        process.terminate()
    tell(watch.sps)


if __name__ == "__main__":
    main()
