"""Calls that are treated: left out, answered from memory, made without gradients, made of another function."""

from __future__ import annotations

import inspect
import sys
import traceback
import warnings
from types import SimpleNamespace
from typing import Any

import pytest

from rlprof.agent.inject.rlprof_agent.counted import call_marks
from rlprof.agent.inject.rlprof_agent.counted.dressing import is_counting
from rlprof.agent.inject.rlprof_agent.counted.outermost import outermost
from rlprof.agent.inject.rlprof_agent.counters import EventCounter
from rlprof.agent.inject.rlprof_agent.treatments.calls import shape_of
from rlprof.recording.mailboxes.treatment_desk import TreatmentState
from tests.treated_program import Program, Try

ON, OFF = TreatmentState.ON, TreatmentState.OFF

PROGRAM = """
import functools

def plain(a, b=2):
    return ["plain", a, b]

def keywords(a, /, b, *rest, c, d=4, **more):
    return ["keywords", a, b, rest, c, d, more]

def around(base):
    added = [base]
    def inner(value=1):
        added.append(value)
        return sum(added)
    return inner

class Base:
    def step(self, action):
        return ("base", action)

class Env(Base):
    def step(self, action, *, twice=False):
        above = super().step(action)
        return (__class__.__name__, *above, twice)

    @staticmethod
    def fixed(a=1):
        return ["fixed", a]

    @classmethod
    def named(cls, a):
        return [cls.__name__, a]

    def __secret(self, a):
        return ["secret", a]

    def tells(self, a):
        return self.__secret(a)

def decorated_by(function):
    @functools.wraps(function)
    def wrapper(*args):
        return ["wrapped", function(*args)]
    return wrapper

@decorated_by
def decorated(a):
    return ["decorated", a]

halved = lambda a: a / 2

def fails(a):
    raise KeyError(a)

def numbers():
    yield 1

async def awaited():
    return 1

async def both():
    yield 1
"""


@pytest.fixture
def program(tmp_path) -> Program:
    return Program(tmp_path, PROGRAM)


@pytest.fixture
def its_try():
    its_try = Try()
    yield its_try
    its_try.leave()


ATTRIBUTES = (
    "__name__",
    "__qualname__",
    "__module__",
    "__doc__",
    "__defaults__",
    "__kwdefaults__",
    "__closure__",
    "__dict__",
    "__annotations__",
    "__globals__",
)

