"""Three actors fill one replay buffer in shared memory and take its lock for each transition.

``--fixed`` collects a rollout first and takes the lock once to store it.
"""

from __future__ import annotations

import math
import multiprocessing as mp

import numpy as np

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_ACTORS = 3
ROLLOUT = 128
CAPACITY = 50_000


class Pendulum:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.reset()

    def reset(self):
        self.angle, self.speed = self.rng.uniform(-1.0, 1.0, size=2).tolist()
        self.steps = 0
        return self.observe()

    def observe(self):
        return math.cos(self.angle), math.sin(self.angle), self.speed

    def step(self, torque):
        cost = self.angle**2 + 0.1 * self.speed**2 + 0.001 * torque**2
        for _ in range(4):  # a finer time step than the agent's
            force = 15.0 * math.sin(self.angle) + 3.0 * torque
            self.speed = min(8.0, max(-8.0, self.speed + force * 0.0125))
            self.angle += self.speed * 0.0125
            self.angle = (self.angle + math.pi) % (2 * math.pi) - math.pi
        self.steps += 1
        return self.observe(), -cost, self.steps >= 200


class SharedReplay:
    """A ring of transitions that all actors write to."""

    def __init__(self, context, capacity):
        self.capacity = capacity
        self.lock = context.Lock()
        self.cursor = context.RawValue("q", 0)
        self.observations = self.shared(context, 3)
        self.next_observations = self.shared(context, 3)
        self.actions = self.shared(context, 1)
        self.rewards = self.shared(context, 1)
        self.dones = self.shared(context, 1)

    def shared(self, context, width):
        memory = context.RawArray("f", self.capacity * width)
        return np.frombuffer(memory, dtype=np.float32).reshape(self.capacity, width)

    def add(self, observation, action, reward, next_observation, done):
        with self.lock:
            at = self.cursor.value % self.capacity
            self.observations[at] = observation
            self.actions[at] = action
            self.rewards[at] = reward
            self.next_observations[at] = next_observation
            self.dones[at] = done
            self.cursor.value += 1

    def extend(self, rollout):
        observations, actions, rewards, next_observations, dones = zip(*rollout, strict=True)
        with self.lock:
            at = np.arange(self.cursor.value, self.cursor.value + len(rollout)) % self.capacity
            self.observations[at] = observations
            self.actions[at, 0] = actions
            self.rewards[at, 0] = rewards
            self.next_observations[at] = next_observations
            self.dones[at, 0] = dones
            self.cursor.value += len(rollout)


def collect_one_by_one(env, policy, observation, replay):
    for _ in range(ROLLOUT):
        action = policy(observation)
        following, reward, done = env.step(action)
        replay.add(observation, action, reward, following, done)
        observation = env.reset() if done else following
    return observation


def collect_rollout(env, policy, observation, replay):
    rollout = []
    for _ in range(ROLLOUT):
        action = policy(observation)
        following, reward, done = env.step(action)
        rollout.append((observation, action, reward, following, done))
        observation = env.reset() if done else following
    replay.extend(rollout)
    return observation


def swing_up(observation):
    cosine, sine, speed = observation
    return max(-2.0, min(2.0, speed if cosine < 0.5 else -8.0 * sine - 2.0 * speed))


def actor(seed, replay, options, rates):
    env = Pendulum(seed)
    collect = collect_rollout if options.fixed else collect_one_by_one
    observation = env.reset()
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        observation = collect(env, swing_up, observation, replay)
        rlprof.step(ROLLOUT)
        watch.count(ROLLOUT)
    rates.put(watch.sps)


def main():
    options = arguments()
    context = mp.get_context("fork")
    replay = SharedReplay(context, CAPACITY)
    rates = context.SimpleQueue()
    actors = [
        context.Process(target=actor, args=(seed, replay, options, rates), daemon=True)
        for seed in range(NUM_ACTORS)
    ]
    for process in actors:
        process.start()
    total = sum(rates.get() for _ in actors)
    for process in actors:
        process.join()
    tell(total)


if __name__ == "__main__":
    main()
