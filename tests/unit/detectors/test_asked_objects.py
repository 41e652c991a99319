"""repeated-work: what a method computes anew for an object that stays as it was made."""

from __future__ import annotations

import pytest

from rlprof.detectors.repeated_work import DETECTOR
from rlprof.model.finding import Finding
from tests.factories import a_run
from tests.profile_factory import Script, detect, lines_of

SEARCH = """
import numpy as np
from scipy.signal import convolve2d

LINES = [np.ones((1, 4)), np.ones((4, 1))]

class Position:
    def __init__(self, grid):
        self.grid = grid

    def drop(self, column):
        grid = self.grid.copy()
        grid[0, column] = 1
        return Position(grid)

    @property
    def winner(self):
        for line in LINES:
            if (convolve2d(self.grid, line) == 4).any():
                return 1
        return 0

    @property
    def moves(self):
        return [] if self.winner else [0, 1, 2]

{also}

class Search:
    def run(self, node):
        while True:
            if not node.position.moves:
                {between}
                value = node.position.winner
                return value
            node = node.children[0]

def train(search, node):
    while True:
        search.run(node)
"""
ENDED, VALUE = "node.position.moves", "value = node.position.winner"


def told(also: str = "", between: str = "node.visits += 1", seconds: float = 6.0) -> list[Finding]:
    script = Script("search.py", SEARCH.format(also=also, between=between))
    convolves = script.at("convolve2d(self.grid", "Position.winner")
    moves = script.at("[] if self.winner", "Position.moves")
    train = script.at("search.run(node)", "train")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(seconds * 2 / 3, train, script.at(ENDED, "Search.run"), moves, convolves)
    run.spends(seconds / 3, train, script.at(VALUE, "Search.run"), convolves)
    run.spends(10.0 - seconds, train)
    return detect(DETECTOR, run, script)


def test_a_property_that_two_lines_ask_of_one_object():
    script = Script("search.py", SEARCH.format(also="", between="node.visits += 1"))

    (finding,) = told()

    assert (
        finding.title == f"winner is computed anew for one object (search.py:{script.line(ENDED)})"
    )
    assert lines_of(finding) == [script.line(ENDED), script.line(VALUE)]
    assert finding.evidence == (
        "60 % of the steady time is spent in it, 6 ms a step",
        f"lines {script.line(ENDED)} and {script.line(VALUE)} ask node.position one after the other, and 2 lines in all",
        "what it reads of its object is given where that is made, and stays: grid",
    )
    assert finding.savings[0].removable == pytest.approx((0.8 / 3, 0.98))


@pytest.mark.parametrize(
    "also",
    [
        "    def play(self, column):\n        self.grid[0, column] = 1",
        "    def play(self, column):\n        self.grid = self.drop(column).grid",
        "def clear(position):\n    position.grid = np.zeros((6, 7))",
        "def rules(lines):\n    global LINES\n    LINES = lines",
    ],
    ids=["written into", "given anew", "by another", "a constant that changes"],
)
def test_silent_where_the_object_changes(also: str):
    assert told(also=also) == []


@pytest.mark.parametrize(
    "between",
    ["node = node.parent", "node.position = node.position.drop(1)"],
    ids=["another node", "another position"],
)
def test_silent_where_the_lines_ask_several_objects(between: str):
    assert told(between=between) == []


def test_silent_under_its_threshold():
    assert told(seconds=0.29) == []
