"""Names of run files that SQLite, if it may, takes for something else."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from rlprof.runfile.reader import read_run
from tests.factories import a_run
from tests.run_files import write_run


@pytest.mark.parametrize("name", ["file:run.rlprof", "file:run.rlprof?mode=memory", ":memory:"])
def test_the_file_of_that_name_holds_the_recording(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)

    write_run(Path(name), a_run("train.py", steady_s=1).process("main").recording())

    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert stat.S_IMODE(Path(name).stat().st_mode) == 0o600
    assert read_run(Path(name)).run.complete


def test_the_database_that_its_address_names_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("study.db")) as study:
        study.execute("CREATE TABLE trials (id)")

    write_run(Path("file:study.db"), a_run("train.py", steady_s=1).process("main").recording())

    with closing(sqlite3.connect("study.db")) as study:
        assert study.execute("SELECT name FROM sqlite_master").fetchall() == [("trials",)]
