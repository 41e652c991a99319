"""What a check hands out: every file that can be written, whatever becomes of the others."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from rlprof.cli import check_results
from rlprof.cli.check_request import CheckRequest, OnInconclusive
from rlprof.cli.check_results import hand_out, write_artifacts
from rlprof.cli.command import Target, TargetKind
from rlprof.errors import (
    EXIT_INCONCLUSIVE,
    EXIT_OK,
    EXIT_REGRESSION,
    Failure,
    MeasureError,
    OutputError,
)
from rlprof.gate.outcome import Outcome, Verdict
from tests.check_factory import checked, rates, unsteady
from tests.comparison_factory import a_training, compared

SLOWER = checked(rates(1000, 800))


def asked_for(outputs: Mapping[str, Path]) -> CheckRequest:
    return CheckRequest(
        target=Target(TargetKind.SCRIPT, ("train.py",)),
        base="main",
        timeout_s=60.0,
        outputs=outputs,
    )


@pytest.mark.parametrize(
    ("on_inconclusive", "code"),
    [
        (None, EXIT_INCONCLUSIVE),
        (OnInconclusive.PASS, EXIT_OK),
        (OnInconclusive.FAIL, EXIT_REGRESSION),
    ],
)
def test_an_inconclusive_check_ends_as_was_asked_for(on_inconclusive, code):
    request = asked_for({})

    ended = hand_out(checked(unsteady), replace(request, on_inconclusive=on_inconclusive))

    assert ended == code


def in_the_way(folder: Path) -> Path:
    """A path that cannot be written, since a file stands where its folder would be."""
    (folder / "file").touch()
    return folder / "file" / "check"


def test_a_file_that_cannot_be_written_takes_no_other_with_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    outputs = {
        "--markdown": in_the_way(tmp_path),
        "--json": tmp_path / "check.json",
        "--sarif": tmp_path / "check.sarif",
    }

    with pytest.raises(OutputError):
        hand_out(SLOWER, asked_for(outputs))

    assert (tmp_path / "check.json").exists()
    assert (tmp_path / "check.sarif").exists()
    assert "**Regression: " in (tmp_path / "summary.md").read_text()
    assert capsys.readouterr().out.startswith("Regression: ")


def test_a_summary_that_cannot_be_written_is_told_and_the_verdict_stands(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(in_the_way(tmp_path)))

    code = hand_out(SLOWER, asked_for({}))

    assert code == EXIT_REGRESSION
    assert "no summary: cannot write" in capsys.readouterr().err


def test_without_standard_output_the_files_are_written(tmp_path, monkeypatch):
    """As after ``>&-``."""
    monkeypatch.setattr(sys, "stdout", None)
    outputs = {"--json": tmp_path / "check.json"}

    with pytest.raises(OutputError, match="it is closed"):
        hand_out(SLOWER, asked_for(outputs))

    assert (tmp_path / "check.json").exists()


def test_a_document_on_standard_output_is_there_alone(capfd):
    hand_out(SLOWER, asked_for({"--json": Path("/dev/stdout")}))

    told = capfd.readouterr()
    assert json.loads(told.out)["verdict"] == "regression"
    assert "Regression" in told.err


def test_a_page_that_cannot_be_drawn_keeps_the_verdict(tmp_path, capsys, monkeypatch):
    def undrawable(_outcome: Outcome) -> str:
        raise KeyError("a bug of ours")

    monkeypatch.setattr(check_results, "outcome_as_page", undrawable)
    outcome = replace(SLOWER, comparison=compared(a_training(), a_training()))
    request = asked_for({})

    write_artifacts(outcome, replace(request, artifacts=tmp_path))

    assert "not all of diff.html" in capsys.readouterr().err


def test_a_file_that_appeared_during_the_check_keeps_the_verdict(tmp_path, capsys):
    (tmp_path / "check.json").write_text("the program's own")
    outputs = {"--markdown": tmp_path / "check.md", "--json": tmp_path / "check.json"}

    with pytest.raises(OutputError) as error:
        hand_out(SLOWER, asked_for(outputs))

    assert error.value.slug == "output-exists"
    assert (tmp_path / "check.json").read_text() == "the program's own"
    assert "Regression" in (tmp_path / "check.md").read_text()
    assert "Regression" in capsys.readouterr().out


@pytest.mark.parametrize("is_one_place", [True, False])
def test_an_error_that_stands_above_in_the_result_is_not_told_once_more(
    tmp_path, monkeypatch, is_one_place
):
    failure = Failure("program-failed", "head, in pair 3, failed\nTraceback\nOSError", "look")
    outcome = replace(SLOWER, verdict=Verdict.COULD_NOT_MEASURE, failure=failure)
    with (tmp_path / "out").open("w") as out, (tmp_path / "err").open("w") as err:
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", out if is_one_place else err)

        with pytest.raises(MeasureError) as error:
            hand_out(outcome, asked_for({}))

    result = (tmp_path / "out").read_text()
    assert result.startswith("Could not measure: head, in pair 3, failed.")
    first, *rest = error.value.message.split("\n")
    assert ("failed" in first) is not is_one_place
    assert rest == ["Traceback", "OSError"]
