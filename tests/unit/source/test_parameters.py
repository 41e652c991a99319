from __future__ import annotations

import ast

import pytest

from rlprof.source.parameters import Parameters


def parameters(text: str, *command: str) -> Parameters:
    return Parameters({"train.py": text}, ("python", "train.py", *command))


@pytest.mark.parametrize(
    "text",
    [
        "BATCH_SIZE = 64",
        "batch_size: int = 64",
        "parser.add_argument('--batch-size', type=int, default=64)",
        "config = {'batch_size': 64}",
        "def learn(memory, batch_size=64): pass",
        "def learn(memory, *, batch_size=2 ** 6): pass",
        "buffer = Replay(batch_size=int(6.4e1))",
        "self._batch_size = 4 * 16",
    ],
)
def test_reads_a_size_by_its_name(text):
    assert parameters(text).named("batch_size") == 64


def test_what_a_call_says_holds_over_a_constant_and_that_over_a_default():
    default = "def make(capacity=1): pass\n"
    constant = "CAPACITY = 20\n"
    call = "make(capacity=300)\n"

    assert parameters(default).named("capacity") == 1
    assert parameters(default + constant).named("capacity") == 20
    assert parameters(default + constant + call).named("capacity") == 300


@pytest.mark.parametrize(
    "command", [("--num-envs", "8"), ("--num_envs=8",), ("run.num_envs=8",), ("+num_envs=8",)]
)
def test_the_command_line_holds_over_the_source(command):
    assert parameters("num_envs = 4", *command).named("num_envs") == 8


def test_one_letter_is_another_name_as_a_capital():
    known = parameters("N = 500\n", "--n", "8")

    assert known.named("N") == 500
    assert known.named("n") == 8


@pytest.mark.parametrize(
    "text",
    [
        "args.batch_size = int(args.num_envs * args.num_steps)\nargs.num_envs = 4\nargs.num_steps = 128\n",
        "num_envs, num_steps = 4, 128\nrows = num_envs * num_steps\nbatch_size = rows\n",
    ],
)
def test_a_product_of_others_is_known(text):
    assert parameters(text).named("batch_size") == 512


def test_a_product_that_is_made_in_two_ways_is_not():
    text = "num_envs = 4\nrows = num_envs * 2\nrows = num_envs * unknown\n"

    assert parameters(text).named("rows") is None


def test_two_values_are_none():
    assert parameters("num_envs = 4\nnum_envs = 8").named("num_envs") is None


@pytest.mark.parametrize(
    ("expression", "value"),
    [("64", 64), ("args.n", 6), ("cfg['n']", 6), ("n * 2", 12), ("int(1e3)", 1000), ("m", None),
     ("True", None), ("n / 2", None), ("10 ** 10 ** 10", None)],
)  # fmt: skip
def test_the_value_of_an_expression(expression, value):
    parsed = ast.parse(expression, mode="eval").body

    assert parameters("n = 6").value(parsed) == value


def test_a_source_that_cannot_be_read_has_none():
    assert parameters("def broken(:").named("batch_size") is None


def test_what_a_function_of_the_file_is_given_by_position_has_its_name():
    text = """
class Library:
    def __init__(self, capacity):
        self.capacity = capacity

    def draw(self, k, seed):
        return self.rng.choices(self.shelf, k=k)

library = Library(12_000)
batch = library.draw(24, seed)
"""

    known = Parameters({"train.py": text}, ["train.py"])

    assert (known.named("k"), known.named("capacity"), known.named("seed")) == (24, 12_000, None)
