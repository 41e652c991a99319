"""``rlprof report`` on what is no run file, or no whole one."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from rlprof.errors import EXIT_ERROR
from tests.factories import a_run
from tests.run_files import write_run


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def only_its_first_page(path: Path) -> None:
    os.truncate(path, 4096)


def scribbled_over(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for start in range(4096, len(data), 4096):
        data[start : start + 64] = bytes(range(64))
    path.write_bytes(data)


def of_a_newer_version(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version=999")
    db.close()


def a_database_of_others(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE meta (key, value)")
    db.close()


def text(path: Path) -> None:
    path.write_text("sps: 12\n" * 100)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def missing(path: Path) -> None:
    path.unlink()


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def without_its_tables(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE sample")
    db.close()


def with_ids_that_lead_nowhere(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE node SET frame = 123456")
    db.close()


@pytest.mark.parametrize(
    ("damage", "slug"),
    [
        (truncated, "run-file-damaged"),
        (only_its_first_page, "run-file-damaged"),
        (scribbled_over, "run-file-damaged"),
        (without_its_tables, "run-file-damaged"),
        (with_ids_that_lead_nowhere, "run-file-damaged"),
        (of_a_newer_version, "run-file-newer"),
        (a_database_of_others, "not-a-run-file"),
        (text, "not-a-profile"),
        (empty, "not-a-profile"),
        (missing, "run-file-missing"),
        (a_folder, "run-file-missing"),
    ],
)
def test_a_bad_run_file_is_named_with_what_to_do(command_line, tmp_path, damage, slug):
    run_file = tmp_path / "run.rlprof"
    run = a_run("train.py", steady_s=3).process("main", steps=600)
    write_run(run_file, run.spends(2.0, "train.py:9 <module>", "train.py:12 step").recording())
    damage(run_file)

    answer = command_line("report", str(run_file))

    assert answer.exit_code == EXIT_ERROR
    assert answer.stdout == ""
    assert str(run_file) in answer.stderr
    assert f"rlprof explain {slug}" in answer.stderr
    assert "Traceback" not in answer.stderr
