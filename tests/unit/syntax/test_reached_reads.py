"""Whether a read may have what an assignment gave."""

from __future__ import annotations

import ast
import textwrap

import pytest

from rlprof.syntax.module import parse
from rlprof.syntax.reached_reads import is_reached


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1\nread(x)", True),
        ("x = 1\nx = 2\nread(x)", False),
        ("x = 1\nfor y in rows:\n    read(x)", True),
        ("x = 1\nfor x in rows:\n    read(x)", False),
        ("x = 1\nfor (x, y) in rows:\n    read(x)", False),
        ("x = 1\nfor x in rows:\n    pass\nread(x)", True),
        ("x = 1\nmade = [read(x) for y in rows]", True),
        ("x = 1\nmade = [read(x) for x in rows]", False),
    ],
)
def test_what_comes_in_between(text: str, expected: bool):
    module = parse(f"def main(rows):\n{textwrap.indent(text, '    ')}\n")
    assert module is not None
    (read,) = [
        node.args[0]
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "read"
    ]
    first = module.functions[0].node.body[0]

    assert isinstance(read, ast.Name)
    assert is_reached(module, read, first) is expected


@pytest.mark.parametrize(
    ("body", "expected"), [("read(rows)", True), ("rows = 1; read(rows)", False)]
)
def test_what_a_function_is_given(body: str, expected: bool):
    module = parse(f"rows = 0\n\ndef main(rows):\n    {body}\n")
    assert module is not None
    (read,) = [node.args[0] for node in ast.walk(module.tree) if isinstance(node, ast.Call)]

    assert isinstance(read, ast.Name)
    assert is_reached(module, read, module.functions[0].node) is expected
