from __future__ import annotations

import time

import pytest

from rlprof.agent.inject.rlprof_agent.counted import call_marks
from rlprof.agent.inject.rlprof_agent.turns import FIRST_THREAD, TAKES_TURNS


@pytest.fixture(autouse=True)
def _turns_of_the_main_thread() -> None:
    """Each test begins where stacks are taken of the main thread."""
    TAKES_TURNS[0] = FIRST_THREAD


@pytest.fixture(autouse=True)
def _looks_have_cost_nothing_yet() -> None:
    """Else calls are not looked at in a row any more, and what is counted is right on average alone."""
    call_marks._spent[:] = 0, time.perf_counter_ns()
