"""Updates of a tiny network, a number read after each: as many operations and reads per second as there can be."""

from __future__ import annotations

import argparse

import torch

from benchmarks.programs.stopwatch import Stopwatch, tell


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=30.0)
    seconds = parser.parse_args().seconds
    torch.set_num_threads(1)
    net = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.Tanh(), torch.nn.Linear(64, 4))
    optimizer = torch.optim.Adam(net.parameters())
    batch = torch.ones(64, 8)
    watch = Stopwatch(seconds)
    while watch.is_running():
        loss = net(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.detach().item()
        watch.count()
    tell(watch.sps, cpu_s_per_step=watch.cpu_s_per_step)


if __name__ == "__main__":
    main()
