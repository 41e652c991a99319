"""A critic learns from a memory, and after each update a ledger of its own notes how its weights and the errors of the last steps are spread.

``--fixed`` notes it after every fiftieth. Nothing else changes.
"""

from __future__ import annotations

import random
from collections import deque

import numpy as np
import torch

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

LONGEST = 150


class Drift:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.at, self.left = self.rng.normal(size=6).astype(np.float32), LONGEST
        return self.at

    def step(self, action):
        wind = self.rng.normal(size=6).astype(np.float32)
        self.at = 0.9 * self.at + 0.1 * wind + 0.01 * (action - 1)
        self.left -= 1
        return self.at, -float(abs(self.at[0])), self.left == 0, {}


class Ledger:
    def __init__(self):
        self.pages = {}

    def enter(self, title, numbers):
        counts, edges = np.histogram(numbers, bins=48)
        self.pages.setdefault(title, deque(maxlen=20)).append((counts, edges, numbers.std()))


class Learner:
    def __init__(self):
        self.critic = torch.nn.Sequential(
            torch.nn.Linear(6, 64), torch.nn.ReLU(), torch.nn.Linear(64, 3)
        )
        self.optimizer = torch.optim.Adam(self.critic.parameters(), 1e-3)
        self.memory = deque(maxlen=5_000)
        self.ledger = Ledger()

    def act(self, at, rng):
        if rng.random() < 0.1:
            return rng.randrange(3)
        with torch.no_grad():
            return int(self.critic(torch.from_numpy(at)).argmax())

    def surprise(self, rows):
        before, actions, rewards, after = (np.array(column) for column in zip(*rows, strict=True))
        with torch.no_grad():
            ahead = self.critic(torch.from_numpy(after)).max(1).values
        goal = torch.as_tensor(rewards, dtype=torch.float32) + 0.95 * ahead
        told = self.critic(torch.from_numpy(before))
        return goal - told.gather(1, torch.as_tensor(actions)[:, None]).squeeze(1)

    def learn(self, rng):
        loss = self.surprise(rng.sample(self.memory, 32)).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def look(self):
        for name, weights in self.critic.named_parameters():
            self.ledger.enter(name, weights.detach().numpy().ravel())
        with torch.no_grad():
            last = [self.memory[-1 - back] for back in range(200)]
            self.ledger.enter("surprise", self.surprise(last).numpy())


def main():
    options = arguments()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rng = random.Random(0)
    learner, drift = Learner(), Drift(0)
    watch = Stopwatch(options.seconds)
    at, steps, updates = drift.reset(), 0, 0
    while watch.is_running():
        action = learner.act(at, rng)
        after, reward, is_over, _ = drift.step(action)
        learner.memory.append((at, action, reward, after))
        at = drift.reset() if is_over else after
        steps += 1
        rlprof.step()
        watch.count(1)
        if steps > 500 and steps % 2 == 0:
            learner.learn(rng)
            updates += 1
            if updates % (50 if options.fixed else 1) == 0:
                learner.look()
    tell(watch.sps)


if __name__ == "__main__":
    main()
