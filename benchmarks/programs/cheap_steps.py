"""Steps that take microseconds, in loops as tabular training has them; tells what each took in the second half of its time.

cheap_steps.py corridor 6           # for 6 s of CPU time
"""

from __future__ import annotations

import argparse
import random
import time

from pacing import report


class Corridor:
    """The cheapest environment there is."""

    def __init__(self):
        self.place = 0

    def reset(self):
        self.place = 0
        return self.place

    def step(self, action):
        self.place = place = (self.place + action) % 50
        return place, float(place == 49), place == 49


class Grid:
    def __init__(self):
        self.place = 0

    def reset(self):
        self.place = 0
        return self.place

    def step(self, action):
        row, column = divmod(self.place, 8)
        if action == 0:
            row = min(7, row + 1)
        elif action == 1:
            row = max(0, row - 1)
        elif action == 2:
            column = min(7, column + 1)
        else:
            column = max(0, column - 1)
        self.place = 8 * row + column
        return self.place, -1.0, self.place == 63


class Clock:
    """Whether there is time left, looked at every few thousand steps."""

    def __init__(self, seconds):
        self.until = time.process_time() + seconds
        self.half = None
        self.steps = 0
        self.seconds = seconds

    def goes_on(self, steps):
        self.steps += steps
        now = time.process_time()
        if self.half is None and now > self.until - self.seconds / 2:
            self.half = (now, time.perf_counter(), self.steps)
        return now < self.until

    def tell(self):
        cpu, wall, steps = self.half
        made = self.steps - steps
        report(
            cpu_ns=1e9 * (time.process_time() - cpu) / made,
            sps=made / (time.perf_counter() - wall),
        )


def corridor(clock):
    world = Corridor()
    seen = world.reset()
    while clock.goes_on(5_000):
        for _ in range(5_000):
            move = 1 + seen % 2
            seen, _, over = world.step(move)
            if over:
                seen = world.reset()


def q_learning(clock):
    world, chance = Grid(), random.Random(0)
    values = [[0.0] * 4 for _ in range(64)]
    seen = world.reset()
    while clock.goes_on(2_000):
        for _ in range(2_000):
            row = values[seen]
            move = chance.randrange(4) if chance.random() < 0.1 else row.index(max(row))
            after, gain, over = world.step(move)
            row[move] += 0.1 * (gain + 0.99 * max(values[after]) * (not over) - row[move])
            seen = world.reset() if over else after


def gymnasium_q_learning(clock):
    import gymnasium

    class World(gymnasium.Env):
        observation_space = gymnasium.spaces.Discrete(64)
        action_space = gymnasium.spaces.Discrete(4)

        def __init__(self):
            self.grid = Grid()

        def reset(self, **_options):
            return self.grid.reset(), {}

        def step(self, action):
            place, gain, over = self.grid.step(action)
            return place, gain, over, False, {}

    world, chance = World(), random.Random(0)
    values = [[0.0] * 4 for _ in range(64)]
    seen, _ = world.reset()
    while clock.goes_on(2_000):
        for _ in range(2_000):
            row = values[seen]
            move = chance.randrange(4) if chance.random() < 0.1 else row.index(max(row))
            after, gain, over, _, _ = world.step(move)
            row[move] += 0.1 * (gain + 0.99 * max(values[after]) * (not over) - row[move])
            seen = world.reset()[0] if over else after


def cart_pole(clock):
    import gymnasium

    world = gymnasium.make("CartPole-v1")
    world.reset(seed=0)
    while clock.goes_on(500):
        for number in range(500):
            _, _, over, cut, _ = world.step(number % 2)
            if over or cut:
                world.reset()


LOOPS = {
    "corridor": corridor,
    "q_learning": q_learning,
    "gymnasium_q_learning": gymnasium_q_learning,
    "cart_pole": cart_pole,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loop", choices=LOOPS)
    parser.add_argument("seconds", type=float)
    arguments = parser.parse_args()
    clock = Clock(arguments.seconds)
    LOOPS[arguments.loop](clock)
    clock.tell()


if __name__ == "__main__":
    main()
