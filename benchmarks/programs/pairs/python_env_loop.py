"""A2C on 16 gymnasium environments: the policy is asked for one environment at a time.

``--fixed`` asks it once for all of them. The environments stay the same.
"""

from __future__ import annotations

import gymnasium
import numpy as np
import torch
from torch import nn

from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_ENVS = 16
ROLLOUT = 32


def act_one_by_one(policy, observations):
    actions = []
    for observation in observations:
        with torch.no_grad():
            logits = policy(torch.as_tensor(observation, dtype=torch.float32))
        actions.append(int(torch.distributions.Categorical(logits=logits).sample()))
    return actions


def act_batched(policy, observations):
    with torch.no_grad():
        logits = policy(torch.as_tensor(np.stack(observations), dtype=torch.float32))
    return torch.distributions.Categorical(logits=logits).sample().tolist()


def step_all(envs, actions):
    observations, rewards, dones = [], [], []
    for env, action in zip(envs, actions, strict=True):
        observation, reward, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            observation, _ = env.reset()
        observations.append(observation)
        rewards.append(reward)
        dones.append(terminated or truncated)
    return observations, rewards, dones


def discounted(rewards, dones, gamma=0.99):
    returns = np.zeros_like(rewards)
    running = np.zeros(rewards.shape[1], dtype=np.float32)
    for t in reversed(range(len(rewards))):
        running = rewards[t] + gamma * running * ~dones[t]
        returns[t] = running
    return returns


def main():
    options = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    envs = [gymnasium.make("CartPole-v1") for _ in range(NUM_ENVS)]
    policy = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
    policy.append(nn.Linear(64, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4)
    act = act_batched if options.fixed else act_one_by_one
    observations = [env.reset(seed=seed)[0] for seed, env in enumerate(envs)]
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        seen, taken, rewards, dones = [], [], [], []
        for _ in range(ROLLOUT):
            actions = act(policy, observations)
            seen.append(np.stack(observations))
            taken.append(actions)
            observations, reward, done = step_all(envs, actions)
            rewards.append(reward)
            dones.append(done)
        returns = discounted(np.array(rewards, dtype=np.float32), np.array(dones))
        logits = policy(torch.as_tensor(np.stack(seen)))
        log_probs = torch.distributions.Categorical(logits=logits).log_prob(torch.tensor(taken))
        advantages = torch.as_tensor(returns - returns.mean())
        loss = -(log_probs * advantages).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        watch.count(NUM_ENVS * ROLLOUT)
    tell(watch.sps)


if __name__ == "__main__":
    main()
