"""What holds for every test."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

SERVICES = ("CI", "BUILD_NUMBER", "GITHUB_", "GITLAB_", "RUNNER_")
"""Variables by which services of continuous integration are told: pytest and rlprof print and write more there."""

DISPLAY = ("FORCE_COLOR", "NO_COLOR", "PY_COLORS", "CLICOLOR", "COLUMNS", "LINES")
"""Variables that change what is printed."""


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Bytes are numbered: gzip writes the second into them, and workers of pytest-xdist that collect a second
    apart would disagree on what there is to run.
    """
    return argname if isinstance(val, bytes) else None


@pytest.fixture(scope="session", autouse=True)
def _same_everywhere() -> Iterator[None]:
    """Processes of the tests are told of no service and no terminal, wherever the tests run; the session that
    prints what failed is.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith((*SERVICES, *DISPLAY)):
                patch.delenv(name)
        yield
