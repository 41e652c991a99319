"""Events of Chrome's trace format: the tracks that they lie on, and their clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any, Final, NamedTuple, TypeAlias

Event: TypeAlias = dict[str, Any]

FIRST_FREE: Final = 1 << 22
"""Linux gives no process or thread a number as high, so tracks of our own cannot be taken for one."""

RUN: Final = FIRST_FREE
"""Stands for a process, and holds what is of the whole run."""


def free_numbers() -> Iterator[int]:
    """Numbers for tracks that are neither a process nor a thread of the program."""
    return count(FIRST_FREE + 1)


def complete(
    name: str, category: str, start: float, end: float, pid: int, tid: int, **args: object
) -> Event:
    """An event with a length. Never a negative one, which readers refuse."""
    event = {
        "ph": "X",
        "name": name,
        "cat": category,
        "ts": start,
        "dur": max(0, end - start),
        "pid": pid,
        "tid": tid,
    }
    return {**event, "args": args} if args else event


def process_named(pid: int, name: str, position: int, labels: str = "") -> Iterator[Event]:
    """``position`` counts from 0, at the top."""
    yield _about(pid, 0, "process_name", name=name)
    yield _about(pid, 0, "process_sort_index", sort_index=position)
    if labels:
        yield _about(pid, 0, "process_labels", labels=labels)


def thread_named(pid: int, tid: int, name: str, position: int = 0) -> Iterator[Event]:
    yield _about(pid, tid, "thread_name", name=name)
    yield _about(pid, tid, "thread_sort_index", sort_index=position)


def _about(pid: int, tid: int, what: str, **args: object) -> Event:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": args}


# --- the clock: that of the report, with room for what the report leaves out ----------------


class Inset(NamedTuple):
    """Time that is put in at a moment of the report's clock; all that comes later moves back."""

    at_us: int
    length_us: int


class Clock:
    def __init__(self, insets: Iterable[Inset] = ()) -> None:
        self._insets = sorted(insets)

    def start(self, us: float) -> int:
        """Return when that which begins at ``us`` begins: after what is put in at that moment."""
        return round(us) + sum(inset.length_us for inset in self._insets if inset.at_us <= us)

    def end(self, us: float) -> int:
        """Return when that which ends at ``us`` ends: before what is put in at that moment."""
        return round(us) + sum(inset.length_us for inset in self._insets if inset.at_us < us)
