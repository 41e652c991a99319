"""Stand-ins look, fail and pickle like what they stand in for, and are on no stack."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
import pydoc
import sys
import textwrap
import traceback
import weakref

import pytest

from rlprof.agent.inject.rlprof_agent import aside, stand_ins
from rlprof.agent.inject.rlprof_agent.stand_ins import StandIn


@pytest.fixture(autouse=True)
def _nothing_replaced(monkeypatch):
    monkeypatch.setattr(aside, "_parts", [StandIn])
    yield
    aside.step_back()


@pytest.fixture
def calls():
    return []


@pytest.fixture
def floor(calls):
    return StandIn(math.floor, stand_ins.after(lambda: calls.append("before"), math.floor))


def test_it_acts_and_does_what_the_other_does(floor, calls):
    assert floor(2.5) == 2
    assert calls == ["before"]


def test_it_looks_like_it(floor):
    assert repr(floor) == repr(math.floor)
    assert inspect.isbuiltin(floor)
    assert inspect.signature(floor) == inspect.signature(math.floor)
    assert (floor.__doc__, floor.__name__) == (math.floor.__doc__, "floor")
    assert copy.copy(floor) is floor


def test_one_of_a_function_of_pythons_is_saved_and_copied_as_that_is(monkeypatch):
    dedent = StandIn(textwrap.dedent, stand_ins.after(list, textwrap.dedent))
    monkeypatch.setattr(textwrap, "dedent", dedent)

    assert pickle.loads(pickle.dumps(dedent)) is dedent
    assert copy.deepcopy(dedent) is dedent


def test_help_shows_the_text_of_the_other(floor):
    assert pydoc.render_doc(floor).endswith(pydoc.render_doc(math.floor).partition("\n")[2])


def test_it_may_be_held_weakly(floor):
    assert weakref.ref(floor)() is floor


def test_it_fails_like_it(floor):
    with pytest.raises(TypeError) as raised:
        floor("none")

    (frame,) = traceback.extract_tb(raised.value.__traceback__)
    assert frame.filename == __file__


def test_an_error_of_ours_is_not_the_program_s():
    floor = StandIn(math.floor, None)  # Which cannot be called.

    assert floor(2.5) == 2


def test_aside_there_is_no_step_of_python_in_it(floor, calls):
    seen = []
    aside.step_aside()

    previous = sys.getprofile()
    sys.setprofile(lambda frame, event, _: seen.append((event, frame.f_code.co_filename)))
    try:
        floor(2.5)
    finally:
        sys.setprofile(previous)

    assert calls == []
    assert all(file == __file__ for _, file in seen)
    aside.step_back()
    floor(2.5)
    assert calls == ["before"]


def test_what_is_replaced_comes_and_goes(calls):
    class Owner:
        floor = math.floor

    stand_ins.replace(Owner, "floor", stand_ins.after(lambda: calls.append(1), math.floor))
    Owner.floor(2.5)
    aside.step_aside()

    assert Owner.floor is math.floor
    aside.step_back()
    Owner.floor(2.5)
    assert calls == [1, 1]


def test_what_the_program_put_there_meanwhile_stays():
    class Owner:
        floor = math.floor

    stand_ins.replace(Owner, "floor", lambda: math.floor)
    Owner.floor = math.ceil
    aside.step_aside()
    aside.step_back()

    assert Owner.floor is math.ceil


def test_a_hook_is_c_code_aside(calls):
    hook = aside.hook(lambda: calls.append(1), lambda: bool)

    hook()
    aside.step_aside()
    assert hook() is False
    aside.step_back()
    hook()

    assert calls == [1, 1]
