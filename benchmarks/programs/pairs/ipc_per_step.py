"""Q-learning on eight grid worlds, each in a process of its own behind a pipe.

A step of the environment takes some microseconds, a message and a wake-up take more.
``--fixed`` steps the same environments in this process.
"""

from __future__ import annotations

import multiprocessing as mp

import numpy as np

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_ENVS = 8
SIZE = 12
MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))


class GridWorld:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.walls = {tuple(cell) for cell in self.rng.integers(1, SIZE - 1, (SIZE, 2)).tolist()}
        self.reset()

    def reset(self):
        self.row = self.column = self.steps = 0
        return 0

    def step(self, action):
        down, right = MOVES[action]
        row = min(max(self.row + down, 0), SIZE - 1)
        column = min(max(self.column + right, 0), SIZE - 1)
        if (row, column) not in self.walls:
            self.row, self.column = row, column
        self.steps += 1
        at_goal = self.row == self.column == SIZE - 1
        reward = 1.0 if at_goal else -0.01
        done = at_goal or self.steps >= 200
        observation = self.reset() if done else self.row * SIZE + self.column
        return observation, reward, done, {"length": self.steps}


def env_worker(remote, seed):
    env = GridWorld(seed)
    while True:
        command, data = remote.recv()
        if command == "step":
            remote.send(env.step(data))
        elif command == "reset":
            remote.send(env.reset())
        else:
            remote.close()
            break


class SubprocVecEnv:
    def __init__(self, num_envs):
        context = mp.get_context("fork")
        self.remotes, self.processes = [], []
        for seed in range(num_envs):
            remote, theirs = context.Pipe()
            process = context.Process(target=env_worker, args=(theirs, seed), daemon=True)
            process.start()
            theirs.close()
            self.remotes.append(remote)
            self.processes.append(process)

    def reset(self):
        for remote in self.remotes:
            remote.send(("reset", None))
        return np.array([remote.recv() for remote in self.remotes])

    def step(self, actions):
        for remote, action in zip(self.remotes, actions, strict=True):
            remote.send(("step", action))
        observations, rewards, dones, infos = zip(
            *[remote.recv() for remote in self.remotes], strict=True
        )
        return np.array(observations), np.array(rewards), np.array(dones), infos

    def close(self):
        for remote in self.remotes:
            remote.send(("close", None))
        for process in self.processes:
            process.join()


class DummyVecEnv:
    def __init__(self, num_envs):
        self.envs = [GridWorld(seed) for seed in range(num_envs)]

    def reset(self):
        return np.array([env.reset() for env in self.envs])

    def step(self, actions):
        results = [env.step(action) for env, action in zip(self.envs, actions, strict=True)]
        observations, rewards, dones, infos = zip(*results, strict=True)
        return np.array(observations), np.array(rewards), np.array(dones), infos

    def close(self):
        pass


def train(envs, watch, rng):
    q_values = np.zeros((SIZE * SIZE, len(MOVES)))
    observations = envs.reset()
    while watch.is_running():
        explore = rng.random(NUM_ENVS) < 0.1
        random_actions = rng.integers(len(MOVES), size=NUM_ENVS)
        actions = np.where(explore, random_actions, q_values[observations].argmax(axis=1))
        following, rewards, dones, _ = envs.step(actions.tolist())
        targets = rewards + 0.99 * ~dones * q_values[following].max(axis=1)
        q_values[observations, actions] += 0.1 * (targets - q_values[observations, actions])
        observations = following
        rlprof.step(NUM_ENVS)
        watch.count(NUM_ENVS)


def main():
    options = arguments()
    envs = (DummyVecEnv if options.fixed else SubprocVecEnv)(NUM_ENVS)
    watch = Stopwatch(options.seconds)
    train(envs, watch, np.random.default_rng(0))
    envs.close()
    tell(watch.sps)


if __name__ == "__main__":
    main()
