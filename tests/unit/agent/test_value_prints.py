from __future__ import annotations

import mmap
import subprocess
import sys
import weakref
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rlprof.agent.inject.rlprof_agent import value_prints

AGENT = Path(value_prints.__file__).parents[1]


def print_of(value: Any) -> int | None:
    """The print of what is looked at alone."""
    return value_prints.print_of(value, [value_prints.MOST_LEAVES])


class Own:
    def __eq__(self, other: object) -> bool:
        raise AssertionError("nothing of the program is called")

    __hash__ = object.__hash__


class OwnArray(np.ndarray):
    def tobytes(self, *_: Any) -> bytes:
        raise AssertionError("nothing of the program is called")


@pytest.mark.parametrize(
    "make",
    [
        lambda: 3,
        lambda: float("nan"),
        lambda: "text",
        lambda: [1, [2.5, "a"], {"k": (None, True)}],
        lambda: {3, 1, 2},
        lambda: range(5),
        lambda: np.arange(12.0).reshape(3, 4),
        lambda: np.float32(1.5),
        lambda: [np.ones(3), np.ones(2)],
        lambda: np.arange(500_000),
        lambda: "text" * 100_000,
        lambda: [1 << 70, -1],
        lambda: [1.5, float("nan")],
        lambda: [True, False],
        lambda: 2 + 3j,
    ],
)
def test_equal_contents_have_the_same_print(make: Callable[[], Any]):
    assert print_of(make()) == print_of(make()) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (3, 4),
        (1, True),
        (1, 1.0),
        ([1, 2], [2, 1]),
        ([1, 2], (1, 2)),
        ([[1], [2]], [[1], [3]]),
        ({"a": 1}, {"a": 2}),
        (np.zeros(4), np.zeros((2, 2))),
        (np.zeros(4), np.zeros(4, np.float32)),
        (np.zeros(3), np.array([0, 0, 1e-9])),
        (-1, -2),
        ([0, -1], [0, -2]),
        ([1, 0], [True, False]),
        ([1, 2], [1.0, 2.0]),
        ([1 << 63], [-(1 << 63)]),
        (0.0, -0.0),
        (1 + 2j, 2 + 1j),
        (True, False),
        (None, ...),
        (range(3), range(0, 3, 2)),
    ],
)
def test_other_contents_have_another(one: Any, other: Any):
    assert print_of(one) != print_of(other)


@pytest.mark.parametrize("cell", [(0, 1), (777, 3), (999, 999)])
def test_one_cell_of_a_large_array_makes_another(cell: tuple[int, int]):
    grid = np.zeros((1000, 1000), np.int8)
    before = print_of(grid)
    grid[cell] = 1

    assert print_of(grid) != before


def test_what_moves_in_a_large_array_makes_another():
    grid = np.zeros((500, 1111))
    grid[0, 0] = 1.0
    prints = {print_of(grid)}
    for cell in [(0, 1), (0, 512), (100, 0), (499, 1110), (499, 1109)]:
        grid[:] = 0.0
        grid[cell] = 1.0
        prints.add(print_of(grid))
    rows = np.arange(999_900.0).reshape(900, 1111)[:, :500].copy()
    prints.update((print_of(rows), print_of(rows[::-1].copy()), print_of(rows[:, ::-1].copy())))

    assert len(prints) == 9


def test_one_letter_of_a_long_text_makes_another():
    assert print_of("a" * 50_000) != print_of("a" * 25_001 + "b" + "a" * 24_998)


@pytest.mark.parametrize(
    "value",
    [
        Own(),
        [1, Own()],
        deque([1]),
        np.array([Own()], object),
        np.zeros(3).view(OwnArray),
        torch.zeros(3),
        torch.nn.Parameter(torch.zeros(3)),
        list(range(100_000)),
        [np.zeros(400_000)] * 2,
        len,
        print_of,
        [].append,
        np.frombuffer(mmap.mmap(-1, 64)),
        torch.zeros(3).numpy(),
        np.array(["long" * 20, "short"]),
        np.zeros((1_000_000, 4)),
        "text" * 2_000_000,
        1 << 80_000_000,
        Own,
        np,
        (number for number in [1]),
        dict.fromkeys(range(20_000)),
        [[[[[1]]]]],
    ],
    ids=lambda value: type(value).__name__,
)
def test_of_anything_else_nothing_is_told(value: Any):
    assert print_of(value) is None


