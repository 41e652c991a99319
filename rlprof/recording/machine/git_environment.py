"""The environment in which git looks at the folder that it is started in, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_LOCAL: Final = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)
"""Variables that ``git rev-parse --local-env-vars`` prints, without what configures git."""


def without_repository(environment: Mapping[str, str]) -> dict[str, str]:
    """``environment`` without the variables by which git tells its hooks where they are."""
    return {name: value for name, value in environment.items() if name not in _LOCAL}
