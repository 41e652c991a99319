"""Actor-critic on environments vectorised in numpy: large batches, one process, no Python loop."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_ENVS = 2048
HORIZON = 16


class Pendulums:
    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.angles = rng.uniform(-np.pi, np.pi, NUM_ENVS)
        self.speeds = rng.uniform(-1.0, 1.0, NUM_ENVS)

    def observe(self):
        observations = np.stack([np.cos(self.angles), np.sin(self.angles), self.speeds], axis=1)
        return torch.from_numpy(observations.astype(np.float32))

    def step(self, torques):
        costs = self.angles**2 + 0.1 * self.speeds**2 + 0.001 * torques**2
        forces = 15.0 * np.sin(self.angles) + 3.0 * np.clip(torques, -2.0, 2.0)
        self.speeds = np.clip(self.speeds + 0.05 * forces, -8.0, 8.0)
        self.angles = (self.angles + 0.05 * self.speeds + np.pi) % (2 * np.pi) - np.pi
        return torch.from_numpy(-costs.astype(np.float32))


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh())
        self.mean = nn.Linear(128, 1)
        self.value = nn.Linear(128, 1)

    def forward(self, observations):
        features = self.body(observations)
        return self.mean(features).squeeze(1), self.value(features).squeeze(1)


def main():
    options = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    envs, model = Pendulums(0), ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4, fused=True)
    observations = envs.observe()
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        log_probs, values, rewards = [], [], []
        for _ in range(HORIZON):
            means, value = model(observations)
            policy = torch.distributions.Normal(means, 0.5, validate_args=False)
            torques = policy.sample()
            rewards.append(envs.step(torques.numpy()))
            log_probs.append(policy.log_prob(torques))
            values.append(value)
            observations = envs.observe()
            rlprof.step(NUM_ENVS)
            watch.count(NUM_ENVS)
        advantages = torch.stack(rewards) - torch.stack(values)
        loss = -(torch.stack(log_probs) * advantages.detach()).mean() + advantages.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    tell(watch.sps)


if __name__ == "__main__":
    main()
