"""Statements that are compiled anew, with a question of ours before them."""

from __future__ import annotations

import asyncio
import logging
import sys
import weakref
from typing import Any

import pytest

from rlprof.recording.mailboxes.treatment_desk import TreatmentState
from tests.treated_program import Program, Try

ON, OFF, REFUSED = TreatmentState.ON, TreatmentState.OFF, TreatmentState.REFUSED


@pytest.fixture
def its_try():
    its_try = Try()
    yield its_try
    its_try.leave()


SAVING = """
saved = []

def train(n, *, scale=2):
    total = 0
    for i in range(n):
        total += i * scale
        saved.append(total)
    return total

class Learner:
    def __init__(self):
        self.__count = 0

    def update(self, n):
        def publish():
            self.__count += 1
            saved.append(self.__count)
        for _ in range(n):
            publish()
            self.__note()
        return __class__, self.__count

    def __note(self):
        self.noted = True

def train(n):
    saved.append(("second", n))
"""


def test_a_statement_runs_every_nth_time(tmp_path, its_try):
    program = Program(tmp_path, SAVING.rpartition("\ndef train")[0])
    code = program.train.__code__
    its_try.arm(program.edit("every", program.train, "saved.append(total)", every=4))
    its_try.want(True)

    assert program.train(9, scale=3) == 108
    assert len(program.saved) == 3
    assert its_try.want(False).reached == 9
    assert program.train.__code__ is code
    assert program.train.__kwdefaults__ == {"scale": 2}

    program.train(9)
    assert len(program.saved) == 12


def test_code_that_takes_its_place_tells_the_same_lines_and_file(tmp_path, its_try):
    program = Program(tmp_path, SAVING.rpartition("\ndef train")[0] + "\n1 / 1\n")
    function = program.train
    own = function.__code__

    with its_try.on(program.edit("every", function, "saved.append(total)", every=4)):
        code = function.__code__
        with pytest.raises(TypeError) as caught:
            function("many")

    assert (code.co_filename, code.co_firstlineno, code.co_name) == (
        own.co_filename,
        own.co_firstlineno,
        own.co_name,
    )
    assert caught.traceback[-1].lineno + 1 == program.line("for i in range(n)")


def test_names_with_two_underscores_and_names_around_the_function(tmp_path, its_try):
    program = Program(tmp_path, SAVING)
    update = program.Learner.update

    with its_try.on(program.edit("every", update, "self.__note()", every=100)):
        learner = program.Learner()
        assert learner.update(3) == (program.Learner, 3)

    assert learner.noted
    assert program.saved == [1, 2, 3]


def test_a_function_inside_another_one(tmp_path, its_try):
    program = Program(
        tmp_path,
        """
        seen = []
        def makes(name):
            def step(n):
                seen.append((name, n))
                return name
            return step
        """,
    )
    one, other = program.makes("one"), program.makes("other")

    with its_try.on(program.edit("every", one, "seen.append", every=3)):
        assert [one(n) for n in range(2)] + [other(n) for n in range(2)] == ["one"] * 2 + [
            "other"
        ] * 2

    assert program.seen == [("one", 0), ("other", 1)]
    assert one(5) == "one"
    assert program.seen[-1] == ("one", 5)


def test_of_definitions_with_one_name_that_at_the_line(tmp_path, its_try):
    program = Program(tmp_path, SAVING)
    part = program.edit("every", program.train, 'saved.append(("second"', every=3)

    with its_try.on(part):
        for n in range(4):
            program.train(n)

    assert program.saved == [("second", 0), ("second", 3)]


def test_under_decorators_and_in_all_kinds_of_methods(tmp_path, its_try):
    program = Program(
        tmp_path,
        """
        import functools
        seen = []
        def logged(function):
            @functools.wraps(function)
            def wrapper(*args):
                return function(*args)
            return wrapper
        class Env:
            @logged
            def step(self, n):
                seen.append(n)
                return n
            @staticmethod
            def fixed(n):
                seen.append(n)  # fixed
            @classmethod
            def named(cls, n):
                seen.append(n)  # named
            @property
            def size(self):
                seen.append(0)  # size
                return 3
        """,
    )
    env = program.Env()
    inner = program.Env.step.__wrapped__
    parts = [
        program.edit("every", inner, "seen.append(n)", every=2),
        program.edit("every", program.Env.fixed, "# fixed", every=2),
        program.edit("every", program.Env.named.__func__, "# named", every=2),
        program.edit("every", program.Env.size.fget, "# size", every=2),
    ]

    with its_try.on(*parts):
        for n in range(2):
            assert env.step(n) == n
            env.fixed(n)
            env.named(n)
            assert env.size == 3

    assert program.seen == [0, 0, 0, 0]


