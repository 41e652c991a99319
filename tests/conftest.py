"""What holds for every test."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, max_examples=80, deadline=None)
settings.register_profile("many", max_examples=3000, deadline=None)
settings.load_profile("same")  # What passes here passes elsewhere; `make properties` looks further.

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
