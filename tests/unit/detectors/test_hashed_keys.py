from __future__ import annotations

import pytest

from rlprof.detectors.hashed_keys import DETECTOR
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import Script, claimed_s, detect, lines_of, profile_of

SEARCH = Script(
    "search.py",
    """
    class Position:
        def __hash__(self):
            return hash((self.cells, self.mover))

        def __eq__(self, other):
            return self.cells == other.cells

    def pick(state):
        for action in state.moves():
            visits = seen[(state, action)]
            if state == goal:
                return None

    def simulate(state):
        while True:
            state = pick(state)

    table = {Position(): 1}
    """,
)
LOOP = SEARCH.at("state = pick(state)", "simulate")
LOOK_UP = (LOOP, SEARCH.at("visits = seen", "pick"))
COMPARED = (LOOP, SEARCH.at("if state == goal", "pick"))
OF_ONES_OWN = SEARCH.at("return hash(", "Position.__hash__")
EQUAL = SEARCH.at("return self.cells ==", "Position.__eq__")
GENERATED = "<string>:3 __create_fn__.<locals>.__hash__"
OF_ATTRS = "<attrs generated hash search.Position>:4 __hash__"


def a_search(hash_s: float, *stack: str) -> RunBuilder:
    """Ten seconds, in two of which the line that ``stack`` begins with works itself."""
    run = a_run(steady_s=10.0).process("main", steps=1_000).spends(hash_s, *stack)
    run.spends(2.0, *stack[:-1])
    return run.spends(8.0 - hash_s, LOOP)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, SEARCH)


@pytest.mark.parametrize("hashes", [GENERATED, OF_ATTRS, OF_ONES_OWN])
def test_keys_that_python_code_hashes(hashes):
    run = a_search(3.0, *LOOK_UP, hashes)

    (finding,) = found(run)

    assert lines_of(finding) == [SEARCH.line("visits = seen")]
    assert claimed_s(profile_of(run, SEARCH), finding) == pytest.approx(5.0, abs=0.1)
    hashing, looking_up = finding.savings
    assert hashing.removable.low > looking_up.removable.low == 0.0


def test_what_a_line_does_beside_a_few_look_ups_stays():
    (finding,) = found(a_search(0.4, *LOOK_UP, GENERATED))

    assert len(finding.savings) == 1


@pytest.mark.parametrize(
    "stack",
    [
        (*LOOK_UP, "/usr/lib/python3.11/enum.py:9 Enum.__hash__"),
        (*COMPARED, EQUAL),
        (SEARCH.at("table = {Position()", "<module>"), OF_ONES_OWN),
    ],
    ids=["of-a-library", "compared", "once"],
)
def test_silent_where_no_key_of_the_programs_is_hashed_again_and_again(stack):
    assert found(a_search(3.0, *stack)) == []


def test_silent_under_its_threshold():
    assert found(a_search(0.2, *LOOK_UP, GENERATED)) == []
