"""DQN that trains twice on its small memory for each new step.

``--fixed`` trains once in four steps, as DQN does.
"""

from __future__ import annotations

import gymnasium
import numpy as np
import torch
from torch import nn

from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

CAPACITY = 2_000
BATCH = 64


class Replay:
    def __init__(self, observation_size):
        self.size = self.at = 0
        self.observations = np.empty((CAPACITY, observation_size), dtype=np.float32)
        self.next_observations = np.empty((CAPACITY, observation_size), dtype=np.float32)
        self.actions = np.empty(CAPACITY, dtype=np.int64)
        self.rewards = np.empty(CAPACITY, dtype=np.float32)

    def add(self, observation, action, reward, next_observation):
        self.observations[self.at] = observation
        self.actions[self.at] = action
        self.rewards[self.at] = reward
        self.next_observations[self.at] = next_observation
        self.at = (self.at + 1) % CAPACITY
        self.size = min(self.size + 1, CAPACITY)

    def sample(self):
        picked = np.random.randint(self.size, size=BATCH)
        fields = self.observations, self.actions, self.rewards, self.next_observations
        return [torch.from_numpy(field[picked]) for field in fields]


def update(q_network, target, optimizer, batch):
    observations, actions, rewards, next_observations = batch
    with torch.no_grad():
        wanted = rewards + 0.99 * target(next_observations).max(1).values
    predicted = q_network(observations).gather(1, actions[:, None]).squeeze(1)
    loss = nn.functional.mse_loss(predicted, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def network():
    return nn.Sequential(nn.Linear(6, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU()).append(
        nn.Linear(128, 3)
    )


def main():
    options = arguments()
    torch.set_num_threads(1)
    train_every, updates = (4, 1) if options.fixed else (1, 2)
    env = gymnasium.make("Acrobot-v1")
    replay = Replay(observation_size=6)
    q_network, target = network(), network()
    optimizer = torch.optim.Adam(q_network.parameters(), lr=1e-3)
    observation, _ = env.reset(seed=0)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        with torch.no_grad():
            action = int(q_network(torch.from_numpy(observation)).argmax())
        following, reward, terminated, truncated, _ = env.step(action)
        replay.add(observation, action, reward, following)
        observation = env.reset()[0] if terminated or truncated else following
        watch.count()
        if watch.steps % train_every == 0:
            for _ in range(updates):
                update(q_network, target, optimizer, replay.sample())
        if watch.steps % 500 == 0:
            target.load_state_dict(q_network.state_dict())
    tell(watch.sps)


if __name__ == "__main__":
    main()
