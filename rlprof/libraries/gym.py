"""gym, up to 0.26; its steps are counted as gymnasium's."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Duty, Library, SlowCall
from rlprof.model.finding import Range

_DRAWN: Final = SlowCall(
    "values are drawn from a space one by one",
    "Draw many at once with a generator of your own, and take the next: rng.integers(n, size=1_000), or "
    "rng.uniform(low, high, (1_000, d)) of a Box.",
    Range(0.5, 0.99),
    # With a mask, which is another one at each step, there is no drawing ahead.
    takes_nothing=True,
)
_CHECKED: Final = SlowCall(
    "a space is asked whether it contains a value",
    "Check in tests, or the first steps alone. An assert goes with python -O.",
    Range(0.9, 1.0),
    is_check=True,
)
_MADE: Final = SlowCall(
    "a space is made again and again",
    "Make it once, before the loop, and hand it on.",
    Range(0.9, 1.0),
)
_OF_ALL: Final = {"contains": _CHECKED, "__contains__": _CHECKED, "__init__": _MADE}
SPACES: Final = {
    # A Dict's or a Tuple's draw is one of each of its parts.
    r"spaces/(box|discrete|multi_\w+)\.py$": {**_OF_ALL, "sample": _DRAWN},
    "spaces/": _OF_ALL,
}
"""The same in gym and gymnasium. A draw from a Box of four takes 19 µs, from a generator 2 (benchmarks/replaced_calls.py)."""

NOT_SPACES: Final = r"(?!spaces/)"
"""Policies and buffers ask a space for its shape, too: such a call belongs to whoever makes it."""

LIBRARY: Final = Library(
    name="gym",
    packages=("gym",),
    samples=("envs/registration.py", "spaces/box.py", "wrappers/time_limit.py"),
    environment=NOT_SPACES,
    wrappers="(wrappers|utils|vector)",
    duties={r"envs/registration\.py$": {"make": Duty.MAKES_ENVIRONMENTS}},
    slow_calls=SPACES,
    environment_classes=("gym.core.Env",),
    drives=EVERYTHING,
)
