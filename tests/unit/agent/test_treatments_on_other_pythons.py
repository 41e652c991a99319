"""Treatments under every Python that the agent runs in: code objects differ from one to the next."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import rlprof.agent
from tests.live_processes import find_python

INJECT = Path(rlprof.agent.__file__).parent / "inject"

PROGRAM = """
import functools
import logging

logger = logging.getLogger("pythons.train")
seen = []

class Q:
    def __format__(self, spec):
        seen.append("built")
        return "q"

def step(q, *, n=1):
    logger.debug(f"q = {q}")
    return n

def saves(n):
    total = 0
    for i in range(n):
        total += i
        seen.append((
            i,
            total,
        ))
    return [total for _ in range(2)], {k: total for k in "a"}, (lambda: total)()

def keywords(a, /, b, *rest, c, d=4, **more):
    return [a, b, rest, c, d, more]

def around(base):
    def inner(value=1):
        nonlocal base
        base += value
        seen.append(base)
        return base
    return inner

class Base:
    def step(self, action):
        return "base", action

class Env(Base):
    def step(self, action):
        self.__note(action)
        return (__class__.__name__, *super().step(action))

    def __note(self, action):
        self.noted = action

    @classmethod
    def named(cls, a):
        return [cls.__name__, a]

    @staticmethod
    def fixed(a=3):
        return [a]

