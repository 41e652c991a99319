"""Cases for fixes: one source file, the lines that a finding names, and what was seen there."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Mapping

import pytest

from rlprof.fixes.base import CannotFixError, Case, Fix, Place
from rlprof.model.finding import Finding, Location
from tests.value_factory import a_value

FILE = "/p/train.py"


def a_case(
    text: str,
    *lines: int,
    seen: Mapping[str, str] | None = None,
    told: str = "",
    script: str = FILE,
    **others: str,
) -> Case:
    """``seen`` tells values by their operands, as ``a_value`` takes them; lines count from 1."""
    known = {operand: a_value(fields) for operand, fields in (seen or {}).items()}
    finding = Finding(
        title="it is slow",
        savings=(),
        locations=tuple(Location(FILE, line, "train", 0.5) for line in lines),
        evidence=(),
        fix=told,
    )
    places = [Place(FILE, line, known) for line in lines]
    texts = {FILE: text, **{f"/p/{name}.py": other for name, other in others.items()}}
    return Case(finding, places, texts, script)


def fixed(fix: Fix, text: str, *lines: int, **more: object) -> str:
    """The new text of the file, which is Python, and has all lines of the old one but those that a fix may touch."""
    rewriting = fix.rewrite(a_case(text, *lines, **more))  # type: ignore[arg-type]
    (new,) = rewriting.texts.values()
    ast.parse(new)
    return new


def refusal(fix: Fix, text: str, *lines: int, **more: object) -> str:
    with pytest.raises(CannotFixError) as raised:
        fix.rewrite(a_case(text, *lines, **more))  # type: ignore[arg-type]
    return str(raised.value)


def changes(before: str, after: str) -> list[str]:
    """Lines that go, with ``-`` before them, and that come, with ``+``."""
    old, new = before.split("\n"), after.split("\n")
    told = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [
        line
        for kind, first, last, begin, end in told
        if kind != "equal"
        for line in (
            *(f"-{each}" for each in old[first:last]),
            *(f"+{each}" for each in new[begin:end]),
        )
    ]
