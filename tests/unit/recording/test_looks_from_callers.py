from __future__ import annotations

from pathlib import Path

import pytest

from rlprof.model.recording import Frame
from rlprof.recording.looks.hot_lines import HotLines
from rlprof.recording.looks.looks_from_callers import LooksFromCallers
from rlprof.recording.stacks import StackTable

SCRIPT = """\
STEP = 0.1

class Agent:
    def update(self, table, entry):
        change = STEP * self.error
        table += change * self.traces

def train(agent, tables, at):
    agent.update(tables["q"], at)
"""
HOT_US = 100_000.0


class Training:
    """One second in a line that no look meets, and in the one that calls its function."""

    def __init__(self, file: Path, script: str = SCRIPT) -> None:
        file.write_text(script)
        self.line = Frame(str(file), "Agent.update", 6)
        self.caller = Frame(str(file), "train", 9)
        stacks = StackTable()
        lines = HotLines(stacks)
        self.ways = lines.add(0, {stacks.node((self.caller, self.line)): HOT_US})
        self.looks = LooksFromCallers(lines)

    def note(self, *, is_missed: bool = True) -> list[Frame]:
        return list(self.looks.note(self.ways, {self.line} if is_missed else set()))


@pytest.fixture
def training(tmp_path: Path) -> Training:
    return Training(tmp_path / "train.py")


def test_the_caller_is_asked_in_its_own_words(training: Training):
    assert training.note() == [training.caller]

    asked = {operand.text: operand.steps for operand in training.looks.operands(training.caller)}
    assert asked == {
        "tables['q']": ("tables", "sq"),
        "agent.traces": ("agent", ".traces"),
    }


def test_what_it_tells_is_of_the_line_that_was_called(training: Training):
    training.note()
    array = {"type": "numpy.ndarray", "shape": "400,4"}

    told = list(
        training.looks.told(training.caller, {"agent.traces": array, "at": {"type": "int"}})
    )

    assert told == [(training.line, "self.traces", array)]


@pytest.mark.parametrize(
    ("z", "is_asked"), [("z = self.traces", True), ("z = 0.9 * self.traces", False)]
)
def test_another_name_of_an_attribute_is_the_attribute(tmp_path: Path, z: str, is_asked: bool):
    script = SCRIPT.replace("change = STEP * self.error", z).replace("change * self.traces", "z")
    training = Training(tmp_path / "train.py", script)
    training.note()
    array = {"type": "numpy.ndarray", "shape": "400,4"}

    told = list(training.looks.told(training.caller, {"agent.traces": array}))

    assert told == ([(training.line, "z", array)] if is_asked else [])


def test_where_the_caller_is_missed_too_another_line_of_its_function_is_asked(training: Training):
    beside, before = (Frame(training.caller.file, "train", line) for line in (8, 7))
    missed, met = {training.line, training.caller}, {beside, before}

    assert list(training.looks.note(training.ways, missed, met)) == []
    assert list(training.looks.note([*training.ways, [beside]], missed, met)) == [beside]

    array = {"type": "numpy.ndarray", "shape": "400,4"}
    told = list(training.looks.told(beside, {"agent.traces": array}))
    assert told == [(training.line, "self.traces", array)]


def test_it_is_asked_once(training: Training):
    training.note()

    assert not training.note()


def test_not_for_a_line_that_was_not_asked_for_in_vain(training: Training):
    assert not training.note(is_missed=False)
    assert not list(training.looks.operands(training.caller))