@pytest.mark.parametrize("side", [20, 64, 90])
def test_every_cell_of_a_grid_is_met(side: int):
    grid = [[0] * side for _ in range(side)]
    before = print_of(grid)
    grid[side - 1][side - 2] = 1

    assert print_of(grid) != before


def test_nothing_is_kept_alive():
    array = np.ones(3)
    print_of(array)
    gone = weakref.ref(array)
    del array

    assert gone() is None


def test_torch_may_swap_what_was_looked_at():
    one, other = torch.zeros(2), torch.ones(2)
    print_of([one, other])
    torch.utils.swap_tensors(one, other)

    assert one.tolist() == [1.0, 1.0]


def test_a_number_of_the_programs_own_is_not_asked():
    class Price(np.float64):
        __module__ = "numpy"

        def tobytes(self, *_: Any) -> bytes:
            raise AssertionError("nothing of the program is called")

    assert print_of(Price(3.0)) is None


def test_what_one_look_reads_is_bounded_over_all_its_values():
    rows = [[number, number] for number in range(1_000)]
    left = [value_prints.MOST_LEAVES]
    told = [value_prints.print_of(value, left) is not None for value in [rows] * 4]

    assert told == [True, False, False, False]


HEARS = """
import sys
heard = []
sys.addaudithook(lambda event, _: heard.append(event))
sys.path.insert(0, sys.argv[1])
from rlprof_agent.value_prints import print_of
values = [3, 1.5, True, None, [1, 2], [1.0], {"a": (1, 2.0)}, {1, 2}, range(4), 1 << 90, "text"]
del heard[:]
assert all(print_of(value, [1_000]) is not None for value in values)
assert set(heard) <= {"builtins.id"}, heard  # Which tells a number.
"""


def test_audit_hooks_are_not_handed_the_values():
    subprocess.run([sys.executable, "-c", HEARS, AGENT], check=True, timeout=60)


def test_large_numbers_are_not_written_out():
    # Which takes time with the square of their length, and from Python 3.11 is refused from 4300 digits on.
    sevens = [7 << 20_000, 7 << 20_001]

    assert print_of(sevens) == print_of(list(sevens))
    assert print_of(sevens) != print_of([7 << 20_000, 7 << 20_002])
    assert print_of(7 << 20_000) != print_of(-(7 << 20_000))


def one_of(size: int, dtype: str = "f8") -> np.ndarray:
    array = np.zeros(size, dtype)
    array[3] = 1.0
    return array


@pytest.mark.parametrize(
    "array",
    [one_of(18_144), one_of(512, "f4"), one_of(900).reshape(30, 30), one_of(600) * -1.0],
    ids=["features", "short", "a table", "negative zeros"],
)
def test_nearly_all_numbers_are_zeros(array):
    assert value_prints.truths_of_numbers(array) == ["zeros=1"]


@pytest.mark.parametrize(
    "array",
    [
        np.full(1000, np.nan),
        np.where(np.arange(1000) % 10, 0.0, 1.0),
        one_of(100),
        np.zeros(1 << 19),
        np.zeros(1000, int),
        np.zeros(1000, object),
        np.zeros(1000).view(OwnArray),
        np.frombuffer(bytes(8000)),
        [0.0] * 1000,
    ],
    ids=[
        "no numbers",
        "a tenth is none",
        "few",
        "many",
        "whole",
        "objects",
        "own",
        "shared",
        "list",
    ],
)
def test_of_others_that_is_not_told(array):
    assert value_prints.truths_of_numbers(array) == []


@pytest.mark.parametrize(("dtype", "denormal"), [("f4", 1e-44), ("f4", -1e-40), ("f8", 3e-310)])
def test_an_array_that_has_faded_has_denormal_numbers(dtype, denormal):
    array = np.linspace(-1.0, 1.0, 1000, dtype=dtype)
    assert value_prints.truths_of_numbers(array) == []
    array[::10] = denormal
    assert value_prints.truths_of_numbers(array) == ["denormals=1"]


def test_zeros_and_the_least_normal_numbers_are_not_denormal():
    for dtype in ("f4", "f8"):
        array = np.full(1000, np.finfo(dtype).tiny, dtype)
        array[::2] = 0.0
        assert value_prints.truths_of_numbers(array) == []


def test_floats_of_another_byte_order_are_left_alone():
    assert value_prints.truths_of_numbers(np.zeros(1000, ">f4")) == []
