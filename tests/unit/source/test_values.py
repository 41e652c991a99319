from __future__ import annotations

import pytest

from rlprof.model.recording import SeenValue
from rlprof.source.value import Value
from rlprof.source.values import Values
from rlprof.syntax.module import parse


def seen(*looks: str) -> Value:
    """What looks told, each as ``name=value`` parted by spaces."""
    return Value(
        [
            SeenValue(
                0,
                "t.py",
                "f",
                3,
                "x",
                at,
                at,
                1,
                dict(field.split("=", 1) for field in fields.split()),
            )
            for at, fields in enumerate(looks)
        ]
    )


def arrays(*rows: int) -> Value:
    return seen(*(f"type=numpy.ndarray shape={row},8 dtype=f8" for row in rows))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ("type=int", "int"),
        ("type=numpy.ndarray shape=16,8 dtype=f4", "array of 16 × 8 float32"),
        ("type=numpy.ndarray shape= dtype=i8", "array of one int64"),
        ("type=torch.Tensor shape=6 dtype=torch.float32 device=cuda grad=1", "tensor of 6 float32 on cuda"),
        ("type=list length=48 first.type=numpy.ndarray first.shape=160 first.dtype=f8", "list of 48 (array of 160 float64 first)"),
        ("type=str length=120", "str of 120"),
        ("type=game.Sim file=game.py", "Sim"),
        ("type=dict length=0", "dict of 0"),
    ],
)  # fmt: skip
def test_in_words(fields: str, words: str):
    assert seen(fields).in_words() == words


@pytest.mark.parametrize(
    ("rows", "grows"),
    [
        ((10, 20, 40, 80), True),
        ((10, 20, 40, 30, 80), True),
        ((10, 20), False),
        ((10, 10, 10, 11), False),
        ((80, 40, 20, 90), False),
        ((10, 90, 20, 80, 30, 70), False),
    ],
)
def test_grows_where_nearly_every_look_found_more(rows: tuple[int, ...], grows: bool):
    assert arrays(*rows).grows() == grows


@pytest.mark.parametrize(
    ("fields", "is_one"),
    [
        ("type=torch.Tensor shape=6 dtype=torch.float32 device=cpu", True),
        ("type=torch.Tensor shape=1,6 dtype=torch.float32 device=cpu", True),
        ("type=torch.Tensor shape=16,6 dtype=torch.float32 device=cpu", False),
        ("type=torch.Tensor shape= dtype=torch.float32 device=cpu", False),
        ("type=numpy.ndarray shape=6 dtype=f8", True),
        ("type=numpy.ndarray shape=16,6 dtype=f8", False),
        ("type=list length=6 first.type=float", True),
        ("type=list length=6 first.type=game.Drone", False),
    ],
)
def test_one_row_is_an_array_without_a_batch(fields: str, is_one: bool):
    assert seen(fields).is_one_row == is_one


@pytest.mark.parametrize(
    ("fields", "holds"),
    [
        ("type=list length=2 first.type=numpy.ndarray first.shape=6", True),
        ("type=list length=2 first.type=game.Drone", True),
        ("type=list length=2 first.type=strategy.Agent", True),
        ("type=list length=2 first.type=float", False),
        ("type=list length=2 first.type=n.Net first.bases=torch.nn.modules.module.Module", False),
        ("type=list length=0", False),
    ],
)
def test_objects_are_neither_numbers_nor_networks(fields: str, holds: bool):
    assert seen(fields).holds_objects == holds


def test_a_statement_has_the_values_of_all_its_lines():
    module = parse("x = f(\n    a,\n    b,\n)\n")
    assert module is not None
    statement = module.statement_at(1)
    assert statement is not None
    values = Values(
        [
            SeenValue(0, "t.py", "f", line, name, 0, 0, 1, {"type": "int"})
            for line, name in ((1, "f"), (2, "a"), (3, "b"), (9, "c"))
        ]
    )

    assert set(values.of("t.py", statement)) == {"f", "a", "b"}
    assert values.of("other.py", statement) == {}
    assert values.has("t.py")
    assert not values.has("other.py")


@pytest.mark.parametrize(
    ("fields", "numbers"),
    [
        ("type=float", 1),
        ("type=numpy.float64 bases=float", 1),
        ("type=numpy.ndarray shape=3,4 dtype=f8", 12),
        ("type=numpy.ndarray shape= dtype=f8", 1),
        ("type=list length=6 first.type=int", 6),
        ("type=list length=6 first.type=list", None),
        ("type=str length=6", None),
        ("type=game.Sim", None),
        ("type=intrinsic.Reward", None),
        ("type=list length=6 first.type=floats.Number", None),
        ("type=numpy.uint8", 1),
    ],
)
def test_numbers_are_counted(fields: str, numbers: int | None):
    assert seen(fields).numbers == numbers
