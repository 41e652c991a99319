from __future__ import annotations

from pathlib import Path

import pytest

from rlprof.agent.inject.rlprof_agent.value_looks import COUNT
from rlprof.model.recording import Frame
from rlprof.recording.looks.hot_lines import HotLines
from rlprof.recording.looks.step_plan import StepPlan
from rlprof.recording.mailboxes.look_table import CountTold
from rlprof.recording.stacks import StackTable
from rlprof.syntax.module import parse
from rlprof.syntax.steps import step_calls

SCRIPT = """\
class Many:
    def advance(self, moves):
        for world in self.worlds:
            x = world.begin()
            x, gain, over = world.advance(moves[x])
        return x, gain, over
    def seen(self): return self.worlds
def train(worlds, policy):
    x = worlds.begin()
    while True:
        x, gain, over = worlds.advance(policy(x))
        print(gain)
"""
MS = 1_000.0
"""In µs."""


class Run:
    def __init__(self, file: Path) -> None:
        file.write_text(SCRIPT)
        self.train, self.logs = Frame(str(file), "train", 11), Frame(str(file), "train", 12)
        self.other = Frame(str(file), "Many.seen", 7)
        self.inner = Frame(str(file), "Many.advance", 5)
        self._stacks = StackTable()
        self._lines = HotLines(self._stacks)
        self.plan = StepPlan(self._lines)

    def works(self, cpu_us: float, *frames: Frame, process: int = 0) -> list[Frame]:
        """For a window; the lines whose calls are to be counted."""
        ways = self._lines.add(process, {self._stacks.node(frames): cpu_us})
        wanted = self.plan.wanted(process, ways)
        assert all(operands[0].steps[0] == COUNT + "advance" for _, operands in wanted)
        return [frame for frame, _ in wanted]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "train.py")


def told(run: Run, makes_steps: bool) -> CountTold:
    return CountTold("worlds.advance(policy(x))", run.train, makes_steps)


def test_a_function_that_steps_is_asked_once_a_line_of_it_is_hot(run):
    assert run.works(20 * MS, run.logs) == []
    assert run.works(20 * MS, run.logs) == [run.logs]
    assert run.works(500 * MS, run.other) == []


def test_what_is_asked_for_is_the_statement_and_its_object(run):
    run.works(40 * MS, run.logs)

    (call,) = step_calls(parse(SCRIPT), run.logs.line)

    assert (call.method, call.owner, call.lines) == ("advance", ("worlds",), range(11, 12))


def test_environments_within_one_are_left_to_it(run):
    assert run.works(100 * MS, run.train, run.inner) == [run.train]


def test_it_is_asked_more_seldom_and_in_each_process(run):
    asked = [bool(run.works(40 * MS, run.train)) for _ in range(48)]

    assert asked[0]
    assert sum(asked) == 15
    assert run.works(10 * MS, run.train, process=1) == [run.train]


@pytest.mark.parametrize("makes_steps", [True, False])
def test_steps_are_asked_for_again_for_the_next_class_may_make_them(run, makes_steps):
    run.works(40 * MS, run.train)
    run.plan.heard(0, [told(run, makes_steps)], 1_500_000)

    assert run.works(900 * MS, run.train) == ([run.train] if makes_steps else [])
    assert bool(run.plan.notes()) is makes_steps


def test_a_function_whose_steps_have_stopped_is_asked_at_once(run):
    run.works(40 * MS, run.train)
    run.plan.heard(0, [told(run, True)], 1_500_000)
    run.works(900 * MS, run.train)

    run.plan.counted(0, {"steps:recognised": 7})
    assert run.works(40 * MS, run.train) == []
    run.plan.counted(0, {})
    assert run.works(40 * MS, run.train) == [run.train]


def test_the_report_says_what_was_counted_and_how_to_choose(run):
    run.plan.heard(0, [told(run, True)], 1_500_000)
    run.plan.counted(0, {"steps:recognised": 7})

    (note,) = run.plan.notes()

    assert (note.level, note.slug) == ("info", "steps-recognised")
    assert "worlds.advance(policy(x)) in train (train.py)" in note.text
    assert "from second 1.5 on" in note.text
    assert "--steps-from" in note.text
    assert "--sps-pattern" in note.text


def test_what_is_over_before_it_is_counted_is_told_with_what_to_do(run):
    run.plan.heard(0, [told(run, True)], 1_500_000)
    for process in range(9):
        run.works(40 * MS, run.train, process=process)
    run.plan.counted(0, {"steps:recognised": 7})

    (note,) = run.plan.notes()

    assert note.slug == "steps-not-counted-in-time"
    assert "worlds.advance(policy(x)) in train (train.py)" in note.text
    assert "rlprof.step()" in note.text


def test_where_something_else_counts_steps_none_are_looked_for(run):
    run.plan.heard(0, [told(run, True)], 1_500_000)
    run.plan.counted(0, {"updates": 3, "steps:recognised": 1})
    assert run.works(100 * MS, run.train, process=1) == [run.train]

    run.plan.counted(0, {"steps:gymnasium.env": 1})

    assert run.works(900 * MS, run.train, process=1) == []
    assert run.plan.notes() == []
