from __future__ import annotations

import gc
import io
import os
import socket
import sys
import time
import weakref
from collections import defaultdict, deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

from rlprof.agent.inject.rlprof_agent import optimized
from rlprof.agent.inject.rlprof_agent.counted.class_methods import passing
from rlprof.agent.inject.rlprof_agent.mailbox import Mailbox
from rlprof.agent.inject.rlprof_agent.plain_reads import LINE, PART
from rlprof.agent.inject.rlprof_agent.value_looks import (
    COUNT,
    PAIR,
    PRINT,
    ValueLooks,
    look,
    may_look,
)
from rlprof.agent.inject.rlprof_agent.value_prints import MOST_LEAVES


def steps(text: str) -> str:
    name, *attributes = text.split(".")
    return PART.join([name, *(f".{attribute}" for attribute in attributes)])


def seen(frame: FrameType, *names: str) -> list[dict[str, str]]:
    told = look(frame, LINE.join(map(steps, names)), [MOST_LEAVES]).split(LINE)
    return [dict(field.split("=", 1) for field in one.split(PART) if field) for one in told]


def frame_with(**values: Any) -> FrameType:
    """That of a function whose one local ``it`` holds ``values`` as attributes."""

    class Holder:
        pass

    it = Holder()
    vars(it).update(values)
    return sys._getframe()


class Network(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Linear(3, 2)


class Batch(NamedTuple):
    states: list[int]
    others: dict[str, int]


class Slotted:
    __slots__ = ("inside", "unset")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (3, {"type": "int"}),
        ("text", {"type": "str", "length": "4"}),
        ([1.5, 2.5], {"type": "list", "length": "2", "first.type": "float"}),
        ((1, "a"), {"type": "tuple", "length": "2", "first.type": "int", "mixed": "1"}),
        ({"a": [1]}, {"type": "dict", "length": "1", "first.type": "list", "first.length": "1", "first.first.type": "int"}),
        ([[1.0, "a"]], {"type": "list", "length": "1", "first.type": "list", "first.length": "2", "first.first.type": "float", "first.mixed": "1"}),
        (deque([1]), {"type": "collections.deque", "length": "1", "first.type": "int"}),
        (defaultdict(int, a=1), {"type": "collections.defaultdict", "length": "1", "first.type": "int"}),
        ([], {"type": "list", "length": "0"}),
        (np.zeros((4, 5)), {"type": "numpy.ndarray", "shape": "4,5", "dtype": "f8"}),
        (np.append, {"type": "numpy._ArrayFunctionDispatcher", "function": "numpy.append"}),
        (np.random.default_rng, {"type": "cython_function_or_method", "function": "numpy.random.default_rng"}),
        (memoryview(np.zeros(())), {"type": "memoryview"}),
        (len, {"type": "builtin_function_or_method", "function": "len"}),
        (partial(print, end=""), {"type": "functools.partial", "function": "print"}),
        (
            torch.zeros(6, requires_grad=True),
            {"type": "torch.Tensor", "shape": "6", "dtype": "torch.float32", "device": "cpu", "grad": "1"},
        ),
    ],
)  # fmt: skip
def test_describes(value: object, told: dict[str, str]):
    assert seen(frame_with(value=value), "it.value") == [told]


class Numbered(torch.nn.Module):
    def __init__(self, *widths: int) -> None:
        super().__init__()
        self.body = torch.nn.Linear(3, 2)
        for number, width in enumerate(widths):
            self.add_module(f"model_{number}", torch.nn.Linear(2, width))


@pytest.mark.parametrize(
    ("widths", "told"),
    [
        ((4, 4, 4, 4), {"stem": "model_", "numbered": "4", "alike": "1"}),
        ((4, 4, 5), {"stem": "model_", "numbered": "3", "alike": "0"}),
        ((4, 4), {}),
    ],
)
def test_tells_networks_that_have_numbers_in_their_names(widths, told):
    (fields,) = seen(frame_with(net=Numbered(*widths)), "it.net")

    assert {name: fields[name] for name in ("stem", "numbered", "alike") if name in fields} == told


@pytest.mark.parametrize(("width", "alike"), [(2, "1"), (5, "0")])
def test_tells_whether_networks_in_a_list_or_a_dictionary_have_the_same_shapes(width, alike):
    networks = [torch.nn.Linear(3, 2), torch.nn.Linear(3, 2), torch.nn.Linear(3, width)]
    by_key = {str(number): each for number, each in enumerate(networks)}

    for told in seen(frame_with(nets=networks, by_key=by_key), "it.nets", "it.by_key"):
        assert told["alike"] == alike


