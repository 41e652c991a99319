"""What threads step is counted exactly, and without a look at each call once there are many."""

from __future__ import annotations

import pickle
import threading
import weakref
from types import SimpleNamespace

import pytest

from rlprof.agent.inject.rlprof_agent import counters
from rlprof.agent.inject.rlprof_agent.counted import part_time
from rlprof.agent.inject.rlprof_agent.counted.class_methods import CountedMethods
from rlprof.agent.inject.rlprof_agent.counted.direct import _AT_ONCE
from rlprof.agent.inject.rlprof_agent.counted.dressing import is_counting, original_of
from rlprof.agent.inject.rlprof_agent.counted.in_threads import _LOOKED_AT
from rlprof.agent.inject.rlprof_agent.counted.part_time import AWAY, BRIEF, DIRECT, LOOKS
from rlprof.agent.inject.rlprof_agent.counters import WINDOW_TURNS

MANY = 5 * _LOOKED_AT
TURN_NS = 10_000_000


class Env:
    def step(self, action):
        return action


class Maze(Env):
    def step(self, action):
        if action is None:
            raise ValueError("no action")
        return action


class Simulator(Env):
    """Of so many copies."""

    def __init__(self, num_envs):
        self.num_envs = num_envs

    def step(self, actions):
        return actions


class Wrapper(Env):
    def __init__(self, env):
        self.env = env

    def step(self, action):
        return self.env.step(action)


class Echo(Env):
    def step(self, action):
        return super().step(action)


class Limit(Wrapper):
    def step(self, action):
        return self.env.step(action)


@pytest.fixture
def steps(monkeypatch):
    """The counter of the classes above, counted as those of gymnasium are."""
    monkeypatch.setattr(counters, "_counters", {})
    monkeypatch.setattr(part_time, "_all", [])
    monkeypatch.setattr(part_time, "_ever", [])
    monkeypatch.setenv("RLPROF_PART_TIME", "1")
    counter = counters.counter("steps", lambda env: getattr(env, "num_envs", 1))
    methods = CountedMethods(Env, ["step"], counter)
    methods.install()
    methods.take_turns()
    yield methods._counter
    methods.remove()


def turns() -> part_time.PartTime:
    (found,) = part_time._all
    assert isinstance(found, part_time.PartTime)
    return found


def a_turn_of(env: Env, steps: int) -> None:
    """The main thread makes so many steps from one stack of the probe to the next."""
    for number in range(steps):
        env.step(number)
    turns().turn(TURN_NS)


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


def test_of_a_class_that_is_stepped_both_ways_the_caller_tells(steps):
    maze, wrapped = Maze(), Wrapper(Maze())
    ways = set()

    def act() -> None:
        for number in range(500 * _LOOKED_AT):
            maze.step(number)
            wrapped.step(number)
            ways.add(turns().way)

    thread = threading.Thread(target=act)
    thread.start()
    thread.join()
    turns().begin()

    assert ways == {LOOKS, DIRECT}
    assert 0 <= 1000 * _LOOKED_AT - steps.cell[0] < 10


def test_in_the_main_thread_the_caller_tells_too(steps):
    maze, wrapped = Maze(), Wrapper(Maze())
    while turns().way != DIRECT:
        for number in range(200):
            maze.step(number)
            wrapped.step(number)
        turns().turn(TURN_NS)
    turns().begin()
    turns().put(DIRECT)
    before = steps.cell[0]

    a_turn_of(wrapped, 300)
    a_turn_of(maze, 400)
    turns().begin()

    assert 0 <= before + 700 - steps.cell[0] <= 1, "but for the first call of one that is new"


def test_short_threads_that_step_leave_the_main_thread_without_looks(steps):
    """As an evaluation in a thread of its own now and then: each look took a quarter of the main thread's time, for good."""
    wrapped, ways = Limit(Wrapper(Maze())), []

    for number in range(600):
        a_turn_of(wrapped, 700)
        ways.append(turns().way)
        if number % 5 == 0:
            stepped_in_a_thread(Limit(Maze()), 5)
    turns().begin()

    assert ways[-300:].count(DIRECT) > 270
    assert steps.cell[0] == pytest.approx(600 * 700 + 120 * 5, rel=0.01)


