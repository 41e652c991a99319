"""Docstrings open with a verb or a noun, so that a list of them reads as one of things and deeds."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

QUESTION = re.compile(r"(How|Of|What|When|Where|Whether|Which|Who|Whose|Why)\b")


def test_no_docstring_opens_with_a_question():
    found = [
        f"{path.relative_to(ROOT)}: {text.splitlines()[0]}"
        for path in sorted((ROOT / "rlprof").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and (text := ast.get_docstring(node))
        and QUESTION.match(text)
    ]

    assert found == []
