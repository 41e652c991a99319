"""What the two runs of a comparison are called."""

from __future__ import annotations

from typing import Final, NamedTuple


class Sides(NamedTuple):
    base: str
    new: str


BASE_AND_NEW: Final = Sides("BASE", "NEW")
