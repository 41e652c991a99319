from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from rlprof.cli.flame import flame
from rlprof.cli.loading import FileKind, kind_of, read_recording
from rlprof.cli.report import report
from rlprof.errors import RunFileError, UsageError
from tests.factories import a_run
from tests.run_files import write_run

TRACE = b' {"traceEvents": [{"ph": "X", "ts": 1, "dur": 1, "cat": "cpu_op"}], "schemaVersion": 1}'
STACKS = b"<module> (/home/a/train.py:9);step (/home/a/train.py:3) 70\n"


def holding(folder: Path, content: bytes) -> Path:
    path = folder / "run.rlprof"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"SQLite format 3\0rest", FileKind.RUN),
        (TRACE, FileKind.TRACE),
        (gzip.compress(TRACE), FileKind.TRACE),
        (b"[]", FileKind.TRACE),
        (STACKS, FileKind.FOREIGN),
        (b"MOJ\x03", FileKind.FOREIGN),
        (b"", FileKind.FOREIGN),
    ],
)
def test_kinds_are_told_by_content(tmp_path, content, kind):
    assert kind_of(holding(tmp_path, content)) is kind


def test_a_run_file_is_read_as_before(tmp_path):
    path = tmp_path / "profile.txt"
    write_run(path, a_run("train.py").process("main").recording())

    assert read_recording(path).run.script == "train.py"


def test_what_is_missing_is_a_missing_run_file(tmp_path):
    with pytest.raises(RunFileError) as raised:
        read_recording(tmp_path / "none")

    assert raised.value.slug == "run-file-missing"


def invoked(command, *arguments: object):
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_foreign_profile_is_reported(tmp_path):
    answer = invoked(report, holding(tmp_path, STACKS))

    assert answer.exit_code == 0, answer.output
    assert "train.py:3" in answer.output
    assert "Read from a profile by py-spy" in " ".join(answer.output.split())


def test_a_foreign_profile_is_drawn(tmp_path):
    drawing = tmp_path / "flame.svg"

    answer = invoked(flame, holding(tmp_path, STACKS), "-o", drawing)

    assert answer.exit_code == 0, answer.output
    assert "step" in drawing.read_text()


def test_the_report_of_a_trace_is_that_of_rlprof_trace(tmp_path):
    answer = invoked(report, holding(tmp_path, TRACE), "--format", "json")

    assert answer.exit_code == 0, answer.output
    assert '"format": "rlprof-trace"' in answer.output
    assert "shown as `rlprof trace` does" in answer.output


def test_other_formats_and_a_flamegraph_of_a_trace_are_refused(tmp_path):
    path = holding(tmp_path, TRACE)

    for answer in (
        invoked(report, path, "--format", "svg"),
        invoked(flame, path, "-o", tmp_path / "x.svg"),
    ):
        assert isinstance(answer.exception, UsageError)
        assert answer.exception.slug == "is-a-trace"
        # What else is JSON is none, and nobody looked yet.
        assert "is a trace" not in answer.exception.message
        assert "rlprof trace" in answer.exception.hint
