from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest
import torch

from rlprof.agent.inject.rlprof_agent.treatments import AskedPart, RefusedError
from rlprof.agent.inject.rlprof_agent.treatments.edits import Edit

TEXT = """\
import copy
import logging
import torch

logger = logging.getLogger("of this test")
network = torch.nn.Linear(2, 2)

def act(x):
    values = network(x)
    return values

def learn(x):
    first = network(x)
    second = network(x)
    return first, second

def follow(slow, fast):
    for a, b in zip(slow, fast):
        moved = 0.5 * a
        slow[slow.index(a)] = moved + 0.5 * b
    return slow

def last(numbers):
    for number in numbers:
        kept = number
    return kept

def search(game):
    trials = [copy.deepcopy(game) for _ in range(100)]
    return trials

def describe(x):
    logger.debug(f"one {x}")
    logger.debug(f"two {x}")
    logger.info(f"three {x}")

def save(path):
    path.append(1)

def ask(engine):
    engine.write("left")
"""
LINE = {text: number for number, text in enumerate(TEXT.splitlines(), 1)}


@pytest.fixture
def program(tmp_path) -> ModuleType:
    file = tmp_path / "train.py"
    file.write_text(TEXT)
    spec = importlib.util.spec_from_file_location("train_of_this_test", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def edited(function: Callable[..., Any], what: str, *lines: str, **part: Any) -> Any:
    code = function.__code__
    file, line = code.co_filename, code.co_firstlineno
    numbers = [next(at for text, at in LINE.items() if text.strip() == one) for one in lines]
    whose = {"file": file, "path": file, "line": line, "name": code.co_name}
    where = {"at": numbers[0], "lines": " ".join(map(str, numbers))}
    reached = [0]
    edit = Edit(AskedPart({"what": what, **whose, **where, **part}, reached, pytest.fail))
    edit.put_on()
    try:
        yield reached
    finally:
        edit.take_off()
        assert function.__code__ is code


def test_a_network_is_asked_without_gradients(program):
    x = torch.ones(2)
    with edited(program.act, "without-gradients", "values = network(x)") as reached:
        assert not program.act(x).requires_grad
        assert torch.is_grad_enabled()

    assert program.act(x).requires_grad
    assert reached == [1]


def test_all_lines_of_one_function_are_changed(program):
    lines = ("first = network(x)", "second = network(x)")
    with edited(program.learn, "without-gradients", *lines) as reached:
        assert not any(answer.requires_grad for answer in program.learn(torch.ones(2)))

    assert reached == [2]


def test_a_loop_is_left_out(program):
    with edited(program.follow, "every-loop", "moved = 0.5 * a", every=50) as reached:
        moved = [program.follow([0.0], [1.0]) for _ in range(3)]

    assert moved == [[0.5], [0.0], [0.0]]
    assert reached == [3]


def test_no_loop_is_left_out_whose_names_are_read_after_it(program):
    with (
        pytest.raises(RefusedError),
        edited(program.last, "every-loop", "kept = number", every=50),
    ):
        pass


def test_copies_are_handed_out_again(program):
    game = {"board": [0] * 9}
    line = "trials = [copy.deepcopy(game) for _ in range(100)]"
    with edited(program.search, "copies-from-memory", line, call="copy.deepcopy") as reached:
        trials = program.search(game)
        # What is taken out of one is there in all others.
        for trial in trials:
            assert trial == game
            trial["board"].pop()
        assert program.search(game) == [game] * 100

    assert reached[0] > 100


def test_messages_of_levels_that_are_off_are_left_out(program):
    class Text:
        made = 0

        def __str__(self) -> str:
            Text.made += 1
            return "text"

        __format__ = lambda self, _: str(self)  # noqa: E731

    lines = ('logger.debug(f"one {x}")', 'logger.debug(f"two {x}")')
    program.logger.setLevel("INFO")
    with edited(program.describe, "if-logged", *lines) as reached:
        program.describe(Text())

    assert Text.made == 1
    assert reached == [2]


def test_a_file_that_has_changed_is_refused(program, tmp_path):
    file = tmp_path / "train.py"
    file.write_text(TEXT.replace("path.append(1)", "path.append(2)"))

    with (
        pytest.raises(RefusedError, match="changed"),
        edited(program.save, "every", "path.append(1)", every=50),
    ):
        pass


def test_what_is_written_to_a_file_is_left_out(program, tmp_path):
    with (tmp_path / "log").open("w") as log:
        with edited(program.ask, "every", 'engine.write("left")', every=50):
            for _ in range(10):
                program.ask(log)
        assert log.tell() == len("left")


def test_what_another_process_may_wait_for_is_not(program):
    read, write = os.pipe()
    told: list[BaseException] = []
    code = program.ask.__code__
    whose = {"file": code.co_filename, "path": code.co_filename, "name": code.co_name}
    part = {"what": "every", **whose, "line": code.co_firstlineno, "every": 50}
    edit = Edit(AskedPart({**part, "at": code.co_firstlineno + 1}, [0], told.append))

    with os.fdopen(read) as engine, os.fdopen(write, "w") as pipe:
        edit.put_on()
        program.ask(pipe)
        edit.take_off()
        pipe.close()
        heard = engine.read()

    assert heard == "left"
    assert str(told[0]) == "another process may wait for what is written there"