def test_who_holds_the_function_sees_the_attributes_that_are_set_by_the_class(steps):
    class Cave(Env):
        def step(self, action):
            return action

    cave = Cave()
    cave.step(1)
    Cave.step.total = 0
    held = Cave.step

    for way in (AWAY, LOOKS, DIRECT, LOOKS):
        turns().put(way)
        Cave.step.total += 1
        cave.step(1)

        assert held.total == Cave.step.total
    assert held.total == 4


def test_threads_that_step_no_more_are_forgotten(steps):
    wrapped = Limit(Wrapper(Maze()))
    stepped_in_a_thread(Maze(), 5)
    assert steps.is_elsewhere

    for _ in range(2 * WINDOW_TURNS):
        a_turn_of(wrapped, 700)

    assert not steps.is_elsewhere


def test_each_object_counts_for_its_own_number_of_copies_without_a_look(steps):
    made, ways = 0, set()

    for copies in range(4, 40):
        simulator = Simulator(copies)
        for _ in range(4):
            a_turn_of(simulator, 1000)
            ways.add(turns().way)
            made += 1000 * copies
    turns().begin()

    assert ways == {LOOKS, DIRECT}
    assert steps.cell[0] == made


def test_a_step_that_is_replaced_counts_once(steps):
    """By one that calls the one before: a changed reward, a timer."""

    class Cave(Env):
        def step(self, action):
            return action

    before = Cave.step

    def timed(self, action):
        return before(self, action)

    for _ in range(3):
        a_turn_of(Cave(), 200)
    assert turns().way == DIRECT
    Cave.step = timed  # type: ignore[method-assign]  # As programs do.
    for _ in range(2 * part_time._DIRECT_TURNS):
        a_turn_of(Cave(), 200)
    turns().begin()

    made = 200 * (3 + 2 * part_time._DIRECT_TURNS)
    assert steps.cell[0] == pytest.approx(made, abs=1)


def test_a_class_that_is_made_of_another_counts_once(steps):
    """As dataclasses with slots are."""

    class Cave(Env):
        def step(self, action):
            return action

    again = type("Cave", (Env,), {"step": vars(Cave)["step"]})
    for _ in range(3):
        a_turn_of(Wrapper(again()), 200)
    assert turns().way == DIRECT
    a_turn_of(Wrapper(again()), 200)
    turns().begin()

    assert steps.cell[0] == 800


def test_a_forked_child_leaves_to_its_parent_what_that_has_counted(steps):
    for _ in range(2):
        a_turn_of(Maze(), 200)
    assert turns().way == DIRECT
    for number in range(7):
        Maze().step(number)
    before = steps.cell[0]

    part_time.forget_what_is_left()
    turns().begin()

    assert steps.cell[0] == before


def test_once_no_stacks_are_taken_any_more_looks_are_left_out_for_good(steps):
    for number in range(200):
        Wrapper(Maze()).step(number)

    turns().begin()
    part_time.end_turns()
    assert turns().way == DIRECT
    for number in range(100):
        Wrapper(Maze()).step(number)
    turns().begin()

    assert steps.cell[0] == 300


def test_without_stacks_the_calls_of_the_main_thread_tell_of_themselves(steps):
    """Paused before it was known which functions make steps, as by a signal handler of asyncio's."""
    part_time.end_turns()
    env, ways = Limit(Wrapper(Maze())), []
    for number in range(60_000):
        env.step(number)
        ways.append(turns().way)
    turns().begin()

    assert ways[-10_000:].count(LOOKS) < 0.3 * 10_000
    assert steps.cell[0] == 60_000


