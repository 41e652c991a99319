"""Tabular Q-learning in small Python calls, alone or in busy workers: each tells the pace of its second half.

python benchmarks/programs/grid_worlds.py --workers 8 --seconds 30
"""

from __future__ import annotations

import argparse
import multiprocessing
from multiprocessing.queues import SimpleQueue

from call_heavy import Learner

from benchmarks.programs.stopwatch import Stopwatch, tell

CHUNK = 64
"""Steps between two looks at the clock."""


def learn(seed: int, seconds: float) -> Stopwatch:
    learner = Learner(seed)
    watch = Stopwatch(seconds)
    while watch.is_running():
        for _ in range(CHUNK):
            learner.step()
        watch.count(CHUNK)
    return watch


def work(seed: int, seconds: float, results: SimpleQueue[tuple[float, int]]) -> None:
    watch = learn(seed, seconds)
    results.put((watch.sps, watch.steps))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--workers", type=int, default=0, help="0: in the main process")
    arguments = parser.parse_args()
    if not arguments.workers:
        watch = learn(0, arguments.seconds)
        tell(watch.sps, cpu_s_per_step=watch.cpu_s_per_step)
        return
    whole = Stopwatch(arguments.seconds)
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    workers = [
        context.Process(target=work, args=(seed, arguments.seconds, results))
        for seed in range(arguments.workers)
    ]
    for worker in workers:
        worker.start()
    rates = []
    for _ in workers:
        sps, steps = results.get()
        rates.append(sps)
        whole.count(steps)
    for worker in workers:
        worker.join()
    tell(sum(rates), cpu_s_per_step=whole.cpu_s_per_step)


if __name__ == "__main__":
    main()
