from __future__ import annotations

import pytest

from rlprof.detectors.hot_spot import operation_in_words
from rlprof.model.recording import SeenValue
from rlprof.source.value import Value
from rlprof.syntax.module import parse

OBS = "type=numpy.ndarray shape=8 dtype=f8"
NUMPY = "type=numpy._ArrayFunctionDispatcher function=numpy."
BUILTIN = "type=builtin_function_or_method function="
NETWORK = "type=nets.Policy bases=torch.nn.modules.module.Module file=nets.py"


def words(text: str, *called: str, **seen: str) -> str:
    module = parse(text)
    assert module is not None
    statement = module.statement_at(1)
    assert statement is not None
    known = {
        name.replace("__", "."): Value(
            [
                SeenValue(
                    0,
                    "t",
                    "f",
                    1,
                    name,
                    0,
                    0,
                    1,
                    dict(field.split("=", 1) for field in told.split()),
                )
            ]
        )
        for name, told in seen.items()
    }
    return operation_in_words(statement, known, called)


@pytest.mark.parametrize(
    ("text", "called", "seen", "expected"),
    [
        (
            "x = np.roll(scan, 1)",
            ["roll"],
            {"np__roll": NUMPY + "roll", "scan": OBS},
            "numpy.roll of scan: array of 8 float64",
        ),
        (
            "a = net(x)",
            [],
            {"net": NETWORK, "x": "type=torch.Tensor shape=6 dtype=torch.float32 device=cpu"},
            "",
        ),
        (
            "a = net(x)",
            ["net"],
            {"net": NETWORK, "x": "type=torch.Tensor shape=6 dtype=torch.float32 device=cpu"},
            "the network net (Policy) of x: tensor of 6 float32",
        ),
        (
            "s = f'{act} {obs} {n}'",
            [],
            {"act": "type=float", "obs": OBS, "n": "type=int"},
            "text of obs: array of 8 float64",
        ),
        ("y = w @ s", [], {"w": OBS, "s": OBS}, "multiplies matrices: w: array of 8 float64, s: array of 8 float64"),
        ("y = T(rows)", [], {"T": BUILTIN + "torch._VariableFunctionsClass.tensor", "rows": "type=list length=3 first.type=float"},
         "torch.tensor of rows: list of 3 (float first)"),
        ("y = unknown(z)", [], {}, ""),
        ("y = run(every=1 / n)", ["run"], {"n": "type=int"}, ""),
    ],
)  # fmt: skip
def test_tells_what_is_done_to_what(
    text: str, called: list[str], seen: dict[str, str], expected: str
):
    assert words(text, *called, **seen) == expected


def test_chooses_the_call_that_time_was_seen_in():
    seen = {"np__sort": NUMPY + "sort", "np__roll": NUMPY + "roll", "a": OBS, "b": OBS}

    assert words("x = np.sort(a) + np.roll(b, 1)", "roll", **seen).startswith("numpy.roll of b")
