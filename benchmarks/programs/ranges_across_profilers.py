"""Ranges that begin under one profiler of torch and end under the next: no rlprof anywhere, and torch 2.13 dies of it."""

from __future__ import annotations

from torch.profiler import ProfilerActivity, profile, record_function

RANGES = 50
ROUNDS = 30

kept = []
for _ in range(ROUNDS):
    with profile(activities=[ProfilerActivity.CPU]):
        ranges = [record_function("range") for _ in range(RANGES)]
        for each in ranges:
            each.__enter__()
    # What is allocated here lies where the first profiler kept its ranges.
    kept.append([bytes(size) for size in range(100, 3000)])
    with profile(activities=[ProfilerActivity.CPU]):
        for each in reversed(ranges):
            each.__exit__(None, None, None)
print("no crash")
