from __future__ import annotations

import functools
import gc
import io
import math
import multiprocessing as mp
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.pool import IMapIterator, Pool, ThreadPool
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import torch

from rlprof.agent.inject.rlprof_agent.counters import counter
from rlprof.agent.inject.rlprof_agent.treatments import AskedPart, RefusedError, memories, missed
from rlprof.agent.inject.rlprof_agent.treatments.calls import TreatedCalls


class Told:
    """What became of a treatment."""

    def __init__(self) -> None:
        self.reached = [0]
        self.errors: list[BaseException] = []


@contextmanager
def treated(function: Callable[..., Any], what: str, **part: Any) -> Iterator[Told]:
    code = function.__code__
    told = Told()
    whose = {"file": code.co_filename, "line": code.co_firstlineno, "name": code.co_name}
    calls = TreatedCalls(
        AskedPart({"what": what, **whose, **part}, told.reached, told.errors.append)
    )
    calls.put_on()
    try:
        yield told
    finally:
        calls.take_off()
        assert function.__code__ is code


def test_what_was_asked_before_is_answered_from_memory():
    made = []

    def square(x: list[int]) -> int:
        made.append(x)
        return len(x) ** 2

    with treated(square, "from-memory") as told:
        answers = [square([1, 2]) for _ in range(100)]
        other = square([1, 2, 3])

    assert set(answers) == {4}
    assert other == 9
    assert len(made) < 50
    # None of those that were made.
    assert told.reached == [101 - len(made)]


class Environment:
    def step(self, action: int) -> int:
        return action


def test_of_more_objects_than_are_told_apart_one_answers_for_another():
    environments = [Environment() for _ in range(200)]

    with treated(Environment.step, "from-memory") as told:
        for _ in range(3):
            for environment in environments:
                environment.step(1)

    assert told.errors == []
    assert told.reached[0] >= 400


def test_a_slow_function_that_is_given_a_new_object_each_time_is_answered_all_the_same(monkeypatch):
    clock = iter(range(0, 10**15, 100_000_000))
    monkeypatch.setattr(memories.time, "perf_counter_ns", lambda: next(clock))

    def collect(_: Environment) -> None:
        pass

    with treated(collect, "from-memory") as told:
        for _ in range(20):
            collect(Environment())

    assert told.errors == []
    assert told.reached[0] >= 8


def test_of_calls_of_which_no_two_are_alike_none_is_a_ceiling():
    def joined(lengths: list[int]) -> int:
        return sum(lengths)

    with treated(joined, "from-memory") as told:
        for length in range(200):
            joined([length] * length)

    assert "no two of its calls are alike" in str(told.errors[0])


def test_a_slow_function_is_answered_soon():
    made = []

    def slow() -> None:
        made.append(torch.linalg.svd(torch.rand(300, 300)))

    with treated(slow, "from-memory"):
        for _ in range(40):
            slow()

    assert len(made) < 32


class Loss(NamedTuple):
    total: torch.Tensor


@dataclass(slots=True)
class Slotted:
    loss: torch.Tensor


def in_a_closure(loss: torch.Tensor) -> Callable[[], torch.Tensor]:
    return lambda: loss


HELD: dict[str, Callable[[torch.Tensor], Any]] = {
    "a dictionary": lambda loss: {"values": loss},
    "a named tuple": Loss,
    "slots": Slotted,
    "a queue": lambda loss: deque([None] * 50 + [loss]),
    "an object": lambda loss: SimpleNamespace(parts=[{"policy": (loss,)}]),
    "a bound method": lambda loss: loss.backward,
    "a closure": lambda loss: functools.partial(in_a_closure(loss)),
}


@pytest.mark.parametrize("held", HELD)
def test_no_answer_is_given_again_through_which_gradients_go_back(held):
    weight = torch.ones(2, requires_grad=True)

    def forward(x: torch.Tensor) -> Any:
        return HELD[held]((x * weight).sum())

    with treated(forward, "from-memory") as told:
        forward(torch.ones(2))

    assert isinstance(told.errors[0], RefusedError)


def test_parameters_and_plain_tensors_are_given_again():
    network = torch.nn.Linear(2, 2)

    def forward(x: torch.Tensor) -> Any:
        with torch.no_grad():
            return {"values": network(x), "by": network, "more": [object()] * 5000}

    with treated(forward, "from-memory") as told:
        forward(torch.ones(2))

    assert told.errors == []


