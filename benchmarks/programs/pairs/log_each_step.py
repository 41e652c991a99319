"""SARSA that writes a log record for each transition, and means to.

``--fixed`` writes one for every thousand.
"""

from __future__ import annotations

import logging
import random
import tempfile
from pathlib import Path

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

logger = logging.getLogger("sarsa")

LENGTH, WIDTH = 12, 4


class CliffWalking:
    def reset(self):
        self.at, self.steps = (0, 0), 0
        return self.at

    def step(self, action):
        right, up = ((1, 0), (0, 1), (-1, 0), (0, -1))[action]
        x = min(max(self.at[0] + right, 0), LENGTH - 1)
        y = min(max(self.at[1] + up, 0), WIDTH - 1)
        self.steps += 1
        if y == 0 and 0 < x < LENGTH - 1:
            self.at = (0, 0)
            return self.at, -100.0, False
        self.at = (x, y)
        return self.at, -1.0, self.at == (LENGTH - 1, 0) or self.steps >= 200


class Sarsa:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.q = {(x, y): [0.0] * 4 for x in range(LENGTH) for y in range(WIDTH)}

    def act(self, state):
        if self.random.random() < 0.1:
            return self.random.randrange(4)
        values = self.q[state]
        return values.index(max(values))

    def learn(self, state, action, reward, following, next_action):
        target = reward + 0.99 * self.q[following][next_action]
        error = target - self.q[state][action]
        self.q[state][action] += 0.1 * error
        return error


def main():
    options = arguments()
    log_every = 1000 if options.fixed else 1
    env, agent = CliffWalking(), Sarsa(0)
    with tempfile.TemporaryDirectory() as folder:
        logging.basicConfig(
            filename=Path(folder, "train.log"),
            level=logging.INFO,
            format="%(asctime)s %(name)s %(levelname)s %(message)s",
        )
        state = env.reset()
        action = agent.act(state)
        watch = Stopwatch(options.seconds)
        while watch.is_running():
            following, reward, done = env.step(action)
            next_action = agent.act(following)
            error = agent.learn(state, action, reward, following, next_action)
            watch.count()
            rlprof.step()
            if watch.steps % log_every == 0:
                logger.info("step %d: error %.3f at %s", watch.steps, error, state)
            state = env.reset() if done else following
            action = agent.act(state) if done else next_action
        logging.shutdown()
    tell(watch.sps)


if __name__ == "__main__":
    main()
