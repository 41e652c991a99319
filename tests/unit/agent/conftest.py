from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from rlprof.agent.inject.rlprof_agent.counted import call_marks, look_plan
from rlprof.agent.inject.rlprof_agent.turns import FIRST_THREAD, TAKES_TURNS


@pytest.fixture(autouse=True)
def _turns_of_the_main_thread() -> None:
    """Each test begins where stacks are taken of the main thread."""
    TAKES_TURNS[0] = FIRST_THREAD


@pytest.fixture(autouse=True)
def _looks_may_cost_what_they_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else, on a busy machine, calls are not looked at in a row any more, and what is counted is right on average alone."""
    monkeypatch.setattr(look_plan, "_AT_FIRST_NS", 1 << 60)


@pytest.fixture(autouse=True)
def _marks_of_other_tests_leave_room() -> Iterator[None]:
    """Each test makes its library anew, and the marks in its functions live until Python collects them."""
    yield
    if len(call_marks._marks) > call_marks._MOST_MARKS // 2:
        gc.collect()
        call_marks._forget_the_gone()
