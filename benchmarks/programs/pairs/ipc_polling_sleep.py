"""A learner that looks for rollouts every millisecond: the usual suspect, which costs nothing.

Two environment workers keep both cores busy, and the learner sleeps while it waits. ``--fixed``
waits in ``get`` instead.
"""

from __future__ import annotations

import multiprocessing as mp
import queue
import time

import gymnasium
import numpy as np

from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_WORKERS = 2
ROLLOUT = 500


def rollout_worker(seed, rollouts, stop):
    env = gymnasium.make("Acrobot-v1")
    env.action_space.seed(seed)
    observation, _ = env.reset(seed=seed)
    while not stop.is_set():
        observations = np.empty((ROLLOUT, *env.observation_space.shape), dtype=np.float32)
        rewards = np.empty(ROLLOUT, dtype=np.float32)
        for t in range(ROLLOUT):
            observations[t] = observation
            observation, rewards[t], terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                observation, _ = env.reset()
        rollouts.put((observations, rewards))
    rollouts.cancel_join_thread()


def next_rollout_polling(rollouts):
    while True:
        try:
            return rollouts.get_nowait()
        except queue.Empty:
            time.sleep(0.001)


def next_rollout_waiting(rollouts):
    return rollouts.get()


def main():
    options = arguments()
    context = mp.get_context("fork")
    rollouts, stop = context.Queue(), context.Event()
    workers = [
        context.Process(target=rollout_worker, args=(seed, rollouts, stop), daemon=True)
        for seed in range(NUM_WORKERS)
    ]
    for worker in workers:
        worker.start()
    next_rollout = next_rollout_waiting if options.fixed else next_rollout_polling
    weights = np.zeros(6)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        observations, rewards = next_rollout(rollouts)
        errors = rewards + 0.99 * observations @ weights - observations @ weights
        weights += 0.01 * observations.T @ errors / ROLLOUT
        watch.count(ROLLOUT)
    stop.set()
    for worker in workers:
        worker.join()
    tell(watch.sps)


if __name__ == "__main__":
    main()
