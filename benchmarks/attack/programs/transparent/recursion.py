"""Recurse to the limit, again and again."""

import sys

from busy import work


def deeper(depth):
    work(0.0)
    try:
        return deeper(depth + 1)
    except RecursionError:
        return depth


print(sys.getrecursionlimit(), deeper(0), deeper(0))
sys.setrecursionlimit(5000)
print(deeper(0), len({deeper(0) for _ in range(20)}))
