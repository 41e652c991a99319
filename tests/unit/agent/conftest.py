from __future__ import annotations

import pytest

from rlprof.agent.inject.rlprof_agent.turns import FIRST_THREAD, TAKES_TURNS


@pytest.fixture(autouse=True)
def _turns_of_the_main_thread() -> None:
    """Each test begins where stacks are taken of the main thread."""
    TAKES_TURNS[0] = FIRST_THREAD
