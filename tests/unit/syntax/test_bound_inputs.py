"""What a function depends on, in the words of who calls it."""

from __future__ import annotations

import ast

import pytest

from rlprof.syntax.bound_inputs import at_entry, bound_inputs
from rlprof.syntax.module import SourceModule, parse
from rlprof.syntax.operands import Operand, operand_of

PROGRAM = """
import numpy as np

class Basis:
    def __call__(self, obs, width=2):
        return obs * self.low * width

    @property
    def table(self):
        return build(self.low)

    def of(self, obs, mask=None):
        return obs[mask]

    @staticmethod
    def plain(obs):
        return obs

def near(at, *rows, **options):
    return look(at)

def caller(batch, rows):
    {line}
"""


def program(line: str) -> SourceModule:
    found = parse(PROGRAM.format(line=line))
    assert found is not None
    return found


def operand(text: str) -> Operand:
    found = operand_of(ast.parse(text, mode="eval").body)
    assert found is not None
    return found


def bound(line: str, name: str, *inputs: str) -> set[str] | None:
    module = program(line)
    (function,) = [candidate for candidate in module.functions if candidate.node.name == name]
    at = (
        next(
            candidate for candidate in module.functions if candidate.node.name == "caller"
        ).first_line
        + 1
    )
    found = bound_inputs(module, at, function, [operand(text) for text in inputs])
    return None if found is None else {given.text for given in found.inputs}


@pytest.mark.parametrize(
    ("line", "name", "inputs", "expected"),
    [
        ("x = self.basis(rows)", "__call__", ["obs", "self.low"], {"rows", "self.basis.low"}),
        ("x = self.basis.of(batch.obs)", "of", ["obs"], {"batch.obs"}),
        ("x = basis.of(obs=batch['obs'])", "of", ["obs"], {"batch['obs']"}),
        ("x = basis.of(*batch)", "of", ["obs", "mask"], {"batch"}),
        ("x = basis.of(rows)", "of", ["obs", "mask"], {"rows"}),
        (
            "x = basis.of(np.abs(rows), rows[batch.keep])",
            "of",
            ["obs", "mask"],
            {"rows", "batch.keep"},
        ),
        ("x = basis.of(rows)", "of", ["obs", "LOW"], {"rows", "LOW"}),
        ("x = Basis.plain(rows)", "plain", ["obs"], {"rows"}),
        ("x = basis.of(rows)", "of", ["obs[0]", "obs[-1]"], {"rows[0]", "rows[-1]"}),
        ("x = basis.of(batch.obs)", "of", ["obs['near'].low"], {"batch.obs['near'].low"}),
        ("x = near(batch.obs, rows, low=rows)", "near", ["at"], {"batch.obs"}),
        ("x = self.basis.table + 1", "table", ["self.low"], {"self.basis.low"}),
    ],
)
def test_inputs_are_what_the_call_gives(
    line: str, name: str, inputs: list[str], expected: set[str]
):
    assert bound(line, name, *inputs) == expected


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("x = basis.of(rows) + basis.of(batch)", "of"),
        ("x = act(rows)", "of"),
        ("x = basis.of(draw(rows))", "of"),
        ("x = basis.of(rows, **batch)", "of"),
        ("x = self.basis(other(rows))", "__call__"),
    ],
    ids=["two calls", "another name", "computed first", "keywords", "which call"],
)
def test_none_where_the_call_does_not_tell(line: str, name: str):
    assert bound(line, name, "obs") is None


@pytest.mark.parametrize("name", ["rows", "options"])
def test_none_of_what_a_function_gathers(name: str):
    assert bound("x = near(batch, batch, low=batch, options=batch)", "near", name) is None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("pass", {"batch"}),
        ("obs, acts = batch", {"batch"}),
        ("obs, acts = batch, rows", {"batch"}),
        ("obs = batch['obs']", {"batch['obs']"}),
        ("obs = np.asarray(batch.obs)", {"batch.obs"}),
        ("obs = draw(batch)", None),
        ("obs = []", None),
        ("for obs in batch: pass", None),
        ("obs = batch; obs = rows", None),
    ],
)
def test_variables_that_are_made_of_arguments(body: str, expected: set[str] | None):
    module = program(body)
    function = next(candidate for candidate in module.functions if candidate.node.name == "caller")
    found = at_entry(module, function, [operand("batch" if body == "pass" else "obs")])

    assert (None if found is None else {argument.text for argument in found}) == expected
