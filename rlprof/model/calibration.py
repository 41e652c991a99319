"""Numbers that were fitted to what was measured: each says its unit, its source and the day that it is of.

They stand beside the code that they are for, and ``docs/calibration.md`` has all of them in one table for each subject.
"""

from __future__ import annotations

from typing import TypeVar

Value = TypeVar("Value")


def calibrated(value: Value, *, unit: str, source: str, date: str) -> Value:
    """Return ``value``, which might be another one on another machine.

    ``source`` is what was measured, with what, and what came out; ``date`` the day from which the value is (``2026-11-21``).
    """
    assert all((unit, source, date)), "a number that was measured says where it comes from"
    return value
