"""Traces that the turns of a loop leave in a value of a later turn."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final, NamedTuple


class Touch(IntEnum):
    """How a state comes from one step to the next."""

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
