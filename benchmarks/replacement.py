"""A line that a finding names, and what takes its place; and what several of these are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import nn

GAMMA = 0.99


class Replacement(NamedTuple):
    detector: str
    what: str
    now: Callable[[], Any]
    instead: Callable[[], Any]


def network(inputs: int, width: int, layers: int) -> nn.Sequential:
    parts: list[nn.Module] = []
    for _ in range(layers):
        parts += [nn.Linear(inputs, width), nn.Tanh()]
        inputs = width
    return nn.Sequential(*parts, nn.Linear(inputs, 4))
