"""A synchronous collector whose main process asks two busy workers again and again: done yet?

Two workers fill two cores, so the asking takes their CPU time. ``--fixed`` sleeps until a
worker has something to say.
"""

from __future__ import annotations

import math
import multiprocessing as mp
import random

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_WORKERS = 2
FRAMES_PER_WORKER = 400


class Acrobot:
    """Two links, integrated with a small time step in plain Python."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.reset()

    def reset(self):
        self.angles = [self.random.uniform(-0.1, 0.1) for _ in range(2)]
        self.speeds = [0.0, 0.0]
        self.steps = 0

    def step(self, torque):
        for _ in range(8):
            first, second = self.angles
            coupling = math.cos(second)
            pull = 9.8 * math.sin(first) + 4.9 * math.sin(first + second)
            accelerations = (-pull - coupling * torque) / 2, torque - 0.5 * pull * coupling
            for joint in range(2):
                self.speeds[joint] = 0.999 * self.speeds[joint] + 0.02 * accelerations[joint]
                self.angles[joint] += 0.02 * self.speeds[joint]
        self.steps += 1
        if self.steps >= 500:
            self.reset()
        return -math.cos(self.angles[0]) - math.cos(sum(self.angles))


def worker(seed, wanted, finished, stop, returns):
    env = Acrobot(seed)
    rng = random.Random(seed)
    while True:
        wanted.wait()
        wanted.clear()
        if stop.is_set():
            return
        total = sum(env.step(rng.choice((-1.0, 0.0, 1.0))) for _ in range(FRAMES_PER_WORKER))
        returns[seed] = total / FRAMES_PER_WORKER
        finished.set()


class Collector:
    def __init__(self, fixed):
        context = mp.get_context("fork")
        self.returns = context.RawArray("d", NUM_WORKERS)
        self.stop = context.Event()
        self.wanted = [context.Event() for _ in range(NUM_WORKERS)]
        self.finished = [context.Event() for _ in range(NUM_WORKERS)]
        self.wait_for = self.wait if fixed else self.poll
        self.processes = []
        for rank in range(NUM_WORKERS):
            events = self.wanted[rank], self.finished[rank], self.stop
            process = context.Process(
                target=worker, args=(rank, *events, self.returns), daemon=True
            )
            process.start()
            self.processes.append(process)

    def poll(self, rank):
        while not self.finished[rank].is_set():
            if not self.processes[rank].is_alive():
                raise RuntimeError(f"worker {rank} died")

    def wait(self, rank):
        while not self.finished[rank].wait(timeout=1.0):
            if not self.processes[rank].is_alive():
                raise RuntimeError(f"worker {rank} died")

    def collect(self):
        for event in self.wanted:
            event.set()
        for rank in range(NUM_WORKERS):
            self.wait_for(rank)
            self.finished[rank].clear()
        return list(self.returns)

    def close(self):
        self.stop.set()
        for event in self.wanted:
            event.set()
        for process in self.processes:
            process.join()


def main():
    options = arguments()
    collector = Collector(options.fixed)
    watch = Stopwatch(options.seconds)
    best = -math.inf
    while watch.is_running():
        best = max(best, *collector.collect())
        rlprof.step(NUM_WORKERS * FRAMES_PER_WORKER)
        watch.count(NUM_WORKERS * FRAMES_PER_WORKER)
    collector.close()
    tell(watch.sps)


if __name__ == "__main__":
    main()