def test_generators_and_coroutines_go_on_with_the_code_they_began_with(tmp_path, its_try):
    program = Program(
        tmp_path,
        """
        seen = []
        def batches(n):
            for i in range(n):
                seen.append(i)
                yield i
        async def steps(n):
            for i in range(n):
                seen.append(i)  # async
            return n
        """,
    )
    began = program.batches(3)
    next(began)

    with its_try.on(
        program.edit("every", program.batches, "seen.append(i)", every=2),
        program.edit("every", program.steps, "# async", every=2),
    ):
        assert list(began) == [1, 2]
        assert program.seen == [0, 1, 2]
        assert list(program.batches(3)) == [0, 1, 2]
        assert asyncio.run(program.steps(3)) == 3
    assert program.seen == [0, 1, 2, 0, 2, 0, 2]


@pytest.mark.parametrize(
    "line",
    [
        "x = save()",
        "return save()",
        "if save(): pass",
        "(y := save())",
        "[save(), (yield)]",
        "for _ in [save()]: pass",
        "raise save()",
        "import save",
        "pass; save()",
    ],
)
def test_a_statement_that_others_need_is_refused(line, tmp_path, its_try):
    program = Program(tmp_path, f"def save():\n    return []\n\ndef step():\n    {line}  # here\n")
    code = program.step.__code__

    told = its_try.arm(program.edit("every", program.step, "# here", every=2))

    assert (told.state, told.why) == (REFUSED, "line 5 is not written so that it can be changed")
    assert its_try.want(True).state is REFUSED
    assert program.step.__code__ is code


def test_a_statement_in_every_kind_of_block(tmp_path, its_try):
    program = Program(
        tmp_path,
        """
        import contextlib
        seen = []
        def step(kind):
            if kind == "if":
                seen.append("if")
            elif kind == "elif":
                seen.append("elif")
            else:
                try:
                    with contextlib.nullcontext():
                        while True:
                            seen.append("while")
                            break
                    raise KeyError(kind)
                except KeyError:
                    seen.append("except")
                else:
                    pass
                finally:
                    seen.append("finally")
            match kind:
                case "match":
                    seen.append("case")
            return kind
        """,
    )
    pieces = ["if", "elif", "while", "except", "finally", "case"]
    parts = [
        program.edit("every", program.step, f'seen.append("{piece}")', every=2) for piece in pieces
    ]

    for part, piece in zip(parts, pieces, strict=True):
        program.seen.clear()
        with its_try.on(part):
            for _ in range(2):
                for kind in ("if", "elif", "match"):
                    assert program.step(kind) == kind
        assert program.seen.count(piece) == 1, piece


# What the file has to be


def test_a_lambda_is_refused(tmp_path, its_try):
    program = Program(tmp_path, "save = print\nstep = lambda n: save(n)\n")

    told = its_try.arm(program.edit("every", program.step, "lambda", every=2))

    assert told.state is REFUSED


PLAIN = "seen = []\ndef step(n, lr=0.5):\n    m = n * 0.0\n    seen.append(m)\n    return n\n"


@pytest.mark.parametrize(
    "changed",
    [
        PLAIN.replace("n * 0.0", "n * 0.25"),
        PLAIN.replace("n * 0.0", "n * -0.0"),
        PLAIN.replace("n * 0.0", "n * 0"),
        PLAIN.replace("n * 0.0", "n + 0.0"),
        PLAIN.replace("m", "k"),
        PLAIN.replace("    m =", "\n    m ="),
        "\n" + PLAIN,
        "",
        PLAIN.replace("step", "stride"),
        PLAIN.replace("seen.append(m)", "seen.append('m')"),
    ],
)
def test_a_file_that_was_changed_is_refused(changed, tmp_path, its_try):
    program = Program(tmp_path, PLAIN)
    part = program.edit("every", program.step, "seen.append", every=2)

    program.path.write_text(changed)
    told = its_try.arm(part)

    assert (told.state, told.why) == (
        REFUSED,
        f"{program.path} has changed since the program read it",
    )


