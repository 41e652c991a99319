"""Lists that are searched where no look lands: in functions that call nothing."""

from __future__ import annotations

import pytest

from rlprof.detectors.slow_call import DETECTOR
from rlprof.model.finding import Finding
from tests.factories import a_run
from tests.profile_factory import Script, detect

TRAIN = Script(
    "train.py",
    """
    from collections import deque

    known = [3] * 9

    class Memory:
        def __init__(self):
            self.seen = []
            self.latest = deque(maxlen=1000)
            self.places = set()
            self.either = [] if cheap else set()

        def has_seen(self, state):
            return state in self.seen

        def is_late(self, state):
            return state in self.latest

        def has_place(self, state):
            return state in self.places

        def is_either(self, state):
            return state in self.either

        def is_known(self, state):
            return state in known

        def is_given(self, state, seen):
            return state in seen

        def is_anywhere(self, state):
            for part in (1, 2):
                found = state in self.seen

        def has_text(self, state):
            return str(state) in self.seen

    def train(memory, env):
        while True:
            memory.ask(env.state)
    """,
)
ASKS = TRAIN.at("memory.ask", "train")


def told(line: str, function: str, *, search_s: float = 4.0, call_s: float = 0.1) -> list[Finding]:
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(search_s, ASKS, TRAIN.at(line, f"Memory.{function}"))
    run.spends(call_s, ASKS).spends(9.9 - search_s, TRAIN.at("while True", "train"))
    # Looks landed in the caller alone.
    run.sees(ASKS, memory="type=train.Memory kind=object")
    return detect(DETECTOR, run, TRAIN)


@pytest.mark.parametrize(
    ("line", "function"),
    [
        ("state in self.seen", "has_seen"),
        ("state in self.latest", "is_late"),
        ("state in known", "is_known"),
    ],
)
def test_a_list_by_its_source_that_is_long_by_its_time(line: str, function: str):
    (finding,) = told(line, function)

    assert finding.title.startswith("a long list is searched")
    assert any("long by the time that it takes" in text for text in finding.evidence)


@pytest.mark.parametrize(
    ("line", "function"),
    [
        ("state in self.places", "has_place"),
        ("state in self.either", "is_either"),
        ("state in seen", "is_given"),
        ("found = state", "is_anywhere"),
        ("str(state)", "has_text"),
    ],
)
def test_silent_of_others(line: str, function: str):
    assert told(line, function) == []


def test_silent_where_the_search_takes_little_beside_the_call():
    assert told("state in self.seen", "has_seen", search_s=4.0, call_s=1.0) == []
