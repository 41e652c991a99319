"""Recurrent networks of torch and their states, as they were seen at a line, and what the turns of a loop leave in a later turn."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from math import prod
from typing import Final, NamedTuple

from rlprof.source.value import Value, shape_of

_MODULE: Final = "torch.nn.modules.rnn."


def recurrent_kind(value: Value) -> str:
    """The class of torch that a recurrent network is, or is derived from: ``LSTM``, ``GRUCell``; empty for what is none."""
    return next(
        (base.removeprefix(_MODULE) for base in value.bases if base.startswith(_MODULE)), ""
    )


def is_object_of(value: Value, class_name: str) -> bool:
    """Tell whether it is an object of a class of that name, or of one derived from it."""
    return any(base.rpartition(".")[2] == class_name for base in value.bases)


def state_shape(value: Value) -> tuple[int, ...]:
    """Shape of a state: a tensor, or the first of a pair; empty for what is neither."""
    if value.type == "torch.Tensor":
        return value.shape or ()
    return shape_of(value.fields, "first.") or () if value.items == "torch.Tensor" else ()


def step_work(state: Value) -> int:
    """Multiplications of a step, but for a factor: batch × width²; 0 for what is no state."""
    shape = state_shape(state)
    return prod(shape[:-1]) * shape[-1] ** 2 if shape else 0


class Touch(IntEnum):
    """The way of a state from one step to the next."""

    NONE = 0
    """It is no state of the step before."""
    KEPT = 1
    RESET = 2
    """Set to zero, or to something else, where an episode ends: by a product, ``torch.where`` or a condition."""
    CHANGED = 3
    """By what one call for all steps cannot do in between: a norm, a sum, a network."""


class Trail(NamedTuple):
    """Traces of earlier turns in a value."""

    feeds: bool = False
    """True if it needs the turns before, otherwise than by recurrent networks that could be asked at once."""
    touch: Touch = Touch.NONE
    parts: tuple[Trail, ...] = ()
    """Those of its items, of a tuple."""

    def touched(self, touch: Touch) -> Trail:
        return Trail(self.feeds, max(self.touch, touch) if self.touch else self.touch)


NOTHING: Final = Trail()
FIRST: Final = Trail(feeds=True, touch=Touch.KEPT)
"""What a turn has of the one before, at its start."""


def joined(trails: Iterable[Trail]) -> Trail:
    """Return the trail of what is made of values with these."""
    every = list(trails)
    return Trail(
        any(trail.feeds for trail in every),
        max((trail.touch for trail in every), default=Touch.NONE),
    )


def joined_parts(one: Trail, other: Trail) -> Trail:
    """Join what two ``return`` statements give, part by part where they agree."""
    if one == NOTHING or other == NOTHING:
        return other if one == NOTHING else one
    if len(one.parts) != len(other.parts):
        return joined([one, other])
    parts = tuple(joined([a, b]) for a, b in zip(one.parts, other.parts, strict=True))
    return joined([one, other])._replace(parts=parts)
