"""What a fault is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .code import Code


@dataclass(frozen=True)
class Fault:
    """Faulty code for one or more sockets, and what a report should say of it."""

    name: str
    right: tuple[str, ...]
    """Ids of detectors that name the cause."""
    codes: Mapping[str, Code]
    """By the kind of socket. The first is the one that wears the disguise."""
    healthy: Mapping[str, Code] = field(default_factory=dict)
    """Where it is not the host's own code."""
    roles: frozenset[str] = frozenset()
    """What the sockets have to offer."""
    within: tuple[str, ...] = ()
    """Packages that the host has to use already."""
    needs: tuple[str, ...] = ()
    """Further packages, by the names that they are imported by."""
    base_us: float = 0.0
    unit_us: float = 0.0
    """Time of one call: base and so much for each unit of size. Zero where nothing sets its share."""
    unit_part: float = 0.0
    """Of a unit of size, as a part of the host's own time between two calls of the socket."""
    sizes: tuple[int, int] = (1, 1)
    is_rare: bool = False
    """Whether it may happen at every so many calls, by the socket's ``$count``."""
    calls_per_s: float = 0.0
    """How often it happens at most, where its share is of no matter."""
    rarer: int = 1
    """How many times as rarely the fixed version does it."""
    allowed: frozenset[str] = frozenset()
    """Further findings that are true of it."""
    at_setup: bool = False
    """Whether the socket runs once, and what it makes is at work later."""
    waits: bool = False
    """Whether it costs time in other processes or asleep, so that the program's own CPU time does
    not show it.
    """
    is_free: bool = False
    """Whether it costs nothing, and must not be listed."""
