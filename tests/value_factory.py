"""Looks at values, as tests tell them."""

from __future__ import annotations

from rlprof.model.recording import SeenValue
from rlprof.source.value import Value


def a_value(fields: str) -> Value:
    """What was seen once, told as ``name=value`` parted by spaces."""
    told = dict(field.split("=", 1) for field in fields.split(" "))
    return Value([SeenValue(0, "train.py", "train", 1, "it", 0, 0, 1, told)])
