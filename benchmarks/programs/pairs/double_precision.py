"""Regression of returns by a network in double precision, since its inputs are numpy's.

``--fixed`` makes the network, and what it is given, of single precision. Nothing else changes.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

INPUTS, WIDTH, BATCH = 32, 256, 256


def main():
    options = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    precision = torch.float32 if options.fixed else torch.float64
    network = nn.Sequential(
        nn.Linear(INPUTS, WIDTH),
        nn.Tanh(),
        nn.Linear(WIDTH, WIDTH),
        nn.Tanh(),
        nn.Linear(WIDTH, 1),
    ).to(precision)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-4, fused=True)
    rng = np.random.default_rng(0)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        batch = torch.as_tensor(rng.normal(size=(BATCH, INPUTS)), dtype=precision)
        returns = batch.sum(dim=1, keepdim=True)
        loss = (network(batch) - returns).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rlprof.step(BATCH)
        watch.count(BATCH)
    tell(watch.sps)


if __name__ == "__main__":
    main()
