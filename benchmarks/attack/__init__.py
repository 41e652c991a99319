"""Attacks on rlprof: whatever is done to it, the target must be as it is without.

``python -m benchmarks.attack --seed 1`` tries all rows; docs/reliability.md holds what came of it.
"""