CASES = {
    "defaults": (lambda p: p.plain, lambda p: p.plain(1)),
    "keywords": (lambda p: p.plain, lambda p: p.plain(b=1, a=3)),
    "all kinds of arguments": (
        lambda p: p.keywords,
        lambda p: p.keywords(1, 2, 3, 4, c=5, a=6, e=7),
    ),
    "keyword-only default": (lambda p: p.keywords, lambda p: p.keywords(1, 2, c=3)),
    "method": (lambda p: p.Base.step, lambda p: p.Base().step(4)),
    "method with super": (lambda p: p.Env.step, lambda p: p.Env().step(4, twice=True)),
    "staticmethod": (lambda p: p.Env.fixed, lambda p: p.Env().fixed()),
    "classmethod": (lambda p: p.Env.named.__func__, lambda p: p.Env.named(3)),
    "mangled name": (lambda p: vars(p.Env)["_Env__secret"], lambda p: p.Env().tells(2)),
    "under a decorator": (lambda p: p.decorated.__wrapped__, lambda p: p.decorated(2)),
    "decorator": (lambda p: p.decorated, lambda p: p.decorated(2)),
    "lambda": (lambda p: p.halved, lambda p: p.halved(3)),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_treated_call_gets_the_same_and_leaves_nothing(case, program, its_try):
    function, calls = case[0](program), case[1]
    code, before = function.__code__, [getattr(function, name) for name in ATTRIBUTES]
    untreated, signature = calls(program), inspect.signature(function)

    assert its_try.arm(program.call("every", function, every=1)).state is OFF
    assert function.__code__ is code
    assert its_try.want(True).state is ON
    assert function.__code__ is not code
    assert calls(program) == untreated
    assert its_try.want(False).state is OFF
    assert function.__code__ is code
    assert its_try.desk.told().reached == 1
    its_try.leave()

    assert function.__code__ is code
    assert all(getattr(function, n) is v for n, v in zip(ATTRIBUTES, before, strict=True))
    assert inspect.signature(function) == signature
    assert calls(program) == untreated


def test_it_is_on_and_off_as_often_as_it_is_asked_for(program, its_try):
    code = program.plain.__code__
    its_try.arm(program.call("every", program.plain, every=10))

    for _ in range(5):
        its_try.want(True)
        treated = program.plain.__code__
        assert program.plain(1) == ["plain", 1, 2]
        its_try.want(False)
        assert program.plain.__code__ is code
        assert treated is not code


def test_every_nth_call_is_made_and_the_others_get_what_the_last_one_gave(program, its_try):
    with its_try.on(program.call("every", program.plain, every=3)):
        given = [program.plain(number)[1] for number in range(7)]

    assert given == [0, 0, 0, 3, 3, 3, 6]


def test_each_closure_has_its_own_calls(program, its_try):
    one, other = program.around(1), program.around(10)

    with its_try.on(program.call("every", one, every=2)):
        given = [one(), other(), one(), other(), one(), other()]

    assert given == [2, 11, 2, 11, 3, 12]
    assert (one(), other()) == (4, 13)


def test_one_definition_of_several_with_one_name(tmp_path, its_try):
    program = Program(
        tmp_path,
        """
        class One:
            def step(self): return "one"
        class Two:
            def step(self): return "two"
        calls = []
        """,
    )
    one, two = program.One.step.__code__, program.Two.step.__code__

    its_try.arm(program.call("every", program.Two.step, every=2))
    its_try.want(True)

    assert program.One.step.__code__ is one
    assert program.Two.step.__code__ is not two


def test_whoever_holds_on_to_a_method_is_treated_too(program, its_try):
    step = program.Base().step

    with its_try.on(program.call("every", program.Base.step, every=10)):
        assert [step(1), step(2)] == [("base", 1), ("base", 1)]

    assert step(2) == ("base", 2)


@pytest.mark.parametrize("what", ["every", "from-memory"])
def test_an_error_of_the_programs_passes_as_it_was(what, program, its_try):
    more = {"every": 2} if what == "every" else {}
    error = KeyError("given")

    with its_try.on(program.call(what, program.fails, **more)), pytest.raises(KeyError) as caught:
        program.fails(error)

    assert caught.value.args == (error,)
    assert its_try.desk.told().state is not TreatmentState.WITHDRAWN
    if sys.version_info >= (3, 11):
        told = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert told[1:] == ["fails"]


def test_an_error_does_not_count_as_an_answer(tmp_path, its_try):
    program = Program(
        tmp_path,
        """
        made = []
        def step(n):
            made.append(n)
            if len(made) == 1:
                raise OSError("once")
            return n
        """,
    )

    with its_try.on(program.call("every", program.step, every=3)):
        with pytest.raises(OSError, match="once"):
            program.step(0)
        assert [program.step(n) for n in (1, 2, 3, 4)] == [1, 1, 1, 4]


def test_an_error_of_the_calls_arguments_names_the_function(program, its_try):
    with (
        its_try.on(program.call("every", program.plain, every=2)),
        pytest.raises(TypeError, match=r"plain\(\) missing 1 required positional argument: 'a'"),
    ):
        program.plain()


def test_a_warning_is_told_of_its_caller(tmp_path, its_try):
    program = Program(
        tmp_path,
        """
        import warnings
        def old():
            warnings.warn("old", DeprecationWarning, stacklevel=2)
        """,
    )

    with its_try.on(program.call("every", program.old, every=1)), warnings.catch_warnings():
        warnings.simplefilter("error")
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            program.old()

    assert [each.filename for each in heard] == [__file__]


@pytest.mark.parametrize("name", ["numbers", "awaited", "both"])
@pytest.mark.parametrize("what", ["every", "from-memory"])
def test_generators_and_coroutines_are_refused(name, what, program, its_try):
    more = {"every": 2} if what == "every" else {}

    told = its_try.arm(program.call(what, getattr(program, name), **more))

    assert (told.state, told.why) == (
        TreatmentState.REFUSED,
        f"{name} is a generator or coroutine",
    )
    assert its_try.want(True).state is TreatmentState.REFUSED


def test_nothing_there_is_absent(program, its_try):
    part = dict(program.call("every", program.plain, every=2)) | {"line": 10_000}

    assert its_try.arm(part).state is TreatmentState.ABSENT
    assert its_try.want(True).state is TreatmentState.ABSENT


def test_what_torch_compile_has_looked_at_is_refused(monkeypatch, program, its_try):
    frames = SimpleNamespace(input_codes=SimpleNamespace(seen=[object()]))
    monkeypatch.setitem(sys.modules, "torch._dynamo.convert_frame", frames)

    told = its_try.arm(program.call("every", program.plain, every=2))

    assert told.state is TreatmentState.REFUSED
    assert "torch.compile" in told.why


def test_a_program_that_has_torch_and_compiles_nothing_is_treated(monkeypatch, program, its_try):
    frames = SimpleNamespace(input_codes=SimpleNamespace(seen=[]))
    monkeypatch.setitem(sys.modules, "torch._dynamo.convert_frame", frames)

    assert its_try.arm(program.call("every", program.plain, every=2)).state is OFF


def test_code_that_the_program_has_put_there_meanwhile_stays(program, its_try):
    its_try.arm(program.call("every", program.plain, every=2))
    its_try.want(True)
    theirs = (lambda *_: "theirs").__code__

    program.plain.__code__ = theirs
    its_try.want(False)
    assert program.plain.__code__ is theirs
    its_try.want(True)

    assert program.plain.__code__ is theirs


# By name


def by_name(qualname: str, what: str = "every", module: str = "train", **more: str | int):
    return {"way": "call", "what": what, "module": module, "qualname": qualname, "every": 2, **more}


@pytest.fixture
def imported(monkeypatch, program) -> Program:
    monkeypatch.setitem(sys.modules, "train", program.module)
    return program


NAMES = {
    "plain": lambda p: p.plain,
    "Env.step": lambda p: p.Env.step,
    "Env.fixed": lambda p: p.Env.fixed,
    "Env.named": lambda p: p.Env.named.__func__,
    "Env.tells": lambda p: p.Env.tells,
    "Env._Env__secret": lambda p: vars(p.Env)["_Env__secret"],
    "decorated": lambda p: p.decorated,
    "halved": lambda p: p.halved,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_function_by_its_name_in_a_module(name, imported, its_try):
    function = NAMES[name](imported)
    code = function.__code__

    assert its_try.arm(by_name(name)).state is OFF
    its_try.want(True)
    assert function.__code__ is not code
    its_try.leave()

    assert function.__code__ is code


def test_an_inherited_method_is_that_of_the_base(imported, its_try):
    imported.module.Sub = type("Sub", (imported.Env,), {})
    code = imported.Env.step.__code__

    with its_try.on(by_name("Sub.step")):
        assert imported.Env.step.__code__ is not code


@pytest.mark.parametrize(
    "name", ["nothing", "Env.nothing", "Env.step.more", "Env", "functools", "plain.more", "made.x"]
)
def test_what_is_no_function_is_refused(name, imported, its_try):
    imported.module.made = object()

    told = its_try.arm(by_name(name))

    assert (told.state, told.why) == (TreatmentState.REFUSED, f"train has no function {name}")


def test_a_module_that_was_not_imported_is_absent(its_try):
    assert its_try.arm(by_name("step", module="nowhere")).state is TreatmentState.ABSENT


def test_the_script_goes_by_the_name_of_its_file(monkeypatch, program, its_try):
    monkeypatch.setitem(sys.modules, "__main__", program.module)
    code = program.plain.__code__

    with its_try.on(by_name("plain", module="train")):
        assert program.plain.__code__ is not code
    with its_try.on(by_name("plain", module="__main__")):
        assert program.plain.__code__ is not code
    assert its_try.arm(by_name("plain", module="rain")).state is TreatmentState.ABSENT


def test_what_the_agent_counts_is_counted_still(imported, its_try):
    counter = EventCounter("steps", None)
    step = imported.Env.step
    assert call_marks.count(step, counter, outermost(counter))
    code = step.__code__

    with its_try.on(by_name("Env.step")):
        assert step.__code__ is not code
        given = [imported.Env().step(number)[2] for number in range(4)]
        imported.Env().step(4)
    imported.Env().step(5)
    call_marks.add_what_is_left()

    assert given == [0, 0, 2, 2]
    assert counter.cell[0] == 6
    assert step.__code__ is code


def test_a_treated_function_does_not_pass_for_one_that_counts(program, its_try):
    with its_try.on(program.call("every", program.plain, every=2)):
        assert not is_counting(program.plain)


# From memory


def test_an_answer_is_that_of_an_input_of_the_same_shape(tmp_path, its_try):
    program = Program(
        tmp_path,
        """
        made = []
        def forward(batch, mode="train"):
            made.append(batch)
            return (len(batch), mode, len(made))
        """,
    )

    with its_try.on(program.call("from-memory", program.forward)):
        few = [program.forward([1] * 3) for _ in range(100)]
        many = [program.forward([1] * 5) for _ in range(40)]
        other = program.forward([1] * 3, mode="test")

    assert len(program.made) == 32 + 32 + 1
    assert {each[:2] for each in few} == {(3, "train")}
    assert {each[:2] for each in many} == {(5, "train")}
    assert other[:2] == (3, "test")
    # In turn: all that were kept, and none for ever.
    assert {each[2] for each in few[32:]} == set(range(1, 33))


def test_what_it_is_given_is_told_by_shape_and_never_by_content(program, its_try):
    class Array:
        def __init__(self, *shape: int) -> None:
            self.shape, self.dtype = shape, "float32"

        def __eq__(self, other: object) -> bool:
            raise AssertionError("compared")

        __hash__ = None  # type: ignore[assignment]

    def key(*values: Any) -> Any:
        return shape_of(values, 3)

    assert key(Array(2, 3)) == key(Array(2, 3))
    assert key(Array(2, 3)) != key(Array(3, 2))
    assert key(1, 2.5) == key(7, 0.5)
    assert key(1) != key(1.0)
    assert key(True) != key(False)
    assert key("a") != key("b")
    assert key(None) != key(0)
    assert key([1, 2]) != key((1, 2))
    assert key([1, 2]) != key([1, 2, 3])
    assert key({"a": 1}) == key({"a": 2})
    assert key({"a": 1}) != key({"b": 1})
    assert key(program) != key(object())
    assert key(program) == key(program)
    assert hash(key([[[[[{"a": [1]}]]]]], Array(1), {1: {2: 3}})) is not None


def test_an_error_of_ours_withdraws_it_and_the_call_is_made(program, its_try):
    class Awkward:
        @property
        def shape(self):
            raise ValueError("not yet")

    code = program.plain.__code__
    its_try.arm(program.call("from-memory", program.plain))
    its_try.want(True)
    awkward = Awkward()

    assert program.plain(awkward) == ["plain", awkward, 2]

    assert program.plain.__code__ is code
    told = its_try.desk.told()
    assert (told.state, told.why) == (TreatmentState.WITHDRAWN, "ValueError: not yet")
    assert its_try.want(True).state is TreatmentState.WITHDRAWN
    assert program.plain.__code__ is code


# Replaced


def replacing(program: Program, tmp_path, text: str, name: str = "faster"):
    file = tmp_path / "faster.py"
    file.write_text(text)
    return program.call("replaced", program.plain, with_file=str(file), with_name=name)


def test_another_function_is_called_and_may_call_the_original(program, its_try, tmp_path):
    part = replacing(program, tmp_path, "def faster(a, b=0): return ['faster', original(a, b)]")

    with its_try.on(part):
        assert program.plain(1) == ["faster", ["plain", 1, 0]]
    assert program.plain(1) == ["plain", 1, 2]


def test_a_replacement_that_fails_is_withdrawn_and_the_call_is_made(program, its_try, tmp_path):
    part = replacing(program, tmp_path, "def faster(a): return a / 0")
    its_try.arm(part)
    its_try.want(True)

    assert program.plain(1) == ["plain", 1, 2]
    told = its_try.turn()
    assert told.state is TreatmentState.WITHDRAWN
    assert told.why.startswith("ZeroDivisionError")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("slower = None", "has no function faster"),
        ("faster = 3", "has no function faster"),
        ("def faster(:", "SyntaxError"),
        ("import nowhere_at_all", "ModuleNotFoundError"),
        ("raise SystemExit(3)", "ends its program"),
    ],
)
def test_a_file_without_a_replacement_is_refused(text, why, program, its_try, tmp_path):
    told = its_try.arm(replacing(program, tmp_path, text))

    assert told.state is TreatmentState.REFUSED
    assert why in told.why


def test_a_file_that_is_not_there_is_refused(program, its_try, tmp_path):
    part = program.call("replaced", program.plain, with_file="/nowhere.py", with_name="faster")

    told = its_try.arm(part)

    assert told.state is TreatmentState.REFUSED
    assert "FileNotFoundError" in told.why


# Without gradients


def test_gradients_are_left_out_and_kept_again(tmp_path, its_try):
    torch = pytest.importorskip("torch")
    program = Program(tmp_path, "def forward(w):\n    return w * 2\n")
    weight = torch.ones(2, requires_grad=True)

    with its_try.on(program.call("without-gradients", program.forward)):
        assert not program.forward(weight).requires_grad
        assert torch.is_grad_enabled()

    assert program.forward(weight).requires_grad


def test_without_torch_nothing_is_left_out(monkeypatch, program, its_try):
    monkeypatch.delitem(sys.modules, "torch", raising=False)

    told = its_try.arm(program.call("without-gradients", program.plain))

    assert told.state is TreatmentState.ABSENT
