"""What a finding's line takes, and what takes its place: the figures behind some removable parts.

    python benchmarks/replacements.py

Fastest of some repeats, on one thread, in µs: what is compared is the work, not the machine's day.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from measuring import print_table

REPEATS = 15
CALLS = 100


class Replacement(NamedTuple):
    detector: str
    what: str
    now: Callable[[], Any]
    instead: Callable[[], Any]


def tensors_of_lists() -> Iterator[Replacement]:
    for rows, width in ((32, 4), (128, 4), (128, 64)):
        items = [np.random.randn(width).astype(np.float32) for _ in range(rows)]
        yield Replacement(
            "tensor-from-list",
            f"{rows} arrays of {width}",
            lambda items=items: torch.tensor(items),
            lambda items=items: torch.as_tensor(np.array(items)),
        )
    for length in (128, 2048):
        numbers = np.random.randn(length).tolist()
        yield Replacement(
            "tensor-from-list",
            f"{length} floats",
            lambda numbers=numbers: torch.tensor(numbers),
            lambda numbers=numbers: torch.as_tensor(np.array(numbers, dtype=np.float32)),
        )


def distributions() -> Iterator[Replacement]:
    logits, mean, scale = torch.randn(16, 4), torch.randn(16, 4), torch.rand(16, 4) + 0.1
    for name, made in (
        (
            "Categorical",
            lambda checks: torch.distributions.Categorical(logits=logits, validate_args=checks),
        ),
        ("Normal", lambda checks: torch.distributions.Normal(mean, scale, validate_args=checks)),
    ):
        checked, unchecked = made(True), made(False)
        value = checked.sample()
        yield Replacement(
            "distribution-validation",
            f"{name}, made",
            lambda m=made: m(True),
            lambda m=made: m(False),
        )
        yield Replacement(
            "distribution-validation",
            f"{name}.log_prob",
            lambda d=checked, v=value: d.log_prob(v),
            lambda d=unchecked, v=value: d.log_prob(v),
        )


def stores() -> Iterator[Replacement]:
    capacity, batch = 50_000, 128
    wide = [np.zeros((capacity, 3), dtype=np.float32) for _ in range(2)]
    narrow = [np.zeros((capacity, 1), dtype=np.float32) for _ in range(3)]
    rollout = [((1.0, 2.0, 3.0), (1.0, 2.0, 3.0), 0.3, -1.0, False)] * batch

    def one_by_one() -> None:
        for at, fields in enumerate(rollout):
            for array, field in zip((*wide, *narrow), fields, strict=True):
                array[at] = field

    def at_once() -> None:
        at = np.arange(batch) % capacity
        fields = list(zip(*rollout, strict=True))
        for array, field in zip(wide, fields[:2], strict=True):
            array[at] = field
        for array, field in zip(narrow, fields[2:], strict=True):
            array[at, 0] = field

    yield Replacement(
        "lock-contention", "128 transitions of five fields stored", one_by_one, at_once
    )


def fastest_us(call: Callable[[], Any]) -> float:
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        for _ in range(CALLS):
            call()
        times.append((time.perf_counter() - started) / CALLS)
    return 1e6 * min(times)


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rows = []
    for case in (*tensors_of_lists(), *distributions(), *stores()):
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
