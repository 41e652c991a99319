from __future__ import annotations

import json
import os
import re
import sqlite3
import stat
import subprocess
import sys
import webbrowser
from contextlib import closing
from pathlib import Path

import pytest

from rlprof.cli.flame import PhaseName
from rlprof.cli.formats import parse_options
from rlprof.cli.output import LATEST
from rlprof.cli.report import choose_renderer
from rlprof.discovery import discover_renderers
from rlprof.errors import EXIT_ERROR, EXIT_USAGE, UsageError
from rlprof.model.profile import PhaseKind
from tests.factories import a_run
from tests.run_files import write_run


def test_the_terminal_is_the_default() -> None:
    assert choose_renderer(None, None).name == "terminal"


def test_the_ending_of_the_output_decides_the_format() -> None:
    assert choose_renderer(None, Path("out/report.json")).name == "json"
    assert choose_renderer(None, Path("flame.svg")).name == "svg"


def test_the_format_given_beats_the_ending() -> None:
    assert choose_renderer("json", Path("report.txt")).name == "json"


@pytest.mark.parametrize(("name", "output"), [("xml", None), (None, Path("report.docx"))])
def test_no_such_format_lists_those_there_are(name: str | None, output: Path | None) -> None:
    with pytest.raises(UsageError) as caught:
        choose_renderer(name, output)

    assert "json" in caught.value.hint


def test_options_go_to_the_renderer() -> None:
    assert parse_options(["width=120", "color=never"], choose_renderer(None, None)) == {
        "width": "120",
        "color": "never",
    }


@pytest.mark.parametrize("text", ["width", "depth=3"])
def test_an_option_that_the_format_lacks_lists_its_own(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_options([text], choose_renderer(None, None))

    assert "width" in caught.value.hint


def test_every_phase_can_be_drawn() -> None:
    assert [name.value for name in PhaseName] == [kind.value for kind in PhaseKind]


# --- the page ------------------------------------------------------------------------------


@pytest.fixture
def a_run_file(tmp_path, monkeypatch) -> Path:
    """``.rlprof/latest`` leads to it, from the working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / ".rlprof" / "20261121-train.rlprof"
    path.parent.mkdir()
    recording = a_run().process(steps=1000).spends(10, "train.py:12 step").recording()
    write_run(path, recording)
    (tmp_path / LATEST).symlink_to(path.name)
    return path


def test_links_that_lead_in_a_circle_are_no_bug_of_ours(tmp_path, command_line) -> None:
    (tmp_path / "run.rlprof").symlink_to("run.rlprof")

    answer = command_line("report", "--html", str(tmp_path / "run.rlprof"))

    assert "cannot read the run file" in answer.stderr


def test_a_dash_is_the_standard_output(a_run_file):
    def answer(*words: str) -> str:
        command = [sys.executable, "-m", "rlprof", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout

    assert json.loads(answer("report", str(a_run_file), "-f", "json", "-o", "-"))
    assert answer("flame", str(a_run_file), "-o", "-").startswith("<svg")
    assert not Path("-").exists()


def test_a_run_file_from_a_pipe_is_refused_as_such(a_run_file):
    answer = subprocess.run(
        [sys.executable, "-m", "rlprof", "report", "/dev/stdin"],
        input=a_run_file.read_bytes(),
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert answer.returncode == EXIT_ERROR
    assert b"/dev/stdin: it is a pipe, and only regular files are read" in answer.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["history"],
        ["report"],
        ["report", "-f", "json", "-o", "-"],
        ["export", "-f", "pprof"],
        ["explain"],
        ["doctor"],
        ["--help"],
    ],
    ids=" ".join,
)
def test_a_reader_that_has_seen_enough_changes_no_exit_code(a_run_file, words):
    if words[0] in ("history", "report", "export"):
        words = [*words, str(a_run_file)]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stdout:
        answer = subprocess.run(
            [sys.executable, "-m", "rlprof", *words],
            stdout=stdout,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )

    assert (answer.returncode, answer.stderr) == (0, b"")


@pytest.fixture
def opened(monkeypatch) -> list[str]:
    """What the browser was asked to open."""
    addresses: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: not addresses.append(address))
    return addresses


def test_the_page_is_written_here_under_the_name_of_the_run(command_line, a_run_file, opened):
    answer = command_line("report", "--html")

    page = Path("20261121-train.html")
    assert answer == (0, f"wrote {page} (open it: {page.resolve().as_uri()})\n", "")
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert opened == []


def test_a_page_that_is_there_already_is_kept_unless_forced(command_line, a_run_file):
    page = Path("20261121-train.html")
    page.write_text("mine")

    answer = command_line("report", "--html")

    assert answer.exit_code == EXIT_USAGE
    assert "--force" in answer.stderr
    assert page.read_text() == "mine"
    assert command_line("report", "--html", "--force").exit_code == 0
    assert page.read_text() != "mine"


def test_the_page_goes_where_it_is_told_to(command_line, a_run_file):
    command_line("report", str(a_run_file), "--html", "-o", "out/page.html")

    assert stat.S_IMODE(Path("out/page.html").stat().st_mode) & 0o044, "it was named to be shared"


@pytest.mark.parametrize("name", ["report.txt", "report.md", "report.json", "run.svg"])
def test_a_written_file_is_named(command_line, a_run_file, name):
    answer = command_line("report", "-o", name)

    assert answer == (0, f"wrote {name}\n", "")
    assert Path(name).exists()


def test_the_page_is_opened_when_asked_to(command_line, a_run_file, opened):
    answer = command_line("report", "--open")

    assert answer.exit_code == 0
    assert opened == [Path("20261121-train.html").resolve().as_uri()]


def test_a_machine_without_a_browser_keeps_the_page_and_says_so(
    command_line, a_run_file, monkeypatch
):
    monkeypatch.setattr(webbrowser, "open", lambda _: False)

    answer = command_line("report", "--open")

    assert answer.exit_code == 0
    assert "no browser was found" in answer.stderr
    assert Path("20261121-train.html").exists()


def test_a_page_in_another_format_cannot_be_meant(command_line, a_run_file):
    answer = command_line("report", "--html", "--format", "json")

    assert answer.exit_code == EXIT_USAGE
    assert "two-formats" in answer.stderr
    assert not Path("20261121-train.html").exists()


def test_the_help_names_every_format_that_is_a_report(command_line):
    words = command_line("report", "--help").stdout

    for renderer in discover_renderers():
        if not renderer.is_export:
            assert re.search(rf"\b{renderer.name}\b", words), renderer.name


@pytest.mark.parametrize("version", [2, 1])
def test_a_run_file_of_an_older_version_is_a_page_too(command_line, a_run_file, version):
    removed = "DROP TABLE torch_window; DROP TABLE sync_site;"
    removed += "DROP TABLE memory;" if version == 1 else ""
    with closing(sqlite3.connect(a_run_file)) as db:
        db.executescript(f"{removed} PRAGMA user_version={version}")

    answer = command_line("report", "--html")

    assert answer.exit_code == 0, answer.stderr
    page = Path("20261121-train.html").read_text()
    assert 'id="flamegraph-drawing"' in page
    assert 'id="torch"' not in page
