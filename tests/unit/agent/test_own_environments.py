"""Steps of an environment of the program's own, counted where one line makes them."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import traceback
from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any
from weakref import ref

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

from rlprof.agent.inject.rlprof_agent import aside, turns
from rlprof.agent.inject.rlprof_agent.code_places import instructions_at
from rlprof.agent.inject.rlprof_agent.counted import call_marks, own_environments
from rlprof.agent.inject.rlprof_agent.counted.own_environments import OwnEnvironment, find
from rlprof.agent.inject.rlprof_agent.counted.step_results import steps_of
from rlprof.agent.inject.rlprof_agent.layout import COUNTED_FILE

Transition = namedtuple("Transition", "seen gain over")

caught: list[OwnEnvironment | None] = []


def nothing() -> None:
    pass


probe: Callable[[], None] = nothing


@pytest.fixture(autouse=True)
def _no_instrument_was_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_environments, "_was_aside", [False])


class World:
    def advance(self, move: int) -> Any:
        """Move."""
        probe()
        if move < 0:
            raise ValueError(move)
        return [1.0, 2.0], 1.0, False

    def scaled(self, move: int, *, times: int = 1) -> Any:
        probe()
        return [1.0 * times], float(move), False

    def about(self, move: int) -> Any:
        probe()
        return object(), float(move), False


class Taught(World):
    pass


def sample(name: str) -> Callable[[], None]:
    def look() -> None:
        called = sys._getframe(1)
        caller = called.f_back
        assert caller is not None
        if caller.f_code.co_filename == COUNTED_FILE:
            caller = caller.f_back
        assert caller is not None
        own = find(called.f_locals["self"], name)
        caught.append(own)
        if own is not None:
            own.count_at(caller.f_code, caller.f_lineno, caller.f_lineno)

    return look


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    parts = len(aside._parts)
    yield
    del aside._parts[parts:]
    caught.clear()
    for own in own_environments._found:
        own.step_aside()
    own_environments._found.clear()
    for owner in (World, Push, Pull, Copies):
        for method in vars(owner).values():
            mark = call_marks.mark_of(method)
            if mark is not None:
                mark.take_all()


@pytest.fixture
def classes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("advance", "scaled", "about"):
        monkeypatch.setattr(World, name, World.__dict__[name])


def sampled(monkeypatch: pytest.MonkeyPatch, name: str, call: Callable[[], object]) -> None:
    """Call once with a sample in the method, which begins to count there."""
    monkeypatch.setitem(globals(), "probe", sample(name))
    call()
    monkeypatch.setitem(globals(), "probe", lambda: None)


def steps() -> int:
    call_marks.add_what_is_left()
    count: int = own_environments.counter(own_environments.NAME).cell[0]
    return count


@pytest.mark.parametrize("made", [World, Taught])
def test_counts_the_line_that_was_seen_and_no_other(monkeypatch, classes, made):
    world, before = made(), steps()

    def training(times: int) -> None:
        for _ in range(times):
            world.advance(1)

    sampled(monkeypatch, "advance", lambda: training(1))
    training(10)
    for _ in range(5):
        world.advance(1)

    assert steps() - before == 10


def test_a_further_line_is_counted_too(monkeypatch, classes):
    world, before = World(), steps()

    def training(times: int) -> None:
        for _ in range(times):
            world.advance(1)

    def evaluation(times: int) -> None:
        for _ in range(times):
            world.advance(1)

    for run in (training, evaluation):
        sampled(monkeypatch, "advance", lambda run=run: run(1))
    training(10)
    evaluation(5)

    # The sample of the second found the method counted already.
    assert steps() - before == 16
    assert caught[0] is caught[1]


class Task:
    pass


class Push(Task):
    def advance(self, action):
        probe()
        return [action], 1.0, False


class Pull(Task):
    def advance(self, action):
        return [action], 1.0, False


def test_a_line_that_steps_a_task_steps_others_of_its_family(monkeypatch):
    tasks, before = (Push(), Pull()), steps()

    def training(times: int) -> None:
        for _ in range(times):
            for task in tasks:
                task.advance(1)

    sampled(monkeypatch, "advance", lambda: training(1))
    training(10)
    for task in tasks:
        task.advance(1)

    # The first of them was sampled; that of the other came after.
    assert steps() - before == 21


class Copies:
    def __init__(self, number):
        self.number = number

    def advance(self, actions):
        probe()
        return list(actions), [1.0] * self.number, [False] * self.number


@pytest.mark.parametrize("numbers", [(4, 128), (1, 128), (128, 1)])
def test_copies_at_once_are_as_many_as_their_actions(monkeypatch, numbers):
    tried, trained = map(Copies, numbers)
    before = steps()

    def play(copies: Copies, times: int) -> None:
        for _ in range(times):
            copies.advance([0] * copies.number)

    sampled(monkeypatch, "advance", lambda: play(tried, 1))
    play(tried, 10)
    play(trained, 300)

    assert steps() - before == pytest.approx(10 * numbers[0] + 300 * numbers[1], rel=0.02)


def test_other_signatures_count(monkeypatch, classes):
    world, before = World(), steps()

    def training(times: int) -> Any:
        for _ in range(times):
            result = world.scaled(1, times=3)
        return result

    sampled(monkeypatch, "scaled", lambda: training(1))

    assert training(4)[0] == [3.0]
    assert steps() - before == 4


def test_what_returns_something_else_is_left_alone_after_one_call(monkeypatch, classes):
    world, before, original = World(), steps(), World.__dict__["about"]

    def training() -> None:
        world.about(1)

    sampled(monkeypatch, "about", training)
    assert World.__dict__["about"] is not original
    training()

    assert World.__dict__["about"] is original
    assert steps() == before
    assert caught[0] is not None
    assert caught[0].is_judged


def test_the_method_looks_as_before(monkeypatch, classes):
    world = World()

    def training(move: int) -> None:
        world.advance(move)

    sampled(monkeypatch, "advance", lambda: training(1))

    assert (World.advance.__name__, World.advance.__doc__) == ("advance", "Move.")
    assert world.advance(move=2)[1] == 1.0
    with pytest.raises(ValueError, match="-1") as raised:
        training(-1)
    names = [frame.name for frame in traceback.extract_tb(raised.tb)]
    if sys.version_info >= (3, 11):
        assert names[-2:] == ["training", "advance"]


def test_a_copy_of_what_counts_counts_for_nobody(monkeypatch, classes):
    world = World()
    sampled(monkeypatch, "advance", lambda: world.advance(1))

    own = pickle.loads(pickle.dumps(caught[0]))

    assert not own.is_called_by(sys._getframe())
    assert copy.deepcopy(World.advance) is World.advance


def test_an_instrument_of_the_programs_finds_the_original(monkeypatch, classes):
    original, world = World.__dict__["advance"], World()
    sampled(monkeypatch, "advance", lambda: world.advance(1))
    own = caught[0]
    assert own is not None
    assert World.__dict__["advance"] is not original

    own_environments.step_aside()
    assert World.__dict__["advance"] is original

    # It knows the code, and may be switched on again.
    own_environments.step_back()
    assert World.__dict__["advance"] is original
    assert find(world, "scaled") is None


def test_a_profiler_that_was_given_functions_finds_their_codes_unchanged(monkeypatch):
    monkeypatch.setitem(sys.modules, "line_profiler", sys)

    assert find(World(), "advance") is None


def test_a_line_that_steps_no_more_is_waited_for_a_second(monkeypatch, classes):
    original, world = World.__dict__["advance"], World()
    sampled(monkeypatch, "advance", lambda: world.advance(1))
    assert World.__dict__["advance"] is not original

    for _ in range(100):
        turns.turn(10_000_000)

    assert World.__dict__["advance"] is original


def test_a_class_made_anew_each_time_is_left_alone(monkeypatch):
    class Local(World):
        def advance(self, move: int) -> Any:
            probe()
            return [1.0], float(move), False

    sampled(monkeypatch, "advance", lambda: Local().advance(1))

    assert caught == [None]


def test_a_class_that_the_program_lets_go_of_is_gone(monkeypatch):
    def a_stage() -> tuple[ref[Any], ...]:
        def advance(self: Any, move: int) -> Any:
            probe()
            return [1.0], float(move), False

        stage = type("Stage", (World,), {"advance": advance})
        sampled(monkeypatch, "advance", lambda: stage().advance(1))
        return ref(stage), ref(advance)

    kept = a_stage()
    (known,) = caught
    assert known is not None
    gc.collect()

    assert [each() for each in kept] == [None, None]
    assert not known.is_there
    known.step_back()


def test_what_is_no_method_of_a_class_is_left_alone():
    world = World()
    vars(world)["about"] = len

    assert find(3, "bit_length") is None
    assert find(world, "missing") is None
    assert find(Transition, "index") is None


def test_instructions_are_told_by_line():
    def code() -> list[int]:
        first = [1]
        first.append(2)
        return first

    start = code.__code__.co_firstlineno
    one, other = (
        set(instructions_at(code.__code__, range(at, at + 1))) for at in (start + 1, start + 2)
    )

    assert one
    assert other
    assert not one & other


class Many:
    num_envs = 7


def test_a_mode_of_torch_hears_nothing_of_a_step_that_is_looked_at():
    heard = []

    class Mode(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            heard.append(function)
            return function(*args, **(kwargs or {}))

    result = (torch.zeros(5, 4), torch.zeros(5), torch.zeros(5, dtype=torch.bool))
    with Mode():
        assert steps_of(object(), result) == 5
    assert heard == []


@pytest.mark.parametrize(
    ("result", "steps"),
    [
        (([1.0], 1.0, False), 1),
        ((3, 1, True, {}), 1),
        ((np.zeros(4), np.float32(1), np.bool_(0), np.bool_(0), {}), 1),
        ((np.zeros((5, 4)), np.zeros(5), np.zeros(5, dtype=bool)), 5),
        ((np.zeros((5, 4)), np.zeros(5), np.array([0, 1, 0, 0, 1.0])), 5),
        ((torch.zeros(5, 4), torch.zeros(5), torch.zeros(5, dtype=torch.bool)), 5),
        ((torch.zeros(4), torch.tensor(1.0), torch.tensor(False)), 1),
        (([[1.0], [2.0]], [1.0, 0.0], [False, True], [{}, {}]), 2),
        (({"a": 1}, {"a": 1.0, "b": 2.0}, {"a": False, "b": True}), 1),
        (({"a": {"at": 1}}, {"a": 1.0, "b": 2.0}, False), 1),
        (({"a": 1}, {"a": 1.0, "b": 2.0, "c": 0.0}, {"a": False, "b": True}), 0),
        (([[1.0], [2.0]], [1.0, 0.0], False), 0),
        ((np.zeros((5, 4)), np.zeros(5), False), 1),
        ((np.zeros((5, 4)), np.zeros(3), False), 0),
        ((np.zeros(5), np.zeros(5), False), 0),
        (Transition((0, 1), 0.5, False), 1),
        (("You are in a hall.", 1.0, False), 1),
        ((object(), 1.0, False), 0),
        (([1.0], 1.0), 0),
        (([1.0], 1.0, None), 0),
        (([1.0], False, 1.0), 0),
        (([1.0], 1.0, 0), 0),
        (([1.0], True, False), 0),
        ((np.zeros((5, 4)), np.zeros(5), np.zeros(4, dtype=bool)), 0),
        ((np.zeros((5, 4)), np.zeros(5), np.ones(5) * 0.5), 0),
        ((np.zeros((5, 4)), np.zeros((5, 2)), np.zeros((5, 2), dtype=bool)), 0),
        ([[1.0], 1.0, False], 0),
        (tuple(range(9)), 0),
    ],
)
def test_a_step_is_told_by_what_it_returns(result, steps):
    assert steps_of(object(), result) == steps


def test_an_environment_that_says_how_many_it_is_is_believed():
    assert steps_of(Many(), ([1.0], 1.0, False)) == 7


def test_what_only_says_that_it_is_a_list_is_not_asked():
    def refuse(*_: object) -> Any:
        raise AssertionError("nobody asks")

    methods = dict.fromkeys(("__len__", "__iter__", "__bool__", "values"), refuse)
    for name in ("list", "dict", "ndarray"):
        module = "numpy" if name == "ndarray" else "builtins"
        reward = type(name, (), {**methods, "__module__": module})()
        assert steps_of(object(), ([1.0], reward, False)) == 0


def test_a_step_that_the_program_holds_on_to_counts(monkeypatch, classes):
    world, before = World(), steps()
    held = world.advance

    def training(advance: Callable[[int], object], times: int) -> None:
        for _ in range(times):
            advance(1)

    sampled(monkeypatch, "advance", lambda: training(world.advance, 1))
    while_judged = world.advance
    training(world.advance, 1)
    for each in (held, while_judged):
        training(each, 3)

    assert steps() - before == 7
