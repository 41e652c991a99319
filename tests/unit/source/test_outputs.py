from __future__ import annotations

import ast

import pytest

from rlprof.libraries.base import Sink
from rlprof.source.outputs import output
from rlprof.syntax.module import parse
from tests.value_factory import a_value


def sink(line: str, above: str = "", **known: str) -> Sink | None:
    """Where the first call of ``line`` writes; ``known`` are looks by operand, with ``__`` for a dot."""
    module = parse(f"{above}\n{line}\n")
    assert module is not None
    statement = module.statements_at(above.count("\n") + 2)[-1]
    calls = [node for node in statement.walk() if isinstance(node, ast.Call)]
    seen = {name.replace("__", "."): a_value(look) for name, look in known.items()}
    return output(calls[0], seen, module)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("print(step)", Sink.PRINT),
        ("rows.writerow(row)", Sink.ROWS),
        ("os.fsync(descriptor)", Sink.SYNCS),
        ("self.file.flush()", Sink.SYNCS),
        ("cursor.execute(insert, row)", Sink.SYNCS),
        ('db.execute("INSERT INTO steps VALUES (?)", row)', Sink.SYNCS),
        ('db.execute("WITH last AS (SELECT 1) INSERT INTO steps SELECT * FROM last")', Sink.SYNCS),
        ('db.execute("select data from steps")', None),
        ('db.execute(f"""\\n SELECT data FROM steps WHERE id IN ({marks})""", ids)', None),
        ('name.replace("-", "_")', None),
        ('rows = open(path, "a")', Sink.OPENING),
        ('rows = Path(folder, "rows.txt").open("w")', Sink.OPENING),
        ("rows = open(path, mode='wb')", Sink.OPENING),
        ("self.file.write(row)", Sink.FILES),
        ("frame.to_csv(path)", Sink.FILES),
        ("sys.stdout.write(text)", Sink.PRINT),
        ("self.log_file.flush()", Sink.PRINT),
        ("level = open(path)", None),
        ("ring.write(transition)", None),
        ("pool.execute(task)", None),
    ],
)
def test_goes_by_names_where_nothing_was_seen(line, told):
    assert sink(line) == told


@pytest.mark.parametrize(
    ("above", "line", "told"),
    [
        ("from os import fdatasync as settle", "settle(d)", Sink.SYNCS),
        ("import os as system", "system.write(d, data)", Sink.FILES),
        ("import os", "os.replace(new, path)", Sink.REPLACING),
        ('LAST = "SELECT data FROM steps"', "db.execute(LAST)", None),
        ('LAST = "DELETE FROM steps"', "db.execute(LAST)", Sink.SYNCS),
        ("import json\nkeep = json.dump", "keep(row, out)", None),
        ("from mine import fsync", "fsync(d)", None),
        ("from .mine import fsync as settle", "settle(d)", None),
    ],
)
def test_names_that_the_file_imports_are_known(above, line, told):
    assert sink(line, above) == told


def test_names_bound_to_opened_files_are_files():
    assert sink("out.write(row)", 'out = open(path, "wb")') is Sink.FILES


@pytest.mark.parametrize(
    ("look", "told"),
    [
        ("type=method_descriptor function=_io.TextIOWrapper.write", Sink.FILES),
        ("type=builtin_function_or_method function=TextIOWrapper.write", Sink.FILES),
        ("type=method_descriptor function=_io._IOBase.flush", Sink.SYNCS),
        ("type=method_descriptor function=_csv.writer.writerow", Sink.ROWS),
        ("type=builtin_function_or_method function=posix.fsync", Sink.SYNCS),
        ("type=method_descriptor function=sqlite3.Connection.commit", Sink.SYNCS),
        ("type=functools.partial function=print", Sink.PRINT),
        ("type=__getattr__ owner=tempfile._TemporaryFileWrapper", None),
        ("type=builtin_function_or_method function=TextIOWrapper.write standard=1", Sink.PRINT),
        ("type=builtin_function_or_method function=StringIO.write", None),
        ("type=function function=__main__.note file=/home/you/train.py", None),
    ],
)
def test_knows_what_was_seen_whatever_its_name(look, told):
    assert sink("keep(row)", keep=look) == told


def test_a_function_of_your_own_is_none_whatever_its_name():
    look = "type=method function=__main__.Ring.flush file=/home/you/train.py"

    assert sink("self.file.flush()", self__file__flush=look) is None


def test_a_stream_in_memory_is_none():
    write = "type=method_descriptor function=_io._IOBase.writelines"

    assert sink("self.file.writelines(rows)", self__file__writelines=write) is Sink.FILES
    memory = {"self__file": "type=_io.StringIO", "self__file__writelines": write}
    assert sink("self.file.writelines(rows)", **memory) is None


@pytest.mark.parametrize(("path", "told"), [("'q.db'", Sink.SYNCS), ("':memory:'", None)])
def test_a_database_without_a_file_is_none(path, told):
    look = "type=builtin_function_or_method function=sqlite3.Connection.execute"
    head = f"import sqlite3\ndb = sqlite3.connect({path})"

    assert sink("db.execute(change)", head) is told
    assert sink("db.execute(change)", head, db__execute=look) is told


def test_what_a_terminal_shows_is_printed():
    looks = {
        "self__screen": "type=_io.TextIOWrapper standard=1",
        "self__screen__flush": "type=method_descriptor function=_io.TextIOWrapper.flush",
    }

    assert sink("self.screen.flush()", **looks) is Sink.PRINT


@pytest.mark.parametrize(
    ("leads_to", "told"), [("file", Sink.SYNCS), ("pipe", None), ("socket", None)]
)
def test_a_message_to_somebody_is_no_output(leads_to, told):
    stream = f"type=_io.TextIOWrapper stream={leads_to}"
    flush = "type=method_descriptor function=_io.TextIOWrapper.flush"

    assert sink("self.engine.flush()", self__engine=stream, self__engine__flush=flush) is told


ASKED = "import sys\nfor line in sys.stdin:\n    pass"


@pytest.mark.parametrize(
    ("above", "line", "leads_to", "told"),
    [
        (ASKED, "sys.stdout.write(answer)", "pipe", None),
        (ASKED, "print(answer)", "pipe", None),
        (ASKED, "print(answer)", "file", Sink.PRINT),
        (ASKED, "print(answer, file=log)", "pipe", Sink.PRINT),
        ("import sys", "sys.stdout.write(answer)", "pipe", Sink.PRINT),
        ("import sys", "print(answer)", "pipe", Sink.PRINT),
    ],
)
def test_who_is_asked_on_standard_input_answers_on_standard_output(above, line, leads_to, told):
    looks = {
        "sys__stdout": f"type=_io.TextIOWrapper standard=1 stream={leads_to}",
        "sys__stdout__write": "type=method_descriptor function=_io.TextIOWrapper.write",
        "print": f"type=builtin_function_or_method function=print stream={leads_to}",
    }

    assert sink(line, above, **looks) is told


def test_what_is_sent_through_asyncio_is_no_file():
    look = "type=method function=asyncio.streams.StreamWriter.write file=/usr/lib/python3.11/asyncio/streams.py line=1"

    assert sink("self.w.write(request)", self__w__write=look) is None