def test_no_call_is_left_out_within_which_steps_are_counted():
    steps = counter("steps:of-this-test")

    def rollout() -> int:
        steps.cell[0] += 8
        return 8

    for what, part in (("from-memory", {}), ("every", {"every": 50})):
        with treated(rollout, what, counter="steps:of-this-test", **part) as told:
            assert rollout() == 8
        assert "counted" in str(told.errors[0])


def test_calls_from_other_lines_stay_as_they_are():
    def double(x: int) -> int:
        return 2 * x

    def here(x: int) -> int:
        return double(x)

    line = here.__code__.co_firstlineno + 1
    place = {"from_file": __file__, "from_line": line, "to_line": line}
    with treated(double, "every", every=50, **place) as told:
        assert [here(1), here(2), double(3)] == [2, 2, 6]

    assert told.reached == [2]


def test_an_answer_of_another_shape_stands_for_no_call():
    """Activation checkpointing in a policy on texts that grow: the training would fail."""

    def layer(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    with treated(layer, "every", every=50) as told:
        shapes = [tuple(layer(torch.ones(length)).shape) for length in (3, 3, 4, 4, 5)]

    assert shapes == [(3,), (3,), (4,), (4,), (5,)]
    assert told.reached == [3], "the first, and those of the length of the one before"


def test_a_network_is_asked_without_gradients_from_one_line_alone():
    network = torch.nn.Linear(2, 2)

    def act() -> torch.Tensor:
        return network(torch.ones(2))

    line = act.__code__.co_firstlineno + 1
    part = {"what": "without-gradients", "module": "torch.nn.modules.linear"}
    place = {"from_file": __file__, "from_line": line, "to_line": line}
    reached = [0]
    calls = TreatedCalls(
        AskedPart({**part, "qualname": "Linear.forward", **place}, reached, pytest.fail)
    )
    calls.put_on()
    try:
        acted, learned = act(), network(torch.ones(2))
    finally:
        calls.take_off()

    assert not acted.requires_grad
    assert learned.requires_grad
    assert act().requires_grad
    assert reached == [1]


def test_a_function_in_c_is_left_out_in_its_module():
    own = math.gamma
    part = {"what": "every", "module": "math", "attribute": "gamma", "every": 3}
    calls = TreatedCalls(AskedPart(part, [0], pytest.fail))
    calls.put_on()
    try:
        answers = [math.gamma(number) for number in (1, 2, 3, 4)]
    finally:
        calls.take_off()

    assert answers == [1, 1, 1, 6]
    assert math.gamma is own


def test_objects_get_what_one_made_the_same_way_began_with():
    class Maze:
        def __init__(self, side: int) -> None:
            self.walls = [0] * side
            self.at = 0

    with treated(Maze.__init__, "made-from-memory"):
        first = Maze(9)
        first.at = 5
        second = Maze(9)

    assert (second.at, second.walls) == (0, [0] * 9)
    # What is taken out of one is there in the next.
    assert second.walls is not first.walls


@pytest.mark.parametrize("ending", [lambda: io.StringIO(), lambda: iter([1]), threading.Lock])
def test_an_object_that_holds_what_ends_is_set_up(ending):
    class Maze:
        def __init__(self) -> None:
            self.log = ending()

    with treated(Maze.__init__, "made-from-memory") as its:
        mazes = Maze(), Maze()

    assert mazes[0].log is not mazes[1].log
    assert str(its.errors[0]) == "its log can be closed or used up"


class Closing:
    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("made", "told"), [(Closing, ["what it makes can be closed or used up"]), (list, [])]
)
def test_objects_that_can_be_closed_are_not_answered_from_memory(made, told):
    def make(kind):
        return kind()

    with treated(make, "from-memory", makes=1) as its:
        make(made)

    assert [str(each) for each in its.errors] == told


def test_objects_of_other_classes_that_inherit_it_are_set_up():
    class Base:
        def __init__(self) -> None:
            self.parts: list[int] = []

    class Maze(Base):
        pass

    class Other(Base):
        pass

    with treated(Base.__init__, "made-from-memory", qualname="Maze.__init__") as told:
        first, second = Other(), Other()
        mazes = Maze(), Maze()

    assert first.parts is not second.parts
    assert len(mazes) == 2
    assert told.reached == [2]


def test_a_no_is_followed_by_a_pause():
    event = mp.get_context("fork").Event()
    begun = os.times().elapsed
    with treated(type(event).is_set, "pauses", no=0, pause_us=20_000):
        assert not event.is_set()
        event.set()
        assert event.is_set()

    assert os.times().elapsed - begun >= 0.01


@pytest.fixture
def pool() -> Iterator[ThreadPool]:
    with ThreadPool(2) as pool:
        yield pool


