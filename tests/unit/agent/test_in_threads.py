"""What threads step is counted exactly, and without a look at each call once there are many."""

from __future__ import annotations

import pickle
import threading

import pytest

from rlprof.agent.inject.rlprof_agent import counters
from rlprof.agent.inject.rlprof_agent.counted import part_time
from rlprof.agent.inject.rlprof_agent.counted.calls import original_of
from rlprof.agent.inject.rlprof_agent.counted.class_methods import CountedMethods
from rlprof.agent.inject.rlprof_agent.counted.in_threads import _AT_ONCE, _LOOKED_AT
from rlprof.agent.inject.rlprof_agent.counted.part_time import DIRECT, LOOKS

MANY = 5 * _LOOKED_AT


class Env:
    def step(self, action):
        return action


class Maze(Env):
    def step(self, action):
        if action is None:
            raise ValueError("no action")
        return action


class Wrapper(Env):
    def __init__(self, env):
        self.env = env

    def step(self, action):
        return self.env.step(action)


class Limit(Wrapper):
    def step(self, action):
        return self.env.step(action)


@pytest.fixture
def steps(monkeypatch):
    """The counter of the classes above, counted as those of gymnasium are."""
    monkeypatch.setattr(counters, "_counters", {})
    monkeypatch.setattr(part_time, "_all", [])
    monkeypatch.setenv("RLPROF_PART_TIME", "1")
    methods = CountedMethods(Env, ["step"], counters.counter("steps"))
    methods.install()
    methods.take_turns()
    yield methods._counter
    methods.remove()


def turns() -> part_time.PartTime:
    (found,) = part_time._all
    assert isinstance(found, part_time.PartTime)
    return found


def stepped_in_a_thread(env: Env, times: int) -> None:
    def act() -> None:
        for number in range(times):
            env.step(number)

    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


def test_each_step_counts_once_whatever_is_left_out(steps):
    maze, wrapped = Maze(), Limit(Wrapper(Maze()))

    stepped_in_a_thread(wrapped, MANY)
    assert turns().way == DIRECT
    assert "step" in vars(Maze), "the program's own, which wrappers call"
    turns().begin()
    stepped_in_a_thread(maze, 10)

    assert steps.cell[0] == MANY + 10


def test_a_class_that_is_stepped_both_ways_is_looked_at(steps):
    maze, wrapped = Maze(), Wrapper(Maze())

    def act() -> None:
        for number in range(MANY):
            maze.step(number)
            wrapped.step(number)

    thread = threading.Thread(target=act)
    thread.start()
    thread.join()
    assert turns().way == LOOKS

    assert steps.cell[0] == 2 * MANY


def test_what_was_not_seen_is_looked_at_before_it_counts(steps):
    """Another environment in the same wrapper, as those of ``gymnasium.make`` are."""

    class Cave(Env):
        def step(self, action):
            return action

    stepped_in_a_thread(Wrapper(Maze()), MANY)
    assert turns().way == DIRECT
    stepped_in_a_thread(Wrapper(Cave()), 100)
    assert turns().way == LOOKS

    assert 0 <= MANY + 100 - steps.cell[0] <= 1, "but for the call that was under way"


def test_a_class_that_is_made_meanwhile_is_looked_at(steps):
    stepped_in_a_thread(Wrapper(Maze()), MANY)
    assert turns().way == DIRECT

    class Cave(Env):
        def step(self, action):
            return action

    assert turns().way == LOOKS
    stepped_in_a_thread(Wrapper(Cave()), 100)
    assert steps.cell[0] == MANY + 100


def test_what_raises_is_no_step(steps):
    maze = Maze()
    stepped_in_a_thread(maze, MANY)
    assert turns().way == DIRECT

    with pytest.raises(ValueError, match="no action"):
        maze.step(None)
    turns().begin()

    assert steps.cell[0] == MANY


def test_steps_are_told_as_they_are_made(steps):
    maze = Maze()
    stepped_in_a_thread(maze, MANY)

    assert 0 <= MANY - steps.cell[0] < _AT_ONCE


def test_the_main_thread_keeps_its_turns(steps):
    maze = Maze()

    for number in range(MANY):
        maze.step(number)

    assert turns().way == LOOKS
    assert steps.cell[0] == MANY


def test_a_turn_of_the_main_thread_leaves_them_as_they_are(steps):
    stepped_in_a_thread(Maze(), MANY)

    turns().turn(10_000_000)

    assert turns().way == DIRECT


def test_without_turns_all_are_looked_at(steps):
    turns().leave()
    part_time._all.clear()

    stepped_in_a_thread(Maze(), MANY)

    assert steps.cell[0] == MANY


def test_a_copy_counts_for_nobody(steps):
    stepped_in_a_thread(Maze(), MANY)
    copied = pickle.loads(pickle.dumps(steps))

    copied.add([5])
    copied.in_thread(1)

    assert copied.cell == [0]


def test_the_programs_function_is_found_behind_it(steps):
    stepped_in_a_thread(Maze(), MANY)

    assert original_of(Maze.step).__code__.co_name == "step"
