"""Two actors that write each transition to their files and make sure that it is on the disk.

``--fixed`` lets the operating system write when it likes.
"""

from __future__ import annotations

import csv
import multiprocessing as mp
import os
import tempfile
from pathlib import Path

import gymnasium
import numpy as np

from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_ACTORS = 2
SYNC_EVERY = 32
"""Transitions between two syncs."""


def actor(rank, folder, options, rates):
    env = gymnasium.make("MountainCarContinuous-v0")
    rng = np.random.default_rng(rank)
    observation, _ = env.reset(seed=rank)
    watch = Stopwatch(options.seconds)
    with Path(folder, f"transitions-{rank}.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        while watch.is_running():
            for _ in range(SYNC_EVERY):
                action = rng.uniform(-1.0, 1.0, size=1)
                following, reward, terminated, truncated, _ = env.step(action)
                writer.writerow([*observation.tolist(), float(action[0]), float(reward)])
                observation = env.reset()[0] if terminated or truncated else following
            if not options.fixed:
                file.flush()
                os.fsync(file.fileno())
            watch.count(SYNC_EVERY)
    rates.put(watch.sps)


def main():
    options = arguments()
    context = mp.get_context("fork")
    rates = context.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        actors = [
            context.Process(target=actor, args=(rank, folder, options, rates), daemon=True)
            for rank in range(NUM_ACTORS)
        ]
        for process in actors:
            process.start()
        total = sum(rates.get() for _ in actors)
        for process in actors:
            process.join()
    tell(total)


if __name__ == "__main__":
    main()