def test_what_is_outside_of_the_function_may_change(tmp_path, its_try):
    program = Program(tmp_path, PLAIN)
    part = program.edit("every", program.step, "seen.append", every=2)

    program.path.write_text(PLAIN + "\ndef other(): pass\n")

    assert its_try.arm(part).state is OFF


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "No such file"),
        (b"\xff\xfe", "cannot be read"),
        (b"# coding: nonsense\n", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(content, why, tmp_path, its_try):
    program = Program(tmp_path, PLAIN)
    part = program.edit("every", program.step, "seen.append", every=2)

    program.path.unlink()
    if content is not None:
        program.path.write_bytes(content)
    told = its_try.arm(part)

    assert told.state is REFUSED
    assert why in told.why


def test_a_file_that_is_no_python_any_more_is_refused(tmp_path, its_try):
    program = Program(tmp_path, PLAIN)
    part = program.edit("every", program.step, "seen.append", every=2)

    program.path.write_text("def step(:\n")

    assert its_try.arm(part).state is REFUSED


def test_a_function_that_has_run_a_thousand_times_is_known_again(tmp_path, its_try):
    program = Program(
        tmp_path,
        "seen = []\ndef step(n):\n    k = [(lambda x: x + n)(i) for i in (1, 2)]\n"
        "    f = lambda: k\n    seen.append(f())\n    return n in {1, 2, 'a'}\n",
    )
    part = program.edit("every", program.step, "seen.append", every=2)

    for _ in range(2_000):
        program.step(1)

    assert its_try.arm(part).state is OFF


# Log messages


LOGGING = """
import logging

built = []

class Q:
    def __format__(self, spec):
        built.append(spec)
        return "q"

class Chatty(logging.Logger):
    told = 0
    def debug(self, message, *args, **kwargs):
        Chatty.told += 1

logger = logging.getLogger("treated.train")

def step(q):
    logger.debug(f"q = {q}")
    return q

def at_all_levels(q):
    logger.debug(f"q = {q}")
    logger.info(f"q = {q}")
    logger.warning(f"q = {q}")
    logger.error(f"q = {q}")
    logger.critical(f"q = {q}")

def of_the_module(q):
    logging.debug(f"q = {q}")

class Agent:
    def __init__(self, logger):
        self.log = logger
    def step(self, q):
        self.log.debug(
            "step %s",
            f"{q}",
        )

def of_what_is_called(q):
    logging.getLogger("treated.train").debug(f"q = {q}")  # called
    logger.log(10, f"q = {q}")  # log
    m = logger.debug(f"q = {q}")  # kept
    logger.setLevel(f"{q}")  # no message
"""


@pytest.fixture
def logs(tmp_path, monkeypatch) -> Program:
    for name in ("treated.train", "treated"):
        monkeypatch.delitem(logging.root.manager.loggerDict, name, raising=False)
    return Program(tmp_path, LOGGING)


def test_a_text_is_built_only_where_it_is_logged(logs, its_try, caplog):
    part = logs.edit("if-logged", logs.step, "logger.debug")
    q = logs.Q()

    logs.logger.setLevel(logging.INFO)
    with its_try.on(part):
        assert logs.step(q) is q
        assert not logs.built
        logs.logger.setLevel(logging.DEBUG)
        logs.step(q)
    assert logs.built == [""]
    assert caplog.messages == ["q = q"]
    (record,) = caplog.records
    assert (record.lineno, record.funcName, record.filename) == (
        logs.line("logger.debug"),
        "step",
        "train.py",
    )

    logs.logger.setLevel(logging.INFO)
    logs.step(q)
    assert len(logs.built) == 2


@pytest.mark.parametrize("level", [5, 10, 20, 25, 30, 40, 50, 60])
def test_each_level_is_logged_as_without_it(level, logs, its_try, caplog):
    logs.logger.setLevel(level)
    logs.at_all_levels(logs.Q())
    untreated = [(each.levelno, each.message) for each in caplog.records]
    caplog.clear()
    first = logs.line("def at_all_levels")
    parts = [
        {**logs.edit("if-logged", logs.at_all_levels, "def at_all_levels"), "at": first + number}
        for number in range(1, 6)
    ]

    for part in parts:
        with its_try.on(part):
            logs.at_all_levels(logs.Q())
        assert [(each.levelno, each.message) for each in caplog.records] == untreated
        caplog.clear()


def test_loggers_kept_by_objects_and_adapters_are_asked(logs, its_try):
    logs.logger.setLevel(logging.INFO)
    adapter = logging.LoggerAdapter(logs.logger, {})
    part = logs.edit("if-logged", logs.Agent.step, '"step %s"')

    with its_try.on(part):
        for logger in (logs.logger, adapter):
            logs.Agent(logger).step(logs.Q())

    assert not logs.built


def test_adapters_that_are_made_for_each_message_are_let_go(logs, its_try):
    logger, left = logging.Logger("quiet", logging.ERROR), []

    with its_try.on(logs.edit("if-logged", logs.Agent.step, '"step %s"')):
        for _ in range(100):
            adapter = logging.LoggerAdapter(logger, {})
            left.append(weakref.ref(adapter))
            logs.Agent(adapter).step(logs.Q())
            del adapter
        assert its_try.turn().reached == 100

    assert logs.built == []
    assert [each for each in left if each() is not None] == []


def test_a_logger_with_a_method_of_its_own_is_called_whatever_the_level(logs, its_try):
    quiet, own = logging.Logger("quiet", logging.ERROR), logging.Logger("own", logging.ERROR)
    seen = []
    own.debug = lambda *_: seen.append(1)

    with its_try.on(logs.edit("if-logged", logs.Agent.step, '"step %s"')):
        for logger in (quiet, own, quiet):
            logs.Agent(logger).step(logs.Q())

    assert seen == [1]


def test_a_method_of_the_programs_is_called_whatever_the_level(logs, its_try):
    chatty = logs.Chatty("chatty", logging.ERROR)
    own = logging.Logger("own", logging.ERROR)
    told: list[Any] = []
    own.debug = lambda *_: told.append(1)  # type: ignore[method-assign]

    with its_try.on(logs.edit("if-logged", logs.Agent.step, '"step %s"')):
        logs.Agent(chatty).step(logs.Q())
        logs.Agent(own).step(logs.Q())

    assert (logs.Chatty.told, told) == (1, [1])
    assert len(logs.built) == 2


def test_what_is_no_logger_is_called(logs, its_try):
    told = []

    class Loguru:
        def debug(self, *message):
            told.append(message)

    with its_try.on(logs.edit("if-logged", logs.Agent.step, '"step %s"')):
        logs.Agent(Loguru()).step(logs.Q())

    assert len(told) == 1


def test_the_root_logger_gets_its_handler_as_without_it(logs, its_try, monkeypatch):
    monkeypatch.setattr(logging.root, "handlers", [])
    monkeypatch.setattr(logging.root, "level", logging.WARNING)
    part = logs.edit("if-logged", logs.of_the_module, "logging.debug")

    with its_try.on(part):
        logs.of_the_module(logs.Q())
        assert len(logging.root.handlers) == 1
        assert len(logs.built) == 1
        logs.of_the_module(logs.Q())
        assert len(logs.built) == 1


@pytest.mark.parametrize("piece", ["# called", "# log", "# kept", "# no message"])
def test_other_statements_are_refused(piece, logs, its_try):
    told = its_try.arm(logs.edit("if-logged", logs.of_what_is_called, piece))

    assert told.state is REFUSED


# One array first


TENSORS = """
import numpy as np
import torch

def made(values, **more):
    return torch.tensor(values, **more)

def taken(values, *more):
    t = torch.as_tensor(values, *more)
    return t

def by_name(values):
    return torch.tensor(data=values)

def twice(a, b):
    return torch.tensor(a), [torch.tensor(b)]

class Batch:
    def tensor(self, values):
        return type(values), values

def own(batch, values):
    return batch.tensor(values)
"""


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def tensors(torch, tmp_path) -> Program:
    return Program(tmp_path, TENSORS)


def arrays() -> dict[str, Any]:
    import numpy as np

    rows = np.arange(6.0).reshape(2, 3)
    return {
        "float64": [*rows],
        "float32": [*rows.astype("float32")],
        "float16": [*rows.astype("float16")],
        "int64": [*rows.astype("int64")],
        "large": [*(np.arange(6).reshape(2, 3) * 2**40 + 2**60 + 2**36 + 1)],
        "int32": [*(np.arange(6).reshape(2, 3) * 7 + 2**24 + 1).astype("int32")],
        "fractions": [*(rows / 7)],
        "complex": [*rows.astype("complex64")],
        "uint8": [*rows.astype("uint8")],
        "bool": [*(rows > 2)],
        "big-endian": [*rows.astype(">f4")],
        "tuple": tuple(rows),
        "one": [rows],
        "empty arrays": [np.zeros((0,)), np.zeros((0,))],
        "empty list": [],
        "uneven": [rows[0], rows[0, :2]],
        "two types": [rows[0], rows[1].astype("float32")],
        "objects": [np.array([1, "a"], dtype=object)] * 2,
        "texts": [np.array(["a"])] * 2,
        "scalars": [*rows[0]],
        "scalars of 32 bits": [*rows.astype("float32")[0]],
        "bools of numpy": [np.bool_(True), np.bool_(False)],
        "0-d": [np.array(1.0), np.array(2.0)],
        "floats": [0.1, 0.2, 1e-320, float("inf")],
        "tuple of floats": (0.1, 0.2),
        "ints": [1, 2],
        "mixed": [1, 2.5],
        "nested": [[0.1], [0.2]],
        "rows of floats": [[0.1, float("nan"), 1e300], (1e-320, -0.0, 3.4028235e38)],
        "rows of rows": [[[0.1, 0.2], [0.3, 0.4]]] * 3,
        "rows of ints": [[1, 2**53 + 1], [-3, 2**62]],
        "rows of small ints": [[1, 2**24 + 1], [-3, 2**53]],
        "rows of bools": [[True, False], [False, True]],
        "rows of two kinds": [[1, 2.5], [1, 2]],
        "rows of one kind each": [[1, 2], [0.5, 1.5]],
        "uneven rows": [[0.1, 0.2], [0.3]],
        "uneven rows of rows": [[[0.1], [0.2]], [[0.1, 0.2], [0.3, 0.4]]],
        "empty rows": [[], []],
        "too large": [2**64, 1],
        "rows of arrays": [[rows[0]], [rows[1]]],
        "rows of numpy's floats": [[*rows[0]], [*rows[1]]],
        "bools": [True, False],
        "views": [rows.T, rows.T],
        "rows that are views": [*np.arange(24.0).reshape(2, 3, 4).transpose(0, 2, 1)],
        "no number of 16 bits": [np.array([0x7E01, 0xFE05], "uint16").view("float16")] * 2,
        "array": rows,
        "number": 3.5,
        "none": None,
    }


CASES = [
    "float64", "large", "int32", "fractions", "complex", "float32", "float16", "int64", "uint8", "bool", "big-endian", "tuple", "one", "empty arrays",
    "empty list", "uneven", "two types", "objects", "texts", "scalars", "scalars of 32 bits", "bools of numpy",
    "0-d", "floats", "tuple of floats", "ints", "mixed", "nested", "array", "number", "none",
    "rows of floats", "rows of rows", "rows of ints", "rows of small ints", "rows of bools", "rows of two kinds", "rows of one kind each",
    "uneven rows", "uneven rows of rows", "empty rows", "too large", "rows of arrays", "rows of numpy's floats", "bools", "views",
    "rows that are views", "no number of 16 bits",
]  # fmt: skip


def outcome(call: Any) -> Any:
    try:
        tensor = call()
    except Exception as error:
        return type(error)
    return tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.numpy().tobytes()


@pytest.mark.filterwarnings("ignore:Creating a tensor from a list:UserWarning")
@pytest.mark.parametrize("case", CASES)
def test_the_tensor_is_the_same_bit_by_bit(case, tensors, torch, its_try):
    values = arrays()[case]
    calls = [
        lambda: tensors.made(values),
        lambda: tensors.made(values, dtype=torch.float64),
        lambda: tensors.made(values, dtype=None),
        lambda: tensors.made(values, dtype=torch.float32),
        lambda: tensors.made(values, dtype=torch.float16),
        lambda: tensors.made(values, dtype=torch.int32),
        lambda: tensors.made(values, dtype=torch.bool),
        lambda: tensors.taken(values),
        lambda: tensors.taken(values, torch.float32),
        lambda: tensors.by_name(values),
    ]
    untreated = [outcome(call) for call in calls]

    with its_try.on(
        tensors.edit("arrays-first", tensors.made, "return torch.tensor", call="torch.tensor"),
        tensors.edit("arrays-first", tensors.taken, "t = torch", call="torch.as_tensor"),
        tensors.edit("arrays-first", tensors.by_name, "data=values", call="torch.tensor"),
    ):
        treated = [outcome(call) for call in calls]
        assert its_try.turn().state is ON

    assert treated == untreated


def test_one_array_is_made_and_the_default_type_is_asked_for(tensors, torch, its_try, monkeypatch):
    import numpy as np

    given = []

    def tensor(data, **more):
        given.append((data, more))

    monkeypatch.setattr(torch, "tensor", tensor)
    with its_try.on(
        tensors.edit("arrays-first", tensors.made, "return torch.tensor", call="torch.tensor")
    ):
        tensors.made([np.zeros(2), np.ones(2)])
        tensors.made([0.5, 1.5])
        tensors.made([[1, 2], [3, 4]])
        # Not what is left as it is.
        tensors.made([1, 2.5])
        reached = its_try.turn().reached

    assert [type(data) for data, _ in given] == [np.ndarray, np.ndarray, np.ndarray, list]
    assert [more for _, more in given] == [{}, {"dtype": torch.float32}, {}, {}]
    assert reached == 3


def test_where_most_lists_are_left_as_they_are_it_is_refused(tensors, its_try):
    with its_try.on(
        tensors.edit("arrays-first", tensors.made, "return torch.tensor", call="torch.tensor")
    ):
        for _ in range(10):
            tensors.made([0.5, 1.5])
        for _ in range(20):
            tensors.made([1, 2.5])
        assert its_try.turn().state is ON
        tensors.made([1, 2.5])
        told = its_try.turn()

    assert told.state is REFUSED
    assert told.why == "most of what it is given is no list of arrays or numbers of one kind"


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_a_tensor_has_memory_of_its_own_that_can_grow(tensors, its_try):
    with its_try.on(
        tensors.edit("arrays-first", tensors.taken, "t = torch", call="torch.as_tensor")
    ):
        tensor = tensors.taken([0.5, 1.5])

    tensor.resize_(100)


def test_methods_of_that_name_get_what_they_were_given(tensors, torch, its_try):
    values = [0.5, 1.5]

    with its_try.on(tensors.edit("arrays-first", tensors.own, "return batch", call="batch.tensor")):
        kind, given = tensors.own(tensors.Batch(), values)
        assert its_try.turn().reached == 0

    assert kind is list
    assert given is values


def test_without_numpy_it_is_absent(tensors, its_try, monkeypatch):
    part = tensors.edit("arrays-first", tensors.made, "return torch.tensor", call="torch.tensor")
    monkeypatch.delitem(sys.modules, "numpy")

    assert its_try.arm(part).state is TreatmentState.ABSENT


class Forwarding(logging.LoggerAdapter):
    """Its own ``log`` is what ``debug`` goes through."""

    def __init__(self, logger):
        super().__init__(logger, {})
        self.seen = 0

    def log(self, *_, **__):
        self.seen += 1


def test_an_adapter_with_a_log_of_its_own_is_called_whatever_the_level(logs, its_try):
    adapter = Forwarding(logging.Logger("quiet", logging.ERROR))

    with its_try.on(logs.edit("if-logged", logs.Agent.step, '"step %s"')):
        logs.Agent(adapter).step(logs.Q())

    assert adapter.seen == 1


def test_a_method_that_was_put_into_the_class_is_called_too(logs, its_try, monkeypatch):
    seen = []
    monkeypatch.setattr(logging.Logger, "debug", lambda *_: seen.append(1))

    with its_try.on(logs.edit("if-logged", logs.Agent.step, '"step %s"')):
        logs.Agent(logging.Logger("quiet", logging.ERROR)).step(logs.Q())

    assert seen == [1]


TWO_FAULTS = """
import logging
import torch
logger = logging.getLogger("two.faults")
made = []

class Told:
    def __str__(self):
        made.append(1)
        return "told"

def collect(rows):
    for row in rows:
        logger.debug(f"{Told()}")
        batch = torch.tensor(row)
        logger.debug(f"{Told()} {batch}")
    return batch.tolist()
"""


@pytest.mark.filterwarnings("ignore:Creating a tensor from a list:UserWarning")
def test_two_treatments_of_one_function_are_on_together(tmp_path, its_try):
    pytest.importorskip("torch")
    np = pytest.importorskip("numpy")
    program = Program(tmp_path, TWO_FAULTS)
    rows, code = [[np.ones(2)] * 3] * 4, program.collect.__code__
    lines = [at for at, text in enumerate(program.text.splitlines(), 1) if "debug(" in text]

    with its_try.on(
        program.edit("arrays-first", program.collect, "torch.tensor(", call="torch.tensor"),
        program.edit("if-logged", program.collect, "debug(", lines=f"{lines[0]} {lines[1]}"),
    ):
        treated = program.collect(rows)
        reached = its_try.turn().reached

    assert program.made == []
    # Four arrays and eight messages.
    assert reached == 12
    assert program.collect.__code__ is code
    assert program.collect(rows) == treated
    assert len(program.made) == 8
