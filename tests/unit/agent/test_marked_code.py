"""Code with a mark at its beginning does what it did, line for line: all functions of many modules of Python's, in each Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rlprof.agent.inject import rlprof_agent
from rlprof.agent.inject.rlprof_agent.counted.marked_code import marked
from tests.e2e.conftest import OTHER_PYTHONS, find_python

COMPARES = Path(__file__).parent / "marked_library.py"


@pytest.mark.parametrize("version", ["ours", *OTHER_PYTHONS])
def test_all_functions_of_the_standard_library_stay_as_they_are(version):
    python = sys.executable if version == "ours" else find_python(version)
    inject = str(Path(rlprof_agent.__file__).parents[1])

    compared = subprocess.run(
        [python, str(COMPARES), inject], capture_output=True, text=True, timeout=300, check=False
    )

    assert compared.returncode == 0, compared.stderr
    told = json.loads(compared.stdout)
    assert told["differ"] == []
    assert told["compared"] > 1_000


def counted(function):
    """The calls of ``function`` that are looked at, each with what it was given first."""
    seen: list[object] = []
    code = marked(function.__code__, iter([True, False, True]), seen.append)
    assert code is not None
    function.__code__ = code
    return seen


def test_a_look_is_given_the_first_argument():
    class Env:
        def step(self, action):
            return action

    seen = counted(Env.step)
    env = Env()

    assert [env.step(n) for n in range(5)] == list(range(5))
    # By the second item, which is false, and once there is none any more.
    assert seen == [env] * 3


def test_an_argument_that_a_function_within_takes_is_given_too():
    class Env:
        def step(self, action):
            return (lambda: (self, action))()

    seen = counted(Env.step)
    env = Env()

    assert env.step(1) == (env, 1)
    assert env.step(2) == (env, 2)
    assert seen == [env]


def test_one_without_arguments_and_one_that_takes_any():
    def bare():
        return 1

    def packed(*given, times=1):
        return given, times

    seen_of_bare, seen_of_packed = counted(bare), counted(packed)

    assert [bare(), bare()] == [1, 1]
    assert [packed(1, 2), packed(3, times=4)] == [((1, 2), 1), ((3,), 4)]
    assert seen_of_bare == [None]
    assert seen_of_packed == [(3,)]


def test_an_error_of_the_look_is_raised_in_the_first_line():
    def step():
        return 1

    def look(_):
        raise KeyboardInterrupt

    step.__code__ = marked(step.__code__, iter([]), look)

    with pytest.raises(KeyboardInterrupt) as raised:
        step()
    assert raised.traceback[1].lineno == step.__code__.co_firstlineno


def test_a_coroutine_is_looked_at_when_it_is_awaited():
    async def step(action):
        return action

    seen = counted(step)
    for action in range(2):
        begun = step(action)
        assert len(seen) == 0
        with pytest.raises(StopIteration):
            begun.send(None)

    assert seen == [1]


def test_a_tracer_sees_the_lines_that_it_saw():
    def step(action):
        if action:
            return action
        return 0

    def lines(function):
        seen = []

        def trace(frame, event, _):
            if frame.f_code.co_name == "step":
                seen.append((event, frame.f_lineno))
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            function(1)
        finally:
            sys.settrace(before)
        return seen

    bare = lines(step)
    step.__code__ = marked(step.__code__, iter([True] * 10), print)

    assert lines(step) == bare


def test_a_generator_has_no_mark():
    def step():
        yield 1

    assert marked(step.__code__, iter([]), print) is None
