"""Whom the kernel ends where memory runs out: us before the training."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

_SCORE: Final = Path("/proc/self/oom_score_adj")

_FIRST: Final = "1000"
"""``OOM_SCORE_ADJ_MAX`` of Linux: who has it is ended before all who have not, however little memory it takes."""


def be_ended_first() -> Callable[[], None]:
    """Have the kernel end us, and what we start from now on, where memory runs out.

    Returns what takes that back. The first process of a container is left as it is: with it all others would end.
    """
    before = None
    with suppress(OSError):
        before = _SCORE.read_text()
        if os.getpid() != 1:
            _SCORE.write_text(_FIRST)

    def be_as_before() -> None:
        with suppress(OSError):
            if before is not None:
                _SCORE.write_text(before)

    return be_as_before
