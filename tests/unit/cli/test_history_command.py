from __future__ import annotations

import json

import pytest

from rlprof.errors import EXIT_ERROR, EXIT_USAGE
from rlprof.verification.json_document import verification_as_json
from tests.factories import a_run
from tests.run_files import write_run
from tests.verification_factory import a_verified_fix

LOOP = "/home/researcher/project/train.py:40 train"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with one run in ``.rlprof/``, and a file there that is none."""
    monkeypatch.chdir(tmp_path)
    runs = tmp_path / ".rlprof"
    runs.mkdir()
    run = a_run("train.py", steady_s=10).process("main", steps=5000).spends(10, LOOP)
    write_run(runs / "1.rlprof", run.recording())
    (runs / "2.rlprof").write_text("no run")
    return tmp_path


def test_the_runs_of_this_directory_are_shown(command_line, folder):
    answer = command_line("history")

    assert answer.exit_code == 0
    assert "train.py" in answer.stdout
    assert "2.rlprof is not a run file" in answer.stdout
    assert answer.stderr == ""


def test_it_fails_where_no_run_could_be_read(command_line, folder):
    answer = command_line("history", ".rlprof/2.rlprof")

    assert answer.exit_code == EXIT_ERROR
    assert "2.rlprof is not a run file" in answer.stdout


def test_it_is_written_in_another_format(command_line, folder):
    first = command_line("history", ".rlprof", "--format", "json", "-o", "h.json")
    again = command_line("history", "--format", "json", "-o", "h.json")

    assert first.exit_code == 0
    assert json.loads((folder / "h.json").read_text())["runs"][0]["sps"]["median"] == 500
    assert again.exit_code == EXIT_USAGE
    assert "rlprof explain output-exists" in again.stderr


def test_many_runs_are_read_by_several_processes_in_the_same_order(command_line, folder):
    runs = folder / ".rlprof"
    for number in range(3, 20):
        (runs / f"{number:02}.rlprof").write_bytes((runs / "1.rlprof").read_bytes())

    answer = command_line("history", "--format", "json")

    found = [run["file"] for run in json.loads(answer.stdout)["runs"]]
    assert found == sorted(found)
    assert len(found) == 18


def test_without_a_run_it_says_where_it_looked(command_line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    answer = command_line("history", "runs")

    assert answer.exit_code == EXIT_USAGE
    assert "there is no run file in runs" in answer.stderr
    assert "rlprof explain no-run" in answer.stderr


def test_the_calibration_is_written_in_every_format(command_line, folder):
    kept = folder / ".rlprof" / "3-train.verify.json"
    kept.write_text(verification_as_json(a_verified_fix()))

    text = command_line("history", "--calibration")
    document = command_line("history", "--calibration", "--format", "json", "-o", "c.json")
    table = command_line("history", "--calibration", "--format", "markdown")

    assert {answer.exit_code for answer in (text, document, table)} == {0}
    assert text.stdout.startswith("1 of 1 promise held;")
    assert "2.rlprof is not a run file" in text.stdout
    assert json.loads((folder / "c.json").read_text())["whole"]["verified"] == 1
    assert "| omegaconf-in-loop | 1 | 0 | 100 % |" in table.stdout


def test_a_folder_without_promises_says_how_to_come_by_one(command_line, folder):
    answer = command_line("history", "--calibration")

    assert answer.exit_code == 0
    assert "Nothing that was promised here has been measured yet" in answer.stdout


def test_a_damaged_verification_is_told_beside_the_runs(command_line, folder):
    (folder / ".rlprof" / "3-train.verify.json").write_text('{"format": "rlprof-verify"')

    answer = command_line("history")
    alone = command_line("history", ".rlprof/3-train.verify.json")

    assert answer.exit_code == 0
    assert "3-train.verify.json is no verified fix" in " ".join(answer.stdout.split())
    assert alone.exit_code == EXIT_ERROR
    assert answer.stderr == alone.stderr == ""
