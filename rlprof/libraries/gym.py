"""gym, up to 0.26; its steps are counted as gymnasium's."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Duty, Library

LIBRARY: Final = Library(
    name="gym",
    packages=("gym",),
    samples=("envs/registration.py", "wrappers/time_limit.py"),
    environment=EVERYTHING,
    wrappers="(wrappers|utils|vector)",
    duties={r"envs/registration\.py$": {"make": Duty.MAKES_ENVIRONMENTS}},
    environment_classes=("gym.core.Env",),
    drives=EVERYTHING,
)
