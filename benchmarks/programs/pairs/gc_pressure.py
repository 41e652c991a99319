"""Monte-Carlo control that keeps its episodes as Python objects and collects garbage after each.

Each collection walks all transitions ever kept. ``--fixed`` leaves it to Python when to collect.
"""

from __future__ import annotations

import gc
import random
from collections import defaultdict, deque

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

KEPT_TRANSITIONS = 60_000
WIDTH, HEIGHT = 9, 6
MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))


class Transition:
    def __init__(self, state, action, reward):
        self.state = state
        self.action = action
        self.reward = reward


class WindyGrid:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.reset()

    def reset(self):
        self.x = self.y = self.steps = 0
        return 0, 0

    def step(self, action):
        right, up = MOVES[action]
        wind = 1 if 3 <= self.x <= 6 and self.random.random() < 0.5 else 0
        self.x = min(max(self.x + right, 0), WIDTH - 1)
        self.y = min(max(self.y + up + wind, 0), HEIGHT - 1)
        self.steps += 1
        done = (self.x, self.y) == (WIDTH - 2, HEIGHT // 2) or self.steps >= 300
        return (self.x, self.y), -1.0, done


def play(env, q_values, rng):
    episode, state, done = [], env.reset(), False
    while not done:
        values = q_values[state]
        greedy = values.index(max(values))
        action = rng.randrange(len(MOVES)) if rng.random() < 0.2 else greedy
        following, reward, done = env.step(action)
        episode.append(Transition(state, action, reward))
        state = following
    return episode


def learn(q_values, episode):
    value = 0.0
    for transition in reversed(episode):
        value = transition.reward + 0.95 * value
        values = q_values[transition.state]
        values[transition.action] += 0.05 * (value - values[transition.action])


def main():
    options = arguments()
    env = WindyGrid(0)
    rng = random.Random(0)
    q_values = defaultdict(lambda: [0.0] * len(MOVES))
    replay = deque(maxlen=KEPT_TRANSITIONS)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        steps = 0
        while steps < 2000:
            episode = play(env, q_values, rng)
            replay.extend(episode)
            learn(q_values, episode)
            steps += len(episode)
        learn(q_values, [replay[rng.randrange(len(replay))] for _ in range(50)])
        if not options.fixed:
            gc.collect()
        rlprof.step(steps)
        watch.count(steps)
    tell(watch.sps)


if __name__ == "__main__":
    main()
