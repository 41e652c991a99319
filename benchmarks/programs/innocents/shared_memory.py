"""Two actors fill slots of shared memory, a learner waits for the next full one and reads it."""

from __future__ import annotations

import multiprocessing as mp

import gymnasium
import numpy as np

from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_ACTORS = 2
SLOTS_EACH = 2
ROLLOUT = 1000


def actor(rank, slots, weights, free, full):
    env = gymnasium.make("Acrobot-v1")
    rng = np.random.default_rng(rank)
    observation, _ = env.reset(seed=rank)
    while (slot := free.get()) is not None:
        policy = weights.copy()
        noise = rng.normal(size=ROLLOUT)
        for t in range(ROLLOUT):
            slots[slot, t, :6] = observation
            action = 1 + int(np.sign(policy @ observation + noise[t]))
            observation, reward, terminated, truncated, _ = env.step(action)
            slots[slot, t, 6] = reward
            if terminated or truncated:
                observation, _ = env.reset()
        full.put(slot)


def main():
    options = arguments()
    context = mp.get_context("fork")
    count = NUM_ACTORS * SLOTS_EACH
    memory = context.RawArray("f", count * ROLLOUT * 7)
    slots = np.frombuffer(memory, dtype=np.float32).reshape(count, ROLLOUT, 7)
    weights = np.frombuffer(context.RawArray("d", 6))
    free, full = context.SimpleQueue(), context.SimpleQueue()
    for slot in range(count):
        free.put(slot)
    actors = [
        context.Process(target=actor, args=(rank, slots, weights, free, full), daemon=True)
        for rank in range(NUM_ACTORS)
    ]
    for process in actors:
        process.start()
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        slot = full.get()
        observations, rewards = slots[slot, :, :6], slots[slot, :, 6]
        weights += 0.001 * observations.T @ (rewards - observations @ weights) / ROLLOUT
        free.put(slot)
        watch.count(ROLLOUT)
    for _ in actors:
        free.put(None)
    for process in actors:
        process.join()
    tell(watch.sps)


if __name__ == "__main__":
    main()
