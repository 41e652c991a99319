"""DQN with a replay memory of tuples in a deque, sampled and stacked for each batch.

``--fixed`` keeps one preallocated array per field and picks the batch by index.
"""

from __future__ import annotations

import random
from collections import deque

import gymnasium
import numpy as np
import torch
from torch import nn

from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

CAPACITY = 20_000
BATCH = 256
TRAIN_EVERY = 4


class DequeReplay:
    def __init__(self, capacity):
        self.memory = deque(maxlen=capacity)

    def add(self, *transition):
        self.memory.append(transition)

    def __len__(self):
        return len(self.memory)

    def sample(self, batch_size):
        batch = random.sample(self.memory, batch_size)
        observations, actions, rewards, next_observations, dones = zip(*batch, strict=True)
        return (
            torch.from_numpy(np.stack(observations)),
            torch.tensor(actions),
            torch.tensor(rewards, dtype=torch.float32),
            torch.from_numpy(np.stack(next_observations)),
            torch.tensor(dones, dtype=torch.float32),
        )


class ArrayReplay:
    def __init__(self, capacity):
        self.capacity, self.size, self.at = capacity, 0, 0
        self.observations = np.empty((capacity, 4), dtype=np.float32)
        self.actions = np.empty(capacity, dtype=np.int64)
        self.rewards = np.empty(capacity, dtype=np.float32)
        self.next_observations = np.empty((capacity, 4), dtype=np.float32)
        self.dones = np.empty(capacity, dtype=np.float32)

    def add(self, observation, action, reward, next_observation, done):
        at = self.at
        self.observations[at] = observation
        self.actions[at] = action
        self.rewards[at] = reward
        self.next_observations[at] = next_observation
        self.dones[at] = done
        self.at = (at + 1) % self.capacity
        self.size = min(self.size + 1, self.capacity)

    def __len__(self):
        return self.size

    def sample(self, batch_size):
        picked = np.random.randint(self.size, size=batch_size)
        fields = self.observations, self.actions, self.rewards, self.next_observations, self.dones
        return tuple(torch.from_numpy(field[picked]) for field in fields)


def update(q_network, target, optimizer, batch):
    observations, actions, rewards, next_observations, dones = batch
    with torch.no_grad():
        wanted = rewards + 0.99 * (1 - dones) * target(next_observations).max(1).values
    predicted = q_network(observations).gather(1, actions[:, None]).squeeze(1)
    loss = nn.functional.smooth_l1_loss(predicted, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def network():
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))


def main():
    options = arguments()
    torch.set_num_threads(1)
    env = gymnasium.make("CartPole-v1")
    replay = (ArrayReplay if options.fixed else DequeReplay)(CAPACITY)
    q_network, target = network(), network()
    optimizer = torch.optim.Adam(q_network.parameters(), lr=1e-3)
    observation, _ = env.reset(seed=0)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        if random.random() < 0.5:
            action = random.randrange(2)
        else:
            with torch.no_grad():
                action = int(q_network(torch.from_numpy(observation)).argmax())
        following, reward, terminated, truncated, _ = env.step(action)
        replay.add(observation, action, reward, following, terminated)
        observation = env.reset()[0] if terminated or truncated else following
        watch.count()
        if len(replay) >= 1000 and watch.steps % TRAIN_EVERY == 0:
            update(q_network, target, optimizer, replay.sample(BATCH))
        if watch.steps % 1000 == 0:
            target.load_state_dict(q_network.state_dict())
    tell(watch.sps)


if __name__ == "__main__":
    main()
