"""The few environment variables that a report reads: the others may hold anything, and are not kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from rlprof.model.threads import THREAD_SETTINGS

_COUNTS: Final = re.compile(r"[\d, ]{1,40}")
"""``4``, or ``4,2`` for nested teams of OpenMP's."""


def kept_environment(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: environment[name]
        for name in THREAD_SETTINGS
        if _COUNTS.fullmatch(environment.get(name, ""))
    }
