from __future__ import annotations

from textwrap import dedent

import pytest

from rlprof.syntax.module import parse
from rlprof.syntax.operands import MOST_OPERANDS, operands


def names(text: str, line: int = 1) -> list[str]:
    module = parse(dedent(text))
    assert module is not None
    return [operand.text for operand in operands(module, line)]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("x = torch.tensor(scans)", ["x", "torch", "torch.tensor", "scans"]),
        ("h = self.body(x)", ["h", "self", "self.body", "x"]),
        ("n = len(rows) + 1", ["n", "rows"]),
        ("a = batch['obs'][0]", ["a", "batch['obs'][0]"]),
        ("a = rows[i].mean()", ["a", "rows.mean", "rows", "i"]),
        ("log.debug(f'{act} {obs:.2f}')", ["log", "log.debug", "act", "obs"]),
        ("x = make().field", ["x", "make"]),
        ("x = rows[-1]", ["x", "rows[-1]"]),
        ("del self.rows[0]", ["self.rows", "self.rows[0]"]),
    ],
)
def test_takes_chains_of_names(statement: str, expected: list[str]):
    found = names(statement)

    assert set(found) <= {*expected, "rows[i]"}
    assert {chain for chain in expected if chain != "rows.mean"} <= set(found)


def test_goes_with_what_the_loops_around_it_go_through():
    text = """
    def turn(self):
        for drone, plan in zip(self.members, plans):
            act(drone)
    """

    assert names(text, 4)[-2:] == ["self.members", "plans"]


def test_the_last_line_of_a_loop_goes_with_the_whole_turn():
    """All time of a loop that calls nothing of Python's is seen there."""
    text = """
    def turn(rewards):
        for t in order:
            delta = rewards[t] - values[t]
            out[t] = delta
    """

    assert {"rewards", "values"} <= set(names(text, 5))
    assert "out" not in names(text, 4)


def test_steps_tell_attributes_from_keys():
    module = parse("x = batch['obs'].rows[2]")
    assert module is not None
    (found,) = [operand for operand in operands(module, 1) if operand.text != "x"]

    assert found.steps == ("batch", "sobs", ".rows", "i2")


def test_a_long_literal_is_cut():
    assert len(names(f"x = [{', '.join(f'n{i}' for i in range(99))}]")) == MOST_OPERANDS


def test_nothing_where_there_is_no_statement():
    assert names("x = 1\n\n\n", 3) == []


SEARCHED = """
class Seen:
    def has(self, key):
        return key in self.keys

class Agent:
    def act(self, key):
        if self.seen.has(key):
            return None
        return self.other.get(key)
"""


def test_what_a_method_searches_goes_with_its_calls():
    """Python may look for signals nowhere in a short method."""
    assert "self.seen.keys" in names(SEARCHED, 8)


def test_what_an_object_searches_goes_with_its_own_calls():
    callable_ = """
class Keeper:
    def __call__(self, key):
        known = key in self.rows


keeper = Keeper()
keeper(3)
"""

    assert "keeper.rows" in names(callable_, 8)


def test_what_the_statement_before_has_searched_goes_with_a_line():
    """There the signal is heard that came meanwhile."""
    assert "self.seen.keys" in names(SEARCHED, 9)
    assert not [name for name in names(SEARCHED, 10) if name.endswith(".keys")]


def test_a_method_of_several_classes_is_not_known_by_its_name():
    another = SEARCHED + "\nclass Set:\n    def has(self, key):\n        return key in self.rows\n"

    assert not [name for name in names(another, 8) if name.endswith((".keys", ".rows"))]
