"""One environment worker feeds a learner that is soon done with each rollout; a core is idle.

``--fixed`` starts a second worker.
"""

from __future__ import annotations

import multiprocessing as mp

import gymnasium
import numpy as np
import torch
from torch import nn

from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

ROLLOUT = 256


def collect(env, weights, observation):
    observations = np.empty((ROLLOUT, 4), dtype=np.float32)
    actions = np.empty(ROLLOUT, dtype=np.int64)
    rewards = np.empty(ROLLOUT, dtype=np.float32)
    for t in range(ROLLOUT):
        action = int(weights @ observation + np.random.normal() > 0)
        observations[t], actions[t] = observation, action
        observation, rewards[t], terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            observation, _ = env.reset()
    return observation, (observations, actions, rewards)


def env_worker(seed, connection):
    env = gymnasium.make("CartPole-v1")
    observation, _ = env.reset(seed=seed)
    while True:
        weights = connection.recv()
        if weights is None:
            return
        observation, rollout = collect(env, weights, observation)
        connection.send(rollout)


def update(policy, optimizer, rollout):
    observations, actions, rewards = (torch.from_numpy(part) for part in rollout)
    logits = policy(observations).squeeze(1)
    loss = nn.functional.binary_cross_entropy_with_logits(logits, actions.float(), weight=rewards)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return policy.weight.detach().numpy()[0].copy()


def main():
    options = arguments()
    torch.set_num_threads(1)
    context = mp.get_context("fork")
    connections = []
    for seed in range(2 if options.fixed else 1):
        ours, theirs = context.Pipe()
        context.Process(target=env_worker, args=(seed, theirs), daemon=True).start()
        theirs.close()
        connections.append(ours)
    policy = nn.Linear(4, 1)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    weights = policy.weight.detach().numpy()[0].copy()
    for connection in connections:
        connection.send(weights)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        for connection in connections:
            rollout = connection.recv()
            weights = update(policy, optimizer, rollout)
            connection.send(weights)
            watch.count(ROLLOUT)
    for connection in connections:
        connection.recv()
        connection.send(None)
    tell(watch.sps)


if __name__ == "__main__":
    main()
