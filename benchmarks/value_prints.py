"""How long the agent takes to make the short number by which a value is compared between looks.

python benchmarks/value_prints.py
"""

from __future__ import annotations

import timeit
from statistics import median

import numpy as np
from measuring import machine, print_table

from rlprof.agent.inject.rlprof_agent.value_prints import MOST_LEAVES, print_of

VALUES = {
    "a number": 3,
    "array of 1 000": np.arange(1e3),
    "array of 8 000": np.arange(8e3),
    "array of 500 000": np.arange(5e5),
    "list of 1 000 numbers": list(range(1_000)),
    "grid of 64 × 64 in lists": [[0] * 64 for _ in range(64)],
    "list of 10 000 numbers": list(range(10_000)),
    "list of 1 000 arrays of 100": [np.ones(100)] * 1_000,
    "list of 1 000 rows of two": [[number, 1.0] for number in range(1_000)],
    "dictionary of 1 000 pairs": {number: (number, 1.0) for number in range(1_000)},
}
CALLS, ROUNDS = 20, 7


def row(name: str) -> list[str]:
    value = VALUES[name]
    rounds = timeit.repeat(lambda: print_of(value, [MOST_LEAVES]), number=CALLS, repeat=ROUNDS)
    times = [1e6 * seconds / CALLS for seconds in rounds]
    return [name, f"{median(times):.0f} ({min(times):.0f} to {max(times):.0f})"]


def main() -> None:
    print_table("Prints of values", ["value", "µs"], [row(name) for name in VALUES])
    print(machine())


if __name__ == "__main__":
    main()