@pytest.mark.parametrize("given", [{"chunksize": 4}, {}])
def test_a_pool_hands_out_tasks_one_by_one(given, pool):
    with treated(Pool._map_async, "chunks-of-one", position=4) as told:
        mapped = pool.map_async(abs, [-1, -2, -3, -4], **given)
        starred = pool.starmap(max, [(1, 2), (3, 4)], 2)

    assert (mapped.get(10), mapped._chunksize) == ([1, 2, 3, 4], 1)
    assert starred == [2, 4]
    assert told.reached == [2]


@pytest.mark.parametrize("name", ["imap", "imap_unordered"])
def test_so_it_does_where_answers_come_one_after_the_other(name, pool):
    with treated(getattr(Pool, name), "chunks-of-one", position=3):
        by_place = getattr(pool, name)(abs, [-1, -2, -3, -4], 4)
        by_name = getattr(pool, name)(abs, [-1, -2, -3, -4], chunksize=4)

    for answers in (by_place, by_name):
        # Of chunks it would be a generator.
        assert isinstance(answers, IMapIterator)
        assert sorted(answers) == [1, 2, 3, 4]


def test_an_executor_hands_out_tasks_one_by_one():
    submitted = []

    class Executor(ProcessPoolExecutor):
        def submit(self, work: Any, /, *given: Any, **options: Any) -> Future[Any]:
            submitted.append(given)
            done: Future[Any] = Future()
            done.set_result(work(*given, **options))
            return done

    with Executor(2) as executor, treated(ProcessPoolExecutor.map, "chunks-of-one", position=0):
        answers = list(executor.map(max, [1, 5, 3], [4, 2, 6], chunksize=3))

    assert answers == [4, 5, 6]
    assert len(submitted) == 3


def test_what_the_training_waits_for_is_made_up_for(monkeypatch):
    monkeypatch.setattr(missed, "_SILENT_NS", 100_000_000)
    ours, theirs = mp.get_context("fork").Pipe()

    def send(message: int) -> None:
        theirs.send(message)

    with treated(send, "every", every=50, messages=1) as told:
        for number in range(5):
            send(number)
        received = [ours.recv() for _ in range(5)]

    assert received == [0, 1, 2, 3, 4]
    assert "waits" in str(told.errors[0])


def test_a_question_that_was_answered_from_memory_is_asked_where_the_training_waits_for_its_answer(
    monkeypatch,
):
    monkeypatch.setattr(missed, "_SILENT_NS", 100_000_000)
    questions: SimpleQueue[str] = SimpleQueue()
    answers, tells = os.pipe()

    def engine() -> None:
        while question := questions.get():
            os.write(tells, question.encode())

    thread = threading.Thread(target=engine)
    thread.start()

    def tell(action: str) -> None:
        questions.put(action)

    with treated(tell, "from-memory") as told:
        for _ in range(100):
            tell("left!")
            # In C, below no line of the standard library's.
            assert os.read(answers, 5) == b"left!"
    questions.put("")
    thread.join()
    os.close(answers)
    os.close(tells)

    assert "waits" in str(told.errors[0])


def test_what_is_read_or_written_is_not_answered_from_memory_where_there_are_pipes():
    read, write = os.pipe()

    def tell() -> None:
        os.write(write, b"left!")

    with treated(tell, "from-memory") as told:
        tell()
    os.close(read)
    os.close(write)

    assert str(told.errors[0]) == "it reads or writes, and another process may wait for that"


def test_a_file_is_read_for_nobody_else(tmp_path, monkeypatch):
    path = tmp_path / "episodes"
    path.write_bytes(b"episode")
    # The tests' own process has pipes. A list of descriptors names the one it was read by, too.
    monkeypatch.setattr(memories.os, "listdir", lambda _: ["0", "1", "2", "1000000"])

    def read() -> bytes:
        return path.read_bytes()

    with treated(read, "from-memory") as told:
        assert read() == b"episode"

    assert told.errors == []


def test_nothing_is_made_up_for_where_the_training_goes_on():
    sent = []

    def send(message: object) -> None:
        sent.append(message)

    with treated(send, "every", every=50, messages=1) as told:
        for number in range(5):
            send(number)

    assert sent == [0]
    assert not told.errors


def test_nothing_of_the_program_is_kept_once_it_is_gone():
    class Weights:
        pass

    def publish(weights: Weights) -> Weights:
        return weights

    weights = Weights()
    known = weakref.ref(weights)
    with treated(publish, "from-memory"):
        publish(weights)
    del weights
    gc.collect()

    assert known() is None
