"""PPO-like training that saves model and optimizer after every second update.

``--fixed`` saves them after every hundredth.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import gymnasium
import numpy as np
import torch
from torch import nn

from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_ENVS = 8
HORIZON = 32
HIDDEN = 512


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(4, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, HIDDEN), nn.Tanh()
        )
        self.policy = nn.Linear(HIDDEN, 2)
        self.value = nn.Linear(HIDDEN, 1)

    def forward(self, observations):
        features = self.body(observations)
        return torch.distributions.Categorical(logits=self.policy(features)), self.value(features)


def collect(agent, envs, observations):
    seen = torch.empty(HORIZON, NUM_ENVS, 4)
    actions = torch.empty(HORIZON, NUM_ENVS, dtype=torch.int64)
    rewards = np.empty((HORIZON, NUM_ENVS), dtype=np.float32)
    with torch.no_grad():
        for t in range(HORIZON):
            seen[t] = torch.from_numpy(observations)
            actions[t] = agent(seen[t])[0].sample()
            observations, rewards[t], _, _, _ = envs.step(actions[t].numpy())
    return observations, seen.flatten(0, 1), actions.flatten(), torch.from_numpy(rewards).flatten()


def update(agent, optimizer, observations, actions, rewards):
    policy, values = agent(observations)
    advantages = rewards - values.squeeze(1)
    loss = -(policy.log_prob(actions) * advantages.detach()).mean() + advantages.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def main():
    options = arguments()
    torch.set_num_threads(1)
    save_every = 100 if options.fixed else 2
    envs = gymnasium.make_vec("CartPole-v1", num_envs=NUM_ENVS, vectorization_mode="sync")
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-4)
    observations, _ = envs.reset(seed=0)
    watch = Stopwatch(options.seconds)
    updates = 0
    with tempfile.TemporaryDirectory() as folder:
        while watch.is_running():
            observations, *batch = collect(agent, envs, observations)
            update(agent, optimizer, *batch)
            updates += 1
            if updates % save_every == 0:
                state = {"agent": agent.state_dict(), "optimizer": optimizer.state_dict()}
                torch.save(state, Path(folder, "checkpoint.pt"))
            watch.count(NUM_ENVS * HORIZON)
    tell(watch.sps)


if __name__ == "__main__":
    main()
