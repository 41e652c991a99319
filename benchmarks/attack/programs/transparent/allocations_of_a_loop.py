"""Count the references and blocks of a loop that keeps nothing."""

import gc
import sys

from busy import work


class Observation:
    pass


def loop():
    held = Observation()
    for _ in range(10):
        work(0.03)
    return sys.getrefcount(held)


print(loop())
gc.collect()
print(sum(isinstance(thing, Observation) for thing in gc.get_objects()))
