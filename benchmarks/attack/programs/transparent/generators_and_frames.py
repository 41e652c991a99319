"""Finalise generators and weak references at their time."""

import sys
import weakref

from busy import work

order = []


class Buffer:
    def __del__(self):
        order.append("buffer")


def rollout():
    try:
        while True:
            yield
    finally:
        order.append("generator")


for number in range(20):
    steps = rollout()
    next(steps)
    buffer = Buffer()
    watched = weakref.ref(buffer, lambda _: order.append("weak"))
    work(0.02)
    del buffer, steps
    order.append(number)
print(order, sys.exc_info())
