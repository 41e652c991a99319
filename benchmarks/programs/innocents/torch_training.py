"""Behavioural cloning of an expert from arrays in memory: all time is in the network."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

EXPERT_STEPS = 50_000
BATCH = 512


def expert_data(rng):
    observations = rng.normal(size=(EXPERT_STEPS, 48)).astype(np.float32)
    actions = np.tanh(observations @ rng.normal(size=(48, 8)).astype(np.float32))
    return torch.from_numpy(observations), torch.from_numpy(actions)


def main():
    options = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    observations, actions = expert_data(np.random.default_rng(0))
    policy = nn.Sequential(nn.Linear(48, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU())
    policy.append(nn.Linear(512, 8))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3, fused=True)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        for picked in torch.randperm(EXPERT_STEPS).split(BATCH):
            loss = nn.functional.mse_loss(policy(observations[picked]), actions[picked])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            rlprof.step(len(picked))
            watch.count(len(picked))
            if not watch.is_running():
                break
    tell(watch.sps)


if __name__ == "__main__":
    main()
