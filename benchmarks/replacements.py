"""What a finding's line takes, and what takes its place: the figures behind some removable parts.

    python benchmarks/replacements.py            # all; those of libraries that are not installed are left out
    python benchmarks/replacements.py slow-call  # of one detector

Fastest of some repeats, on one thread, in µs: what is compared is the work, not the machine's day.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import replaced
import replaced_arrays
import replaced_calls
import replaced_sequences
import torch
from measuring import print_table

REPEATS = 15
LONGEST_S = 0.05
"""Of one repeat, in which as many calls are made as go into it."""


def fastest_us(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    call()
    calls = max(1, min(100, int(LONGEST_S / (time.perf_counter() - started))))
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - started) / calls)
    return 1e6 * min(times)


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rows = []
    wanted = sys.argv[1:]
    modules = (replaced, replaced_arrays, replaced_calls, replaced_sequences)
    groups = [cases for module in modules for cases in module.CASES]
    for case in (case for cases in groups for case in cases()):
        if wanted and case.detector not in wanted:
            continue
        now, instead = fastest_us(case.now), fastest_us(case.instead)
        rows.append(
            [
                f"`{case.detector}`",
                case.what,
                f"{now:.1f}",
                f"{instead:.1f}",
                f"{instead / now:.2f}",
            ]
        )
    print_table(
        "What takes the place of a line, µs", ["detector", "what", "now", "instead", "left"], rows
    )


if __name__ == "__main__":
    main()
