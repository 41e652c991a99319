"""PPO in one file, eight CartPoles in gymnasium's asynchronous vector environment, as many threads of torch as it likes.

``--fixed`` is gymnasium's synchronous one. Nothing here knows of rlprof.
"""

from __future__ import annotations

import gymnasium
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_ENVS = 8
ROLLOUT = 128
GAMMA = 0.99
LAMBDA = 0.95


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor, self.critic = (
            nn.Sequential(
                nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs)
            )
            for outputs in (2, 1)
        )

    def forward(self, observations):
        policy = Categorical(logits=self.actor(observations), validate_args=False)
        return policy, self.critic(observations).squeeze(-1)


def collect(agent, envs, observation):
    rows = []
    for _ in range(ROLLOUT):
        policy, value = agent(torch.from_numpy(observation))
        action = policy.sample()
        following, reward, terminated, truncated, _ = envs.step(action.numpy())
        done = (terminated | truncated).astype(np.float32)
        chosen = policy.log_prob(action)
        rows.append((observation, action, chosen, value.numpy(), reward.astype(np.float32), done))
        observation = following
    return rows, observation


def advantages_of(values, rewards, dones, last):
    advantages = np.zeros_like(rewards)
    running = np.zeros(NUM_ENVS, np.float32)
    for t in reversed(range(ROLLOUT)):
        following = last if t == ROLLOUT - 1 else values[t + 1]
        delta = rewards[t] + GAMMA * following * (1 - dones[t]) - values[t]
        running = delta + GAMMA * LAMBDA * (1 - dones[t]) * running
        advantages[t] = running
    return advantages


def update(agent, optimizer, batch):
    for _ in range(4):
        for rows in torch.randperm(len(batch[0])).split(len(batch[0]) // 4):
            observations, actions, chosen, advantages, returns = (tensor[rows] for tensor in batch)
            policy, values = agent(observations)
            ratio = (policy.log_prob(actions) - chosen).exp()
            gain = torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
            loss = 0.5 * (values - returns).pow(2).mean() - gain.mean()
            loss -= 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


def main():
    options = arguments()
    mode = "sync" if options.fixed else "async"
    envs = gymnasium.make_vec("CartPole-v1", num_envs=NUM_ENVS, vectorization_mode=mode)
    torch.manual_seed(0)
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-4, fused=True)
    observation, _ = envs.reset(seed=0)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        with torch.no_grad():
            rows, observation = collect(agent, envs, observation)
            _, last = agent(torch.from_numpy(observation))
        columns = list(zip(*rows, strict=True))
        observations, values, rewards, dones = (np.stack(columns[i]) for i in (0, 3, 4, 5))
        advantages = advantages_of(values, rewards, dones, last.numpy())
        arrays = (observations, advantages, advantages + values)
        inputs, gains, returns = (torch.from_numpy(array).flatten(0, 1) for array in arrays)
        actions, chosen = (torch.cat(columns[i]) for i in (1, 2))
        update(agent, optimizer, (inputs, actions, chosen, gains, returns))
        watch.count(NUM_ENVS * ROLLOUT)
    envs.close()
    tell(watch.sps)


if __name__ == "__main__":
    main()
