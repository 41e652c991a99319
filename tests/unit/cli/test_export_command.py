from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from rlprof.cli.export import _complete, export
from rlprof.cli.formats import by_suffix
from rlprof.discovery import discover_renderers
from tests.factories import a_run
from tests.run_files import write_run

EXPORTS = [renderer for renderer in discover_renderers() if renderer.is_export]
PLACE = "/home/researcher/project/train.py:12 step"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run.rlprof"
    write_run(path, a_run("train.py").process("main", steps=1000).spends(10, PLACE).recording())
    return path


def test_the_help_names_every_format_and_each_of_its_options() -> None:
    text = export.__doc__ or ""

    assert {exporter.name for exporter in EXPORTS} >= {"speedscope", "collapsed", "pprof", "chrome"}
    for renderer in EXPORTS:
        row = rf"^ +{renderer.name} +{re.escape(renderer.suffixes[0])} "
        assert re.search(row, text, re.M), (
            f"the docstring of export in rlprof/cli/export.py has no row for {renderer.name}"
        )
        for option in renderer.options:
            told = [
                splitline
                for splitline in text.splitlines()
                if re.search(rf"\b{option}=", splitline)
            ]
            assert any(renderer.name in line for line in told), (
                f"the docstring of export in rlprof/cli/export.py lists no {option}= for {renderer.name}"
            )


def test_the_ending_of_the_file_decides_the_format(command_line, run: Path, tmp_path: Path) -> None:
    answer = command_line("export", str(run), "-o", str(tmp_path / "run.speedscope.json"))

    assert (answer.exit_code, answer.stderr) == (0, "")
    document = json.loads((tmp_path / "run.speedscope.json").read_text())
    assert [profile["name"] for profile in document["profiles"]] == ["main, pid 1000, MainThread"]


def test_without_a_file_the_document_goes_to_standard_output(command_line, run: Path) -> None:
    answer = command_line("export", str(run), "-f", "collapsed", "-p", "notes=no")

    assert answer.stdout == "main 1000;MainThread;train.py:step:12 10000000\n"


def test_what_is_not_text_is_written_as_it_is(command_line, run: Path, tmp_path: Path) -> None:
    command_line("export", str(run), "--format", "pprof", "-o", str(tmp_path / "profile"))

    assert b"train.py:step" in gzip.decompress((tmp_path / "profile").read_bytes())


@pytest.mark.parametrize(
    ("arguments", "slug"),
    [
        ([], "no-format"),
        (["--format", "json"], "no-such-format"),
        (["-o", "run.json"], "no-such-format"),
        (["-f", "pprof", "-p", "metric=cpu"], "bad-render-option"),
        (["-f", "collapsed", "-p", "metric=memory"], "bad-render-option"),
        (["-f", "collapsed", "-o", "there.txt"], "output-exists"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_hint(
    command_line, run: Path, tmp_path: Path, monkeypatch, arguments: list[str], slug: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.txt").write_text("mine")
    answer = command_line("export", str(run), *arguments)

    assert answer.exit_code == 2
    assert slug in answer.stderr
    assert (tmp_path / "there.txt").read_text() == "mine"


def test_the_longest_ending_decides() -> None:
    renderers = discover_renderers()

    assert by_suffix(renderers, Path("run.speedscope.json")).name == "speedscope"
    assert by_suffix(renderers, Path("run.trace.json")).name == "chrome"
    assert by_suffix(renderers, Path("run.json")).name == "json"


def test_the_shell_completes_the_names_of_formats() -> None:
    assert _complete("") == sorted(exporter.name for exporter in EXPORTS)
    assert _complete("sp") == ["speedscope"]