def test_with_stacks_again_turns_tell_of_the_main_thread(steps):
    part_time.end_turns()
    part_time.begin()
    env = Limit(Wrapper(Maze()))
    for number in range(30_000):
        env.step(number)

    assert turns().way == LOOKS
    assert steps.cell[0] == 30_000


def test_signals_that_are_blocked_at_each_step_do_not_change_the_way_for_good(steps):
    env = Limit(Wrapper(Maze()))
    for number in range(3 * part_time._MOST_ENDS):
        env.step(number)
        part_time.end_turns()
        part_time.begin()

    assert turns().changes <= part_time._MOST_ENDS + 1
    assert steps.cell[0] == 3 * part_time._MOST_ENDS


def test_threads_that_have_stepped_once_do_not_keep_looks_for_good(steps):
    stepped_in_a_thread(Maze(), 10)
    assert steps.is_elsewhere

    for _ in range(2 * WINDOW_TURNS):
        turns().turn(TURN_NS)

    assert not steps.is_elsewhere


def test_a_thread_that_steps_now_and_then_does_not_bind_the_main_thread(steps, monkeypatch):
    # Steps so short that even to count directly is dear.
    monkeypatch.setattr(part_time, "_MOST_DIRECT", 0.0)
    # What a change of the way takes is the machine's.
    monkeypatch.setattr(part_time, "time", SimpleNamespace(thread_time_ns=lambda: 0))
    wrapped, shown, ways = Limit(Wrapper(Maze())), Limit(Maze()), []

    for number in range(4 * WINDOW_TURNS):
        a_turn_of(wrapped, 700)
        ways.append(turns().way)
        if number % 5 == 0:
            stepped_in_a_thread(shown, 1)

    assert ways[-WINDOW_TURNS:].count(AWAY) > 0.2 * WINDOW_TURNS


def test_threads_that_make_many_of_the_steps_bind_it(steps, monkeypatch):
    monkeypatch.setattr(part_time, "_MOST_DIRECT", 0.0)
    wrapped, ways = Limit(Wrapper(Maze())), []

    for _ in range(3 * WINDOW_TURNS):
        a_turn_of(wrapped, 70)
        stepped_in_a_thread(wrapped, 30)
        ways.append(turns().way)

    assert AWAY not in ways[WINDOW_TURNS:]


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

    stepped_in_a_thread(Wrapper(Cave()), 100)
    assert turns().way == LOOKS
    assert 0 <= MANY + 100 - steps.cell[0] <= 1, "but for the call that was under way"


def test_a_class_that_is_made_anew_each_time_is_known_by_its_code(steps):
    def made() -> Env:
        class Cave(Wrapper):
            def step(self, action):
                return self.env.step(action)

        return Cave(Maze())

    stepped_in_a_thread(made(), MANY)
    assert turns().way == DIRECT
    for _ in range(20):
        stepped_in_a_thread(made(), 10)
        assert turns().way == DIRECT

    turns().begin()
    assert steps.cell[0] == MANY + 200


@pytest.mark.parametrize("way", [AWAY, BRIEF])
def test_a_class_that_is_made_where_calls_are_not_looked_at_is_not_looked_at(steps, way):
    turns().put(way)

    class Cave(Env):
        def step(self, action):
            return action

    assert is_counting(vars(Cave)["step"]) == (way == BRIEF)
    Cave().step(1)
    assert steps.cell[0] == 0

    turns().put(LOOKS)
    Cave().step(1)
    assert steps.cell[0] == 1


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

    turns().turn(TURN_NS)

    assert turns().way == DIRECT


def test_the_main_thread_counts_directly_where_that_costs_little(steps):
    """And so do threads that make steps while it waits, whenever they began."""
    env = Wrapper(Maze())
    a_turn_of(env, 100)
    a_turn_of(env, 200)
    assert turns().way == DIRECT

    a_turn_of(env, 300)
    stepped_in_a_thread(env, MANY)
    turns().begin()

    assert steps.cell[0] == 600 + MANY


