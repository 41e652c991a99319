"""30 % sleep, 50 % Python, 20 % numpy: a program that knows its own split by the clock.

Each process prints one JSON line of the seconds it spent in each part.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time

import numpy as np

CYCLE_S = 0.1
PARTS = {"sleeping": 0.3, "counting": 0.5, "multiplying": 0.2}

matrix = np.random.default_rng(0).normal(size=(48, 48))


def sleeping(deadline):
    time.sleep(max(0.0, deadline - time.perf_counter()))


def counting(deadline):
    total = 0
    while time.perf_counter() < deadline:
        for number in range(200):
            total += number * number
    return total


def multiplying(deadline):
    product = matrix
    while time.perf_counter() < deadline:
        product = np.tanh(matrix @ product)
    return product


def split(seconds):
    """Seconds spent in each part, by the clock: a part that ran late is booked as long as it took."""
    functions = {"sleeping": sleeping, "counting": counting, "multiplying": multiplying}
    spent = dict.fromkeys(functions, 0.0)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, function in functions.items():
            started = time.perf_counter()
            function(started + PARTS[name] * CYCLE_S)
            spent[name] += time.perf_counter() - started
    # One write: lines of several processes must not mix.
    sys.stdout.write(json.dumps({"pid": os.getpid(), **spent}) + "\n")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--children", type=int, default=0)
    arguments = parser.parse_args()
    context = multiprocessing.get_context("fork")
    children = [
        context.Process(target=split, args=(arguments.seconds,)) for _ in range(arguments.children)
    ]
    for child in children:
        child.start()
    split(arguments.seconds)
    for child in children:
        child.join()


if __name__ == "__main__":
    main()
