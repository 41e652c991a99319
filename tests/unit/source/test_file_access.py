from __future__ import annotations

import ast

import pytest

from rlprof.libraries.base import Access
from rlprof.source.outputs import file_access
from rlprof.source.value import Value
from rlprof.syntax.module import parse
from tests.value_factory import a_value


def access(line: str, imports: str = "", **known: str) -> Access | None:
    """What is told of the calls of ``line``; ``known`` are looks by operand, with ``__`` for a dot."""
    module = parse(f"{imports}\n{line}\n")
    assert module is not None
    calls = [node for node in module.statements_at(2)[-1].walk() if isinstance(node, ast.Call)]
    seen: dict[str, Value] = {
        name.replace("__", "."): a_value(look) for name, look in known.items()
    }
    return next(filter(None, (file_access(call, seen, module) for call in calls)), None)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("requests.get(url)", Access.REMOTE),
        ("level = open(path).read()", Access.READ),
        ('level = open("a", "rb")', Access.READ),
        ("level = np.load(path)", Access.READ),
        ("level = Path(path).read_text()", Access.READ),
        ("self.file.read(8)", Access.READ),
        ("value = json.loads(text)", None),
        ("policy.load(weights)", None),
        ("camera.read()", None),
        ('rows = open(path, "a")', None),
        ("pool.execute(task)", None),
    ],
)
def test_goes_by_names_where_nothing_was_seen(line, told):
    assert access(line) == told


def test_names_that_the_file_imports_are_known():
    assert access("level = fetch(path)", "from numpy import load as fetch") is Access.READ


@pytest.mark.parametrize(
    ("look", "told"),
    [
        ("type=function function=numpy.load file=/venv/lib/python3.11/site-packages/numpy/lib/io.py", Access.READ),
        ("type=method_descriptor function=_io.TextIOWrapper.read", Access.READ),
        ("type=method_descriptor function=_io.StringIO.read", None),
        ("type=method_descriptor function=sqlite3.Cursor.fetchall", Access.READ),
        ("type=method function=camera.Camera.read file=/home/you/camera.py", None),
    ],
)  # fmt: skip
def test_what_was_seen_counts_more_than_names(look, told):
    assert access("self.file.read(8)", self__file__read=look) == told


@pytest.mark.parametrize("line", ["self.file.read(8)", "level = pickle.load(self.file)"])
@pytest.mark.parametrize(
    ("leads_to", "told"), [("file", Access.READ), ("pipe", None), ("socket", None)]
)
def test_a_stream_that_leads_to_somebody_is_no_file(line, leads_to, told):
    look = f"type=_io.BufferedReader stream={leads_to}"
    read = "type=method_descriptor function=_io.BufferedReader.read"

    assert access(line, "import pickle", self__file=look, self__file__read=read) is told


@pytest.mark.parametrize(
    ("query", "told"), [("SELECT * FROM rows", Access.READ), ("INSERT INTO rows VALUES (1)", None)]
)
def test_a_question_to_a_database_reads(query, told):
    look = "type=builtin_function_or_method function=sqlite3.Connection.execute"

    assert access(f'db.execute("{query}")', db__execute=look) is told


def test_a_database_in_memory_is_no_file():
    look = "type=builtin_function_or_method function=sqlite3.Connection.execute"
    head = "from sqlite3 import connect; db = connect(':memory:', isolation_level=None)"

    assert access('db.execute("SELECT * FROM rows")', head, db__execute=look) is None