def test_where_nothing_is_counted_a_thread_that_begins_has_all_looked_at(steps):
    turns()._call_ns = TURN_NS / 1000  # Steps so short that to count them is dear.
    a_turn_of(Maze(), 100)
    a_turn_of(Maze(), 500)
    turns()._pace = 0.0
    while turns().way != AWAY:
        a_turn_of(Maze(), 500)
    before = steps.cell[0]

    part_time.thread_begins()
    stepped_in_a_thread(Maze(), 700)

    assert 0 <= before + 700 - steps.cell[0] <= 1, "but for the first call of one that is new"


def test_threads_that_make_no_steps_are_not_looked_for_without_end(steps):
    for _ in range(part_time._MOST_THREADS + 1):
        turns().put(AWAY)
        assert turns().way == AWAY
        part_time.thread_begins()

    assert turns().way == AWAY


@pytest.mark.parametrize("held_in", [LOOKS, DIRECT])
@pytest.mark.parametrize("then", [LOOKS, DIRECT])
def test_what_the_program_holds_on_to_counts_once_too(steps, held_in, then):
    """As by ``step = env.step`` before a loop, or in a wrapper that keeps the step of its environment."""

    class Keeps(Env):
        def __init__(self, env):
            self.inner_step = env.step

        def step(self, action):
            return self.inner_step(action)

    ways = [LOOKS, DIRECT, LOOKS, DIRECT, LOOKS]
    for number in range(10):
        Keeps(Maze()).step(number)
    for way in ways[: 1 + ways.index(held_in, 1)]:
        turns().put(way)
    held = Keeps(Maze()).step
    for number in range(20):
        held(number)
    for way in ways[1 + ways.index(held_in, 1) :]:
        turns().put(way)
        if way == then:
            for number in range(100):
                held(number)
            break
    turns().put(LOOKS)

    assert steps.cell[0] == 130


def test_without_turns_all_are_looked_at(steps):
    turns().leave()
    part_time._all.clear()

    stepped_in_a_thread(Maze(), MANY)

    assert steps.cell[0] == MANY


def test_a_copy_counts_for_nobody(steps):
    stepped_in_a_thread(Maze(), MANY)
    copied = pickle.loads(pickle.dumps(steps))

    copied.add(5, 0)
    copied.in_thread(1)

    assert copied.cell == [0]


def test_the_programs_function_is_found_behind_it(steps):
    stepped_in_a_thread(Maze(), MANY)

    assert original_of(Maze.step).__code__.co_name == "step"


def test_a_step_that_the_program_holds_on_to_is_not_looked_at_where_nothing_is_counted(
    steps, monkeypatch
):
    monkeypatch.setattr(part_time, "_MOST_DIRECT", 0.0)
    held = Maze().step
    (part,) = turns().parts

    made = []
    for way in (LOOKS, AWAY, BRIEF, AWAY, DIRECT, AWAY):
        part.put(way)
        before = steps.calls[0]
        held(1)
        made.append(steps.calls[0] - before)

    assert made == [1, 0, 1, 0, 0, 0], "what is counted directly is told later"
    assert steps.cell[0] == 2


def test_a_weak_method_lives_as_long_as_its_object(steps):
    echo = Echo()
    weak = weakref.WeakMethod(echo.step)
    (part,) = turns().parts

    for way in (AWAY, BRIEF, DIRECT, AWAY):
        part.put(way)

    assert weak() is not None


def test_what_the_program_says_of_a_counted_step_stays(steps, monkeypatch):
    (part,) = turns().parts
    monkeypatch.setattr(Maze.step, "__doc__", "Go on.")
    monkeypatch.setattr(Maze.step, "__name__", "go")

    said = []
    for way in (AWAY, BRIEF, DIRECT, LOOKS, AWAY):
        part.put(way)
        said.append((Maze.step.__doc__, Maze.step.__name__))

    assert set(said) == {("Go on.", "go")}
