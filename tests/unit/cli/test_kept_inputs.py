"""No command replaces what it reads or runs, whatever it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlprof.errors import EXIT_USAGE
from tests.factories import a_run
from tests.run_files import write_run

LOOP = "/home/researcher/project/train.py:40 train"


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("report run.rlprof --format json -o run.rlprof", "run.rlprof"),
        ("flame run.rlprof -o run.rlprof", "run.rlprof"),
        ("flame run.rlprof -o link.rlprof", "run.rlprof"),
        ("export run.rlprof --format collapsed -o run.rlprof", "run.rlprof"),
        ("history . -o run.rlprof", "run.rlprof"),
        ("diff run.rlprof run.rlprof --format json -o run.rlprof", "run.rlprof"),
        ("trace trace.json -o trace.json", "trace.json"),
        ("check --base-command true --json train.py train.py", "train.py"),
        ("check --base-command true --json data.json -- sh train.sh data.json", "data.json"),
        ("check --baseline data.json --junit data.json train.py", "data.json"),
        ("scale --workers 1,2 -o data.json train.py {} data.json", "data.json"),
        ("run -o train.py train.py", "train.py"),
    ],
)
def test_what_a_command_reads_is_kept_even_by_force(
    command_line, tmp_path, monkeypatch, line, kept
):
    monkeypatch.chdir(tmp_path)
    for name in ("train.py", "train.sh", "data.json", "trace.json"):
        Path(name).write_text("{}")
    write_run(
        Path("run.rlprof"),
        a_run("train.py", steady_s=10).process("main").spends(10, LOOP).recording(),
    )
    Path("link.rlprof").symlink_to("run.rlprof")
    before = Path(kept).read_bytes()
    command, *words = line.split()

    answer = command_line(command, "--force", *words)

    assert answer.exit_code == EXIT_USAGE
    assert "rlprof explain output-exists" in answer.stderr
    assert Path(kept).read_bytes() == before
