from __future__ import annotations

import json

import pytest

from rlprof.errors import EXIT_ERROR, EXIT_USAGE
from tests.comparison_factory import a_training
from tests.run_files import write_run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with two labelled runs in ``.rlprof/``, a newer one of the same label, and a
    file there that is none; ``latest`` is the second.
    """
    monkeypatch.chdir(tmp_path)
    runs = tmp_path / ".rlprof"
    runs.mkdir()
    for name, label, started, run in (
        ("a", "before", 1_700_000_000.0, a_training(steps=900)),
        ("b", "before", 1_700_000_100.0, a_training()),
        ("c", "after", 1_700_000_200.0, a_training(steps=800, copying_s=6)),
    ):
        changed = run.with_run(id=name, label=label, started_unix_s=started)
        write_run(runs / f"{name}.rlprof", changed.recording())
    (runs / "junk.rlprof").write_text("no run")
    (runs / "latest").symlink_to("c.rlprof")
    return tmp_path


def test_two_files_are_compared(command_line, folder):
    answer = command_line("diff", ".rlprof/b.rlprof", ".rlprof/c.rlprof")

    assert answer.exit_code == 0
    assert "NEW makes 0.8 times the steps per second of BASE" in answer.stdout
    assert "deepcopy" in answer.stdout
    assert answer.stderr == ""


def test_the_latest_run_is_the_new_one_and_labels_name_the_last_run_so_called(command_line, folder):
    answer = command_line("diff", "before", "--format", "json")

    document = json.loads(answer.stdout)
    assert (document["base"]["id"], document["new"]["id"]) == ("b", "c")


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("d.html", "<!DOCTYPE html>"),
        ("d.svg", "<svg "),
        ("d.json", "{"),
        ("d.md", "**NEW"),
        ("d.txt", "NEW"),
    ],
)
def test_the_ending_decides_the_format(command_line, folder, name, beginning):
    answer = command_line("diff", "before", "after", "-o", name)

    assert answer == (0, f"wrote {name}\n", "")
    assert (folder / name).read_text(encoding="utf-8").startswith(beginning)


def test_a_page_has_a_place_of_its_own_and_replaces_nothing(command_line, folder):
    first = command_line("diff", "before", "after", "--html")
    again = command_line("diff", "before", "after", "--html")
    forced = command_line("diff", "before", "after", "--html", "--force")

    assert "wrote diff.html (open it: file://" in first.stdout
    assert again.exit_code == EXIT_USAGE
    assert "rlprof explain output-exists" in again.stderr
    assert forced.exit_code == 0


def test_the_metric_is_chosen(command_line, folder):
    answer = command_line("diff", "before", "after", "--metric", "cpu", "-f", "json")

    assert json.loads(answer.stdout)["metric"] == "cpu"


@pytest.mark.parametrize(
    ("arguments", "slug", "code"),
    [
        (("nothing-so-called",), "no-run", EXIT_USAGE),
        (("",), "empty-path", EXIT_USAGE),
        (("before", ""), "empty-path", EXIT_USAGE),
        (("missing.rlprof",), "run-file-missing", EXIT_ERROR),
        ((".rlprof/junk.rlprof", "after"), "not-a-profile", EXIT_ERROR),
        (("before", "after", "-o", "d.docx"), "no-such-format", EXIT_USAGE),
        (("before", "after", "--html", "-f", "json"), "two-formats", EXIT_USAGE),
        (("before", "after", "-o", ".", "-f", "json"), "output-is-folder", EXIT_USAGE),
    ],
)
def test_what_cannot_be_meant_is_told(command_line, folder, arguments, slug, code):
    answer = command_line("diff", *arguments)

    assert (answer.exit_code, answer.stdout) == (code, "")
    assert f"rlprof explain {slug}" in answer.stderr


def test_without_a_latest_run_the_new_one_must_be_named(command_line, folder):
    (folder / ".rlprof" / "latest").unlink()

    answer = command_line("diff", "before")

    assert answer.exit_code == EXIT_USAGE
    assert "rlprof explain no-run" in answer.stderr


def test_two_runs_alike_are_no_error(command_line, folder):
    answer = command_line("diff", "before", "before")

    assert answer.exit_code == 0
    assert answer.stdout.startswith("No clear change")
