"""Two workers send stacks of image observations through a queue.

``--fixed`` writes them into shared memory and sends the number of the slot.
"""

from __future__ import annotations

import multiprocessing as mp

import numpy as np

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_WORKERS = 2
ROLLOUT = 32
FRAMES = (84, 84, 4)
SLOTS = 6


class Breakout:
    """Draws a paddle and a ball into the newest of four frames."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.frames = np.zeros(FRAMES, dtype=np.uint8)
        self.ball = self.rng.integers(10, 70, size=2)
        self.direction = np.array([1, 1])
        self.paddle = 40

    def step(self, action):
        self.paddle = min(76, max(0, self.paddle + 2 * (action - 1)))
        self.ball += self.direction
        self.direction[(self.ball <= 0) | (self.ball >= 80)] *= -1
        self.frames[..., :3] = self.frames[..., 1:]
        self.frames[..., 3] = 0
        self.frames[self.ball[0] : self.ball[0] + 3, self.ball[1] : self.ball[1] + 3, 3] = 255
        self.frames[81:83, self.paddle : self.paddle + 8, 3] = 200
        return self.frames, float(self.ball[0] > 78)


def collect(env, rng, observations):
    rewards = np.empty(ROLLOUT, dtype=np.float32)
    for t in range(ROLLOUT):
        observations[t], rewards[t] = env.step(int(rng.integers(3)))
        rlprof.step()
    return rewards


def sending_worker(seed, rollouts):
    env, rng = Breakout(seed), np.random.default_rng(seed)
    while True:
        observations = np.empty((ROLLOUT, *FRAMES), dtype=np.uint8)
        rewards = collect(env, rng, observations)
        rollouts.put((observations, rewards))


def sharing_worker(seed, rollouts, slots, free):
    env, rng = Breakout(seed), np.random.default_rng(seed)
    while True:
        slot = free.get()
        rewards = collect(env, rng, slots[slot])
        rollouts.put((slot, rewards))


def start(options, context):
    """The queue of rollouts, and for shared memory the slots and the queue of free ones."""
    rollouts = context.Queue(maxsize=SLOTS)
    if not options.fixed:
        targets = [(sending_worker, (seed, rollouts)) for seed in range(NUM_WORKERS)]
        slots = free = None
    else:
        memory = context.RawArray("B", SLOTS * ROLLOUT * int(np.prod(FRAMES)))
        slots = np.frombuffer(memory, dtype=np.uint8).reshape(SLOTS, ROLLOUT, *FRAMES)
        free = context.Queue()
        for slot in range(SLOTS):
            free.put(slot)
        targets = [(sharing_worker, (seed, rollouts, slots, free)) for seed in range(NUM_WORKERS)]
    workers = [context.Process(target=target, args=args, daemon=True) for target, args in targets]
    for worker in workers:
        worker.start()
    return workers, rollouts, slots, free


def main():
    options = arguments()
    workers, rollouts, slots, free = start(options, mp.get_context("fork"))
    values = np.zeros(FRAMES[:2])
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        observations, rewards = rollouts.get()
        slot = None
        if slots is not None:
            slot, observations = observations, slots[observations]
        values += 0.01 * (observations[::8, ..., 3].mean(axis=0) * rewards.mean() - values)
        if free is not None:
            free.put(slot)
        watch.count(ROLLOUT)
    for worker in workers:
        worker.terminate()
        worker.join()
    tell(watch.sps)


if __name__ == "__main__":
    main()
