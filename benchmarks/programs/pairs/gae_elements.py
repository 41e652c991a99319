"""PPO on sixteen carts: the advantages are reckoned in torch, number by number, one cart after the other.

``--fixed`` reckons rows of all carts in numpy. The function's parameters do not say that they are tensors.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

CARTS = 16
ROLLOUT = 64
GAMMA = 0.99
LAMBDA = 0.95


class Carts:
    """Poles on carts, all at once."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.state = np.zeros((CARTS, 4))

    @property
    def observation(self):
        return torch.from_numpy(self.state.astype(np.float32))

    def step(self, action):
        force = np.where(action == 1, 10.0, -10.0)
        _, speed, angle, turn = self.state.T
        push = (force + 0.05 * turn**2 * np.sin(angle)) / 1.1
        bend = 9.8 * np.sin(angle) - np.cos(angle) * push
        bend /= 0.5 * (4 / 3 - 0.1 * np.cos(angle) ** 2 / 1.1)
        self.state = self.state + 0.02 * np.stack([speed, push, turn, bend], axis=1)
        done = (np.abs(self.state[:, 0]) > 2.4) | (np.abs(self.state[:, 2]) > 0.2)
        self.state[done] = self.rng.uniform(-0.05, 0.05, (done.sum(), 4))
        return torch.ones(CARTS), torch.from_numpy(done).float()


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.policy = nn.Linear(64, 2)
        self.value = nn.Linear(64, 1)

    def forward(self, observations):
        features = self.body(observations)
        return self.policy(features).log_softmax(-1), self.value(features).squeeze(-1)


def by_number(rewards, values, dones, last):
    turns, carts = rewards.shape
    advantages = torch.zeros(turns, carts)
    for cart in range(carts):
        running = 0.0
        for turn in reversed(range(turns)):
            follow = last[cart] if turn == turns - 1 else values[turn + 1, cart]
            alive = 1.0 - dones[turn, cart]
            delta = rewards[turn, cart] + GAMMA * follow * alive - values[turn, cart]
            running = delta + GAMMA * LAMBDA * alive * running
            advantages[turn, cart] = running
    return advantages


def by_row(rewards, values, dones, last):
    rewards, values, dones, last = (tensor.numpy() for tensor in (rewards, values, dones, last))
    following = np.concatenate([values[1:], last[None]])
    alive = 1.0 - dones
    deltas = rewards + GAMMA * following * alive - values
    advantages = np.zeros_like(rewards)
    running = np.zeros(rewards.shape[1], np.float32)
    for turn in reversed(range(len(rewards))):
        running = deltas[turn] + GAMMA * LAMBDA * alive[turn] * running
        advantages[turn] = running
    return torch.from_numpy(advantages)


def collect(model, env, reckon):
    rows = []
    for _ in range(ROLLOUT):
        observation = env.observation
        log_probs, value = model(observation)
        action = torch.multinomial(log_probs.exp(), 1).squeeze(1)
        chosen = log_probs.gather(1, action[:, None]).squeeze(1)
        rows.append((observation, action, chosen, value, *env.step(action.numpy())))
    observations, actions, chosen, values, rewards, dones = map(
        torch.stack, zip(*rows, strict=True)
    )
    advantages = reckon(rewards, values, dones, model(env.observation)[1])
    returns = advantages + values
    return [tensor.flatten(0, 1) for tensor in (observations, actions, chosen, advantages, returns)]


def update(model, optimizer, batch):
    for _ in range(4):
        for rows in torch.randperm(len(batch[0])).split(len(batch[0]) // 4):
            observations, actions, chosen, advantages, returns = (tensor[rows] for tensor in batch)
            log_probs, values = model(observations)
            ratio = (log_probs.gather(1, actions[:, None]).squeeze(1) - chosen).exp()
            gain = torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
            loss = (values - returns).pow(2).mean() - gain.mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def main():
    options = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4, fused=True)
    env = Carts(0)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        with torch.no_grad():
            batch = collect(model, env, by_row if options.fixed else by_number)
        update(model, optimizer, batch)
        rlprof.step(CARTS * ROLLOUT)
        watch.count(CARTS * ROLLOUT)
    tell(watch.sps)


if __name__ == "__main__":
    main()