class Heard(TorchFunctionMode):
    """What a mode of the program's is told of; ``torch.set_default_device`` has one on for good."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[object] = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.calls.append(function)
        return function(*args, **(kwargs or {}))


def test_a_mode_of_torch_hears_of_no_look(optimizer_steps):
    network = Network()
    optimizer_steps(network)
    frame = frame_with(x=torch.zeros(2, 3), net=network)

    with Heard() as mode:
        tensor, learning = seen(frame, "it.x", "it.net")

    assert mode.calls == []
    assert (tensor["shape"], tensor["device"]) == ("2,3", "cpu")
    assert learning["optimized"] == "1"


def test_tells_how_an_optimizer_steps():
    parameters = list(Network().parameters())
    groups = [{"params": parameters[:1]}, {"params": parameters[1:], "momentum": 0.9}]
    frame = frame_with(
        still=torch.optim.SGD(parameters),
        moving=torch.optim.SGD(groups),
        adam=torch.optim.Adam(parameters),
    )

    still, moving, adam = seen(frame, "it.still", "it.moving", "it.adam")

    assert (still["momentum"], moving["momentum"], moving["differentiable"]) == ("0", "1", "0")
    assert "momentum" not in adam


def test_tells_functions_and_classes_by_where_they_are_defined():
    function, made = seen(frame_with(f=steps, c=Network), "it.f", "it.c")

    assert function["function"] == f"{__name__}.steps"
    assert (function["file"], function["line"]) == (__file__, str(steps.__code__.co_firstlineno))
    assert made["class"] == f"{__name__}.Network"
    assert made["bases"] == "torch.nn.modules.module.Module"


@pytest.fixture
def optimizer_steps(monkeypatch):
    monkeypatch.setattr(optimized, "_parameters", set())
    monkeypatch.setattr(optimized, "noted", {})
    monkeypatch.setattr(optimized, "_unknown", [False])

    def step(*networks: torch.nn.Module) -> torch.optim.Optimizer:
        optimizer = torch.optim.Adam(
            [parameter for network in networks for parameter in network.parameters()]
        )
        optimizer.step()
        optimized.note(optimizer)
        return optimizer

    return step


def learning(network: torch.nn.Module) -> dict[str, str]:
    (told,) = seen(frame_with(net=network), "it.net")
    return {name: told[name] for name in ("optimized", "gradients", "changes") if name in told}


def test_tells_of_a_network_whether_it_is_trained(optimizer_steps):
    learner, target, frozen = Network(), Network(), Network().requires_grad_(False)
    assert learning(learner) == {}, "nothing is trained yet"

    kept = optimizer_steps(learner)
    (target.body(torch.ones(1, 3)) + frozen.body(torch.ones(1, 3))).sum().backward()

    assert learning(learner) == {"optimized": "1"}
    before = learning(target)
    assert (before["optimized"], before["gradients"]) == ("0", "1")
    assert learning(frozen)["gradients"] == "0"
    with torch.no_grad():
        target.body.weight.add_(1.0)
    assert int(learning(target)["changes"]) == int(before["changes"]) + 1
    kept.add_param_group({"params": list(target.parameters())})
    optimized.note(kept)
    assert learning(target) == {"optimized": "1"}


def test_a_network_that_was_trained_in_advance_and_frozen_since_is_in_no_optimizers_hands(
    optimizer_steps,
):
    teacher = Network()
    optimizer_steps(teacher)
    assert learning(teacher) == {"optimized": "1"}

    teacher.requires_grad_(False)

    assert learning(teacher)["optimized"] == "0"


def test_optimizers_that_are_gone_leave_their_place_to_others(optimizer_steps):
    for _ in range(20):
        network = Network()
        optimizer_steps(network)
        assert learning(network) == {"optimized": "1"}
    assert not optimized.noted


def test_an_optimizer_that_is_given_other_parameters_moves_those(optimizer_steps):
    network, other = Network(), Network()
    optimizer = optimizer_steps(network)

    optimizer.param_groups[0]["params"] = list(other.parameters())
    optimized.note(optimizer)

    assert learning(other) == {"optimized": "1"}


def test_what_steps_as_an_optimizer_and_cannot_be_referred_to_raises_nothing(optimizer_steps):
    class Fixed:
        __slots__ = ("param_groups",)

    fixed, network = Fixed(), Network()
    fixed.param_groups = [{"params": list(network.parameters())}]
    optimizer_steps(network)

    optimized.note(fixed)

    assert learning(network) == {}, "what else it moves is not known"


def test_nothing_is_told_of_parameters_once_they_are_too_many(optimizer_steps, monkeypatch):
    network = Network()
    optimizer_steps(network)
    monkeypatch.setattr(optimized, "_MOST", 1)

    assert learning(network) == {}


def test_no_warning_comes_of_a_parameter_that_is_no_leaf(optimizer_steps, recwarn):
    network = Network().requires_grad_(False)
    optimizer_steps(Network())
    source = torch.ones(2, 3, requires_grad=True)
    network.body.weight.copy_(source * 2)

    assert learning(network)["gradients"] == "0"
    assert not recwarn.list


class Stream(list[Any]):
    def __iter__(self) -> Any:
        raise AssertionError("nothing of the program is called")

    __len__ = __getitem__ = __iter__


@pytest.mark.parametrize(
    "optimizer",
    [
        object(),
        SimpleNamespace(param_groups=[{}]),
        SimpleNamespace(param_groups=[{"params": Stream([torch.zeros(2)])}]),
        SimpleNamespace(param_groups=Stream([{"params": []}])),
    ],
)
def test_an_optimizer_of_the_programs_own_is_left_alone(optimizer_steps, optimizer):
    """What it moves is not known, so of no network is it said that nobody trains it."""
    optimizer_steps(Network())
    optimized.note(optimizer)

    assert not optimized.are_known()


@pytest.mark.parametrize(
    "is_plain", [True, False], ids=["nothing to tell", "a registry of its own"]
)
def test_looks_into_no_network_that_would_have_to_compute_its_parameters(
    is_plain: bool, optimizer_steps
):
    class Strange(torch.nn.Module):
        @property
        def _parameters(self):
            raise AssertionError("asked")

        @_parameters.setter
        def _parameters(self, value):
            pass

    optimizer_steps(Network())
    network = torch.nn.ReLU() if is_plain else Strange()

    (fields,) = seen(frame_with(net=network), "it.net")

    assert fields["bases"].startswith("torch.nn.modules.module.Module")
    assert "optimized" not in fields


def test_a_counted_function_is_told_as_the_programs_own():
    function, plain = seen(frame_with(f=passing(steps), plain=steps), "it.f", "it.plain")

    assert function == plain


def test_finds_what_modules_register_and_what_slots_hold():
    slotted = Slotted()
    slotted.inside = [1]
    frame = frame_with(net=Network(), slotted=slotted)

    weight, inside, unset = seen(
        frame, "it.net.body.weight", "it.slotted.inside", "it.slotted.unset"
    )

    assert weight["shape"] == "2,3"
    assert inside["type"] == "list"
    assert unset == {}


def test_finds_what_a_named_tuple_holds():
    batch = Batch([1, 2, 3], {})

    (states,) = seen(frame_with(batch=batch), "it.batch.states")

    assert (states["type"], states["length"]) == ("list", "3")


def test_names_are_looked_up_as_python_does():
    np_zeros, length, missing = seen(sys._getframe(), "np.zeros", "len", "nowhere")

    assert np_zeros["function"] == "numpy.zeros"
    assert length["function"] == "len"
    assert missing == {}


class Watchful:
    """Calls of anything of it are told."""

    calls: ClassVar[list[str]] = []

    @property
    def computed(self) -> int:
        self.calls.append("computed")
        return 1

    def __getattr__(self, name: str) -> int:
        self.calls.append(name)
        return 1

    def __len__(self) -> int:
        self.calls.append("len")
        return 1

    def __getitem__(self, key: object) -> int:
        self.calls.append("item")
        return 1


def test_calls_nothing_of_the_program():
    frame = frame_with(w=Watchful())

    computed, dynamic, whole = seen(frame, "it.w.computed", "it.w.anything", "it.w")

    assert Watchful.calls == []
    assert computed["type"] == "property"
    assert computed["function"].endswith("Watchful.computed")
    assert dynamic == {"type": "__getattr__", "owner": f"{__name__}.Watchful"}
    assert whole["type"] == f"{__name__}.Watchful"


class Thing:
    pass


def test_keeps_nothing_alive():
    def work() -> bool:
        thing = Thing()
        gone = weakref.ref(thing)
        assert seen(sys._getframe(), "thing")[0]["type"].endswith("Thing")
        del thing
        gc.collect()
        return gone() is None

    assert work()


OWN = locals
"""As a program may have it."""


def test_leaves_code_alone_that_reads_its_own_locals():
    def reads() -> FrameType:
        locals()
        return sys._getframe()

    def reads_by_another_name() -> FrameType:
        OWN()
        return inner()

    def plain() -> FrameType:
        return inner()

    def inner() -> FrameType:
        return sys._getframe(1)

    assert not may_look(reads(), None)
    assert not may_look(reads_by_another_name(), None)
    # The frame's own code names neither.
    assert may_look(plain(), None)


def test_leaves_a_frame_alone_that_somebody_reads_just_now():
    def outer() -> bool:
        return reader(sys.exc_info)

    def reader(_: object) -> bool:
        frame = sys._getframe()
        assert frame.f_back is not None
        _ = frame.f_back.f_locals
        return may_look(frame.f_back, frame)

    assert not outer()


def test_a_class_body_is_no_function():
    told = []

    class Body:
        told.append(may_look(sys._getframe(), None))

    assert told == [False]


def test_odd_modules_and_names_do_no_harm():
    class Odd:
        pass

    Odd.__module__ = 3  # type: ignore[assignment]
    Odd.__qualname__ = "a\nb"

    assert seen(frame_with(odd=Odd()), "it.odd")[0]["type"] == "a b"


class OddClass(type):
    """A metaclass that tells what it is asked."""

    calls: ClassVar[list[str]] = []

    def __eq__(cls, other: object) -> bool:
        OddClass.calls.append("eq")
        return cls is other

    def __hash__(cls) -> int:
        OddClass.calls.append("hash")
        return 1

    def __getattribute__(cls, name: str) -> Any:
        OddClass.calls.append(name)
        return type.__getattribute__(cls, name)


class OddText(str):
    def __str__(self) -> str:
        OddClass.calls.append("str")
        return "odd"

    def replace(self, *_: Any) -> str:
        OddClass.calls.append("replace")
        return "odd"


class OddKey:
    def __init__(self, like: object) -> None:
        self.like = like

    def __hash__(self) -> int:
        return hash(self.like)

    def __eq__(self, other: object) -> bool:
        OddClass.calls.append("key")
        return self.like == other


def item(container: str, *keys: str) -> str:
    return LINE.join(PART.join(("it", f".{container}", key)) for key in keys)


def test_asks_neither_metaclasses_nor_keys_nor_names():
    class Odd(list[int], metaclass=OddClass):
        pass

    def named() -> None:
        pass

    named.__qualname__ = OddText("named")
    frame = frame_with(
        held=[Odd([1]), Odd, named, Odd([1]).append], keyed={OddKey("k"): 1, OddKey(1): 2}
    )
    OddClass.calls.clear()

    held = look(frame, item("held", "i0", "i1", "i2", "i3"), [MOST_LEAVES]).split(LINE)
    keyed = look(frame, item("keyed", "sk", "i1"), [MOST_LEAVES]).split(LINE)
    calls = OddClass.calls.copy()

    assert calls == []
    assert held[0].startswith(f"type={__name__}.")
    assert "named" in held[2]
    assert held[3].endswith("Odd.append")
    assert keyed == ["", ""]


def test_looks_up_in_a_dictionary_of_plain_keys():
    frame = frame_with(keyed={"k": [1], 1: "a"})

    told = look(frame, item("keyed", "sk", "i1"), [MOST_LEAVES]).split(LINE)

    assert [one.split(PART)[0] for one in told] == ["type=list", "type=str"]


def test_builtins_are_named_as_python_names_them():
    append, made, joined = seen(
        frame_with(a=[].append, f=dict.fromkeys, j=",".join), "it.a", "it.f", "it.j"
    )

    assert append["function"] == "list.append"
    assert made["function"] == "dict.fromkeys"
    assert joined["function"] == "str.join"


def caller() -> FrameType:
    return sys._getframe(1)


def test_leaves_a_namespace_of_the_programs_own_making_alone():
    class Namespace(dict[str, object]):
        pass

    code = compile("frame = here()", "made", "exec")
    own, plain = Namespace(here=caller), {"here": caller}
    exec(code, own)
    exec(code, plain)

    assert not may_look(own["frame"], None)  # type: ignore[arg-type]
    assert may_look(plain["frame"], None)  # type: ignore[arg-type]


def test_knows_the_streams_that_a_terminal_shows(monkeypatch, tmp_path):
    with (tmp_path / "rows.csv").open("w") as rows:
        frame = frame_with(screen=rows, put=rows.write, other=None)
        assert not any(
            "standard" in told for told in seen(frame, "it.screen", "it.put", "it.other")
        )

        monkeypatch.setattr(sys, "stdout", rows)
        told = seen(frame, "it.screen", "it.put", "it.other")

    assert [fields.get("standard") for fields in told] == ["1", "1", None]
    assert told[0]["type"] == "_io.TextIOWrapper"


def refuse(*_: object) -> Any:
    raise AssertionError("nobody asks")


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("numpy", "ndarray"),
        ("numpy", "ufunc"),
        ("torch", "Tensor"),
        ("torch.nn.parameter", "Parameter"),
        ("collections", "deque"),
        ("collections", "defaultdict"),
        ("functools", "partial"),
        ("its", "cython_function_or_method"),
    ],
)
def test_what_only_says_what_it_is_is_not_asked(module: str, name: str):
    asked = dict.fromkeys(("shape", "dtype", "func", "__name__"), property(refuse))
    methods = dict.fromkeys(("__len__", "__iter__", "__getattr__"), refuse)
    stub = type(name, (), {**asked, **methods, "__module__": module})

    (told,) = seen(frame_with(value=stub()), "it.value")

    assert told["type"] == f"{module}.{name}"
    assert told.keys() <= {"type", "bases", "file"}


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_what_cannot_be_described_costs_itself_alone():
    nested = torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)])

    assert seen(frame_with(nested=nested, other=3), "it.nested", "it.other")[1] == {"type": "int"}


@pytest.mark.parametrize(("count", "left"), [(3, 0), (1_000, 1)])
def test_after_a_large_value_the_others_of_its_stack_wait(count: int, left: int):
    looks = ValueLooks(Mailbox(10_000))

    def sample(inner: FrameType) -> None:
        frames = [inner, inner.f_back]
        numbers = {
            (id(frame.f_code), frame.f_lasti): number
            for number, frame in enumerate(frames)
            if frame
        }
        looks.wanted = {0: f"{PRINT}rows", 1: f"{PRINT}rows{LINE}told"}
        looks.take(0, inner, numbers)

    def works(rows: list[list[int]], told: Callable[[], None]) -> None:
        told()

    def steps(rows: list[list[int]], told: Callable[[], None]) -> None:
        works(rows, told)

    steps([[1, 2]] * count, lambda: sample(sys._getframe(1)))

    assert len(looks.wanted) == left


def test_a_second_look_that_does_not_come_soon_is_given_up():
    mailbox = Mailbox(10_000)
    looks = ValueLooks(mailbox)
    told = []

    def sample() -> None:
        inner = sys._getframe(1)
        looks.take(0, inner, {(id(inner.f_code), inner.f_lasti): 7})
        told.append(looks.are_soon)

    def works(rows: list[int]) -> None:
        looks.wanted = {7: f"{PAIR}rows"} if rows else {}
        sample()

    works([1])
    for _ in range(20):
        sample()
    works([])

    assert told[0]
    assert not told[-2]
    assert told.index(False) <= 10


def test_what_it_takes_to_begin_to_count_is_told_apart_from_looks(monkeypatch):
    looks = ValueLooks(Mailbox(10_000))

    def count(*_place: object) -> None:
        begun = time.thread_time_ns()
        while time.thread_time_ns() - begun < 2_000_000:
            pass

    def sample(paths: str) -> int:
        inner = sys._getframe(1)
        looks.wanted = {0: paths}
        looks.take(0, inner, {(id(inner.f_code), inner.f_lasti): 0})
        return looks.taken_counting_ns()

    def works(paths: str) -> int:
        return sample(paths)

    monkeypatch.setattr(looks, "_count", count)

    assert works(f"{COUNT}step{PART}1{PART}2{PART}env") >= 2_000_000
    assert looks.taken_counting_ns() == 0, "told once"
    assert works("paths") == 0


def test_tells_what_a_stream_leads_to(tmp_path):
    reading, writing = os.pipe()
    ours, theirs = socket.socketpair()
    with (
        os.fdopen(reading) as pipe,
        os.fdopen(writing, "wb") as raw_pipe,
        (tmp_path / "rows.txt").open("w") as file,
        Path(os.devnull).open() as device,
        ours,
        theirs,
        ours.makefile("rw") as both,
        ours.makefile("rb") as one,
        (tmp_path / "closed.txt").open("w") as closed,
    ):
        closed.close()
        streams = [pipe, raw_pipe, file, device, both, both.readline, one, closed]
        frame = frame_with(**{f"s{number}": stream for number, stream in enumerate(streams)})
        told = seen(frame, *(f"it.s{number}" for number in range(len(streams))))

    assert [fields.get("stream", "") for fields in told] == (
        ["pipe", "pipe", "file", "device", "pair", "pair", "socket", ""]
    )


def test_a_stream_of_the_programs_own_is_not_asked(tmp_path):
    class Log(io.FileIO):
        def fileno(self) -> int:
            raise AssertionError("the program was called")

    with io.BufferedWriter(Log(tmp_path / "log", "w")) as log:
        (told,) = seen(frame_with(log=log), "it.log")

    assert "stream" not in told