def wrapping(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper

@wrapping
def decorated(a):
    return ["decorated", a]

halved = lambda a: [a / 2]

def fails(a):
    raise KeyError(a)

def batches():
    yield 1

async def awaits():
    return 1
"""

CHECKS = """
import gc, logging, os, sys, time, traceback, warnings
warnings.simplefilter("error")
sys.path.insert(0, sys.argv[1])
import marshal
import types
from rlprof_agent import layout
from rlprof_agent.mailbox import Mailbox
from rlprof_agent.treatments import ProcessTreatment

path = sys.argv[2]
with open(path) as file:
    text = file.read()
train = types.ModuleType("train")
train.__file__ = path
exec(compile(text, path, "exec"), train.__dict__)
sys.modules["train"] = train
mailbox, trial, number = Mailbox(10_000), ProcessTreatment(), 0
cells = mailbox.cells


def line(piece):
    return next(i for i, each in enumerate(text.splitlines(), 1) if piece in each)


def turn():
    cells[layout.CELL_TREATMENT_BEAT_NS] = time.monotonic_ns()
    trial.follow(mailbox)
    (size,) = layout.LENGTH.unpack(mailbox.reply[: layout.LENGTH.size])
    why = bytes(mailbox.reply[layout.LENGTH.size : layout.LENGTH.size + size]).decode()
    return cells[layout.CELL_TREATMENT_STATE] % layout.TREATMENT_STATES, why


def arm(*parts):
    global number
    number += 1
    data = marshal.dumps(list(parts), 2)
    mailbox.treatment[: layout.LENGTH.size + len(data)] = layout.LENGTH.pack(len(data)) + data
    cells[layout.CELL_TREATMENT_WANTED] = 0
    cells[layout.CELL_TREATMENT_ASKED] = number
    return turn()


def want(is_on):
    cells[layout.CELL_TREATMENT_WANTED] = int(is_on)
    return turn()


def call(what, function, **more):
    code = function.__code__
    place = {"file": code.co_filename, "line": code.co_firstlineno, "name": code.co_name}
    return dict(place, way="call", what=what, **more)


def edit(what, function, at, **more):
    return dict(call(what, function, **more), way="edit", path=path, at=line(at))


def refused(part):
    state, why = arm(part)
    assert state == layout.TREATMENT_REFUSED, (state, why)
    return why


# Calls: the same arguments, the same answers, and nothing left.
inner = train.around(1)
cases = [
    (train.keywords, lambda: train.keywords(1, 2, 3, c=4, a=5, e=6)),
    (train.keywords, lambda: train.keywords(1, b=2, c=4)),
    (train.Env.step, lambda: train.Env().step(3)),
    (train.Env.named.__func__, lambda: train.Env.named(3)),
    (train.Env.fixed, lambda: train.Env().fixed()),
    (train.decorated.__wrapped__, lambda: train.decorated(3)),
    (train.decorated, lambda: train.decorated(3)),
    (train.halved, lambda: train.halved(3)),
    (inner, lambda: type(inner())),
]
for what in "every", "from-memory":
    for function, made in cases:
        code, untreated = function.__code__, made()
        for _ in range(20_000 if function is train.halved else 20):
            made()  # Until it is specialized.
        state = arm(call(what, function, every=1))
        assert state == (layout.TREATMENT_OFF, ""), state
        for _ in range(3):
            assert want(True)[0] == layout.TREATMENT_ON
            assert function.__code__ is not code
            for _ in range(100):
                assert made() == untreated, (function, made())
            assert want(False)[0] == layout.TREATMENT_OFF
            assert function.__code__ is code
            assert made() == untreated
        reached = cells[layout.CELL_TREATMENT_REACHED]
        # But for those that fill a memory.
        assert reached == 300 if what == "every" else 0 < reached <= 300, (function, reached)

for function in train.batches, train.awaits:
    assert "generator or coroutine" in refused(call("every", function, every=2))

# Errors.
arm(call("every", train.fails, every=2))
want(True)
error = KeyError("given")
try:
    train.fails(error)
except KeyError as caught:
    assert caught.args == (error,)
    names = [each.name for each in traceback.extract_tb(caught.__traceback__)]
    if sys.version_info >= (3, 11):
        assert names == ["<module>", "fails"], names
    assert names[-1] == "fails"
else:
    raise AssertionError
arm(call("every", train.keywords, every=2))
want(True)
try:
    train.keywords()
except TypeError as caught:
    assert str(caught).startswith("keywords()"), caught
want(False)

# By name.
for name in "keywords", "Env.step", "Env.named", "Env.fixed", "Env._Env__note", "halved":
    assert arm({"way": "call", "what": "every", "every": 2, "module": "train", "qualname": name})[0] == 1, name

# Edits: what a function has run for does not matter.
for _ in range(20_000):
    train.step(None)
train.saves(3)
for function, at in (
    (train.saves, "seen.append(("),
    (train.saves, "            total,"),
    (train.Env.step, "self.__note(action)"),
    (inner, "seen.append(base)"),
):
    code = function.__code__
    state = arm(edit("every", function, at, every=3))
    assert state == (layout.TREATMENT_OFF, ""), (at, state)
    want(True)
    assert function.__code__ is not code
    assert function.__code__.co_firstlineno == code.co_firstlineno
    if function is train.saves:
        train.seen.clear()
        assert train.saves(7) == ([21, 21], {"a": 21}, 21)
        assert train.seen == [(0, 0), (3, 6), (6, 21)], train.seen
    if function is train.Env.step:
        envs = [train.Env() for _ in range(4)]
        assert [each.step(1) for each in envs] == [("Env", "base", 1)] * 4
        assert ["noted" in vars(each) for each in envs] == [True, False, False, True]
    want(False)
    assert function.__code__ is code

train.logger.setLevel(logging.INFO)
code = train.step.__code__
state = arm(edit("if-logged", train.step, "logger.debug"))
assert state == (layout.TREATMENT_OFF, ""), state
train.seen.clear()
want(True)
assert [train.step(train.Q(), n=3) for _ in range(100)] == [3] * 100
assert not train.seen
want(False)
train.step(train.Q())
assert train.seen == ["built"] and train.step.__code__ is code

# A changed file.
for changed in (
    text.replace('q = {q}', 'Q = {q}'),
    text.replace("n=1", "*, n=1").replace("*, *,", "m=0, *,"),
    text.replace("    logger.debug", "\\n    logger.debug"),
):
    assert changed != text
    with open(path, "w") as file:
        file.write(changed)
    assert "has changed" in refused(edit("if-logged", train.step, "logger.debug"))
with open(path, "w") as file:
    file.write(text)

# The collector.
before = gc.get_threshold()
assert arm({"way": "setting", "what": "collector"})[0] == layout.TREATMENT_OFF
want(True)
assert gc.get_freeze_count() > 0
trial.end()
assert gc.get_threshold() == before
assert gc.get_freeze_count() == 0
print("all is well")
"""


@pytest.fixture(params=["ours", "3.9", "3.10", "3.12", "3.13"])
def python(request: pytest.FixtureRequest) -> Path:
    found = Path(sys.executable) if request.param == "ours" else find_python(request.param)
    if found is None:
        pytest.skip(f"no Python {request.param} on PATH or in pyenv")
    return found


@pytest.mark.parametrize("options", [[], ["-X", "dev"]], ids=["plain", "dev"])
def test_functions_are_treated_and_given_back(python, options, tmp_path):
    program, checks = tmp_path / "train.py", tmp_path / "checks.py"
    program.write_text(PROGRAM)
    checks.write_text(CHECKS)

    done = subprocess.run(
        [python, "-I", *options, checks, INJECT, program],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert done.stdout == "all is well\n", done.stderr
