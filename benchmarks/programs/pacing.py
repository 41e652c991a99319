"""Make steps for a while and report on it: what all programs here do."""

from __future__ import annotations

import json
import os
import time

CHUNK = 64
"""Steps between two looks at the clock."""


def make_steps(seconds, step):
    """Call ``step`` for ``seconds``; returns the number of steps, and wall and CPU seconds."""
    steps = 0
    wall, cpu = time.perf_counter(), time.process_time()
    deadline = wall + seconds
    while time.perf_counter() < deadline:
        for _ in range(CHUNK):
            step()
        steps += CHUNK
    return {
        "steps": steps,
        "wall_s": time.perf_counter() - wall,
        "cpu_s": time.process_time() - cpu,
    }


def announce():
    """Say that the steady part begins, for those who attach to it."""
    print(f"ready {os.getpid()}", flush=True)


def report(**values):
    print(json.dumps(values), flush=True)


class Clocked:
    """Adds up the time of calls of a function: the truth about a line, from inside."""

    def __init__(self, function):
        self.function = function
        self.spent_ns = 0

    def __call__(self, *arguments):
        started = time.perf_counter_ns()
        try:
            return self.function(*arguments)
        finally:
            self.spent_ns += time.perf_counter_ns() - started
