"""One attack: its name, its try, and what came of it."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from random import Random

from benchmarks.attack.arena import Arena, Failed, NotTried


class Fate(Enum):
    PASSED = "passed"
    FAILED = "failed"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class Row:
    """One scenario."""

    name: str
    """Lower-case words joined by hyphens; unique over all groups."""
    group: str
    told: str
    """One line of what is done, for the table."""
    attempt: Callable[[Arena], str]
    """Tries it and returns one line of what was seen; raises ``Failed`` or ``NotTried``."""
    is_fast: bool = False
    """A test of ``make test`` too: takes about 3 s."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one attempt at a row."""

    row: Row
    seed: int
    fate: Fate
    why: str
    took_s: float


def try_row(row: Row, folder: Path, seed: int, *, patience: float = 1.0) -> Outcome:
    """Try ``row`` in ``folder``, with nothing left running afterwards.

    ``patience`` multiplies every bound in time: for machines that have other things to do.
    """
    # By the name as well: a row does the same alone as among all.
    arena = Arena(folder, Random(f"{seed} {row.name}"), patience)
    begun = time.monotonic()
    try:
        why = row.attempt(arena)
        fate = Fate.PASSED
    except Failed as failure:
        fate, why = Fate.FAILED, str(failure)
    except NotTried as reason:
        fate, why = Fate.NOT_TRIED, str(reason)
    except Exception as bug:
        # One row's mistake may not take the others along; it counts as failed.
        at = traceback.extract_tb(bug.__traceback__)[-1]
        fate = Fate.FAILED
        why = f"{type(bug).__name__}: {bug} ({Path(at.filename).name}:{at.lineno})"
    finally:
        arena.clear()
    return Outcome(row, seed, fate, " ".join(why.split()), time.monotonic() - begun)
