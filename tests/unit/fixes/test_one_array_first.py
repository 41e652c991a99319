from __future__ import annotations

import warnings

import pytest

from rlprof.fixes.rewrites.one_array_first import FIX
from tests.fix_factory import changes, fixed, refusal

HEAD = "import numpy as np\nimport torch\n\ndef f(xs, items):\n"
ARRAYS = {"xs": "type=list length=32 first.type=numpy.ndarray first.shape=4 first.dtype=f4"}
FLOATS = {"xs": "type=list length=32 first.type=float"}
INTS = {"xs": "type=tuple length=32 first.type=int"}


def of(made: str, seen: dict[str, str]) -> str:
    text = f"{HEAD}    return {made}\n"
    return fixed(FIX, text, 5, seen=seen).removeprefix(f"{HEAD}    return ").strip()


@pytest.mark.parametrize(
    ("made", "seen", "new"),
    [
        ("torch.tensor(xs)", ARRAYS, "torch.tensor(np.array(xs))"),
        ("torch.tensor(xs, device=d)", ARRAYS, "torch.tensor(np.array(xs), device=d)"),
        (
            "torch.as_tensor(xs, dtype=torch.long)",
            INTS,
            "torch.as_tensor(np.array(xs), dtype=torch.long)",
        ),
        (
            "torch.as_tensor([int(x) for x in items])",
            {},
            "torch.as_tensor(np.array([int(x) for x in items]))",
        ),
        (
            "torch.tensor(xs)",
            FLOATS,
            "torch.tensor(np.array(xs), dtype=torch.get_default_dtype())",
        ),
        (
            "torch.tensor(xs, dtype=torch.float64)",
            FLOATS,
            "torch.tensor(np.array(xs), dtype=torch.float64)",
        ),
        (
            "torch.FloatTensor(xs).to(d)",
            FLOATS,
            "torch.as_tensor(np.array(xs), dtype=torch.float32).to(d)",
        ),
        ("torch.LongTensor(xs)", INTS, "torch.as_tensor(np.array(xs), dtype=torch.int64)"),
        (
            "torch.tensor([float(x) for x in items])",
            {},
            "torch.tensor(np.array([float(x) for x in items]), dtype=torch.get_default_dtype())",
        ),
        (
            "torch.tensor([item.obs for item in items])",
            {"item.obs": "type=numpy.ndarray shape=4 dtype=f4"},
            "torch.tensor(np.array([item.obs for item in items]))",
        ),
    ],
)
def test_an_array_is_made_first(made, seen, new):
    assert of(made, seen) == new


@pytest.mark.parametrize(
    ("made", "seen", "why"),
    [
        ("torch.tensor(xs)", {}, "was not seen"),
        (
            "torch.tensor(xs)",
            {"xs": "type=list length=9 first.type=torch.Tensor"},
            "holds torch.Tensor",
        ),
        ("torch.tensor(xs)", {"xs": "type=list length=9 first.type=list"}, "holds list"),
        (
            "torch.tensor(xs)",
            {"xs": "type=list length=9 first.type=int mixed=1"},
            "of several types",
        ),
        ("torch.tensor(xs)", INTS, "only the first elements"),
        ("torch.tensor(xs, dtype=None)", FLOATS, "dtype is given as None"),
        ("torch.tensor(*xs)", FLOATS, "not given first"),
        ("torch.stack(xs)", FLOATS, "calls no torch.tensor"),
    ],
)
def test_what_would_give_another_tensor_is_refused(made, seen, why):
    assert why in refusal(FIX, f"{HEAD}    return {made}\n", 5, seen=seen)


def test_numpy_is_imported_where_it_is_not():
    text = "#!/usr/bin/env python\n# Licence.\n\nimport torch\n\n\ndef f(xs):\n    return torch.tensor(\n        xs,  # all\n        device=d,\n    )\n"

    assert changes(text, fixed(FIX, text, 8, seen=ARRAYS)) == [
        "+import numpy as np",
        "-        xs,  # all",
        "+        np.array(xs),  # all",
    ]


def test_a_file_that_calls_something_else_np_is_left_alone():
    text = "import torch\nnp = 3\ntorch.tensor(xs)\n"

    assert "the name np" in refusal(FIX, text, 3, seen=ARRAYS)


def test_another_name_of_numpy_is_taken():
    text = "import numpy\nimport torch as th\nth.tensor(xs)\n"

    assert fixed(FIX, text, 3, seen=FLOATS) == text.replace(
        "(xs)", "(numpy.array(xs), dtype=th.get_default_dtype())"
    )


@pytest.mark.parametrize(
    ("kind", "made"),
    [
        ("float", "[0.1, 2.0, 1e30]"),
        ("float", "[0.1, 2, True]"),
        ("numpy.ndarray", "[np.ones(3), np.zeros(3)]"),
        ("numpy.ndarray", "[np.ones(3, 'float32')] * 2"),
        ("numpy.ndarray", "[np.ones(3, 'int32')] * 2"),
        ("numpy.ndarray", "[np.ones(3, 'uint8')] * 2"),
        ("numpy.ndarray", "[np.ones((2, 3), bool)] * 2"),
    ],
)
@pytest.mark.parametrize("call", ["torch.tensor(xs)", "torch.Tensor(xs)", "torch.as_tensor(xs)"])
def test_the_tensor_is_the_same(kind, made, call):
    check_same(kind, made, call)


@pytest.mark.parametrize(
    ("kind", "made"),
    [
        ("int", "[1, -2, 3]"),
        ("int", "[1, 0.1, 2.7]"),
        ("bool", "[True, False]"),
        ("numpy.float64", "[np.float64(0.1)] * 2"),
        ("numpy.int64", "[np.int64(3)] * 2"),
        ("float", "[]"),
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        "torch.tensor(xs, dtype=torch.float32)",
        "torch.tensor(xs, dtype=torch.int64)",
        "torch.Tensor(xs)",
        "torch.FloatTensor(xs)",
    ],
)
def test_the_tensor_of_a_given_type_is_the_same(kind, made, call):
    check_same(kind, made, call)


def check_same(kind: str, made: str, call: str) -> None:
    torch = pytest.importorskip("torch")
    text = f"import numpy as np\nimport torch\nxs = {made}\nmade = {call}\n"
    new = fixed(FIX, text, 4, seen={"xs": f"type=list length=3 first.type={kind}"})
    before: dict[str, object] = {}
    after: dict[str, object] = {}

    with warnings.catch_warnings():
        # Of torch, that it is slow.
        warnings.simplefilter("ignore")
        exec(text, before)
    exec(new, after)

    assert before["made"].dtype == after["made"].dtype
    assert torch.equal(before["made"], after["made"])
