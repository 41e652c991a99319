"""What holds for every test."""

from __future__ import annotations

import pytest


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Bytes are numbered: gzip writes the second into them, and workers of pytest-xdist that collect a second
    apart would disagree on what there is to run.
    """
    return argname if isinstance(val, bytes) else None
