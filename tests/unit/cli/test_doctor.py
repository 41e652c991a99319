from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from rlprof.cli import doctor_checks
from rlprof.cli.doctor_checks import (
    Check,
    CheckLevel,
    Trial,
    check_cores,
    check_disk,
    check_interpreter,
    check_permissions,
    check_recording,
    check_sampler,
    check_terminal,
)
from rlprof.errors import EXIT_ERROR
from rlprof.recording.samplers.austin import Austin

AUSTIN_3 = Austin(Path("/usr/bin/austin"), "3.7.0")
AUSTIN_4 = Austin(Path("/usr/bin/austin"), "4.0.0")


def an_interpreter(
    folder: Path, version: str, *, implementation: str = "CPython", free_threaded: bool = False
) -> str:
    """A program that answers as that interpreter would."""
    path = folder / "python"
    numbers = ", ".join(version.split("."))
    path.write_text(
        f'#!/bin/sh\necho \'{{"version": [{numbers}], "implementation": "{implementation}", '
        f'"free_threaded": {str(free_threaded).lower()}}}\'\n'
    )
    path.chmod(0o755)
    return str(path)


def test_this_interpreter_is_fine():
    check = check_interpreter(sys.executable, AUSTIN_3)

    assert check.level is CheckLevel.OK
    assert sys.executable in check.found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("exit 0", "is no Python: it printed nothing that rlprof understands"),
        ("echo 3.11", "is no Python: it printed nothing that rlprof understands"),
        ("echo '{}'", "is no Python: it printed nothing that rlprof understands"),
        ("exit 3", "does not run Python code: it ended with exit code 3"),
    ],
)
def test_a_program_that_is_no_interpreter_is_told_in_words(tmp_path, code, found):
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{code}\n")
    program.chmod(0o755)

    check = check_interpreter(str(program), AUSTIN_3)

    assert check.level is CheckLevel.FAIL
    assert check.found == f"{program} {found}"
    assert "Python interpreter" in check.advice


@pytest.mark.parametrize(
    ("version", "austin", "level"),
    [
        ("3.8.18", AUSTIN_3, CheckLevel.FAIL),
        ("3.9.0", AUSTIN_3, CheckLevel.OK),
        ("3.13.9", AUSTIN_3, CheckLevel.OK),
        ("3.14.0", AUSTIN_3, CheckLevel.FAIL),
        ("3.14.0", AUSTIN_4, CheckLevel.OK),
        ("3.14.0", None, CheckLevel.OK),
    ],
)
def test_python_versions(tmp_path, version, austin, level):
    check = check_interpreter(an_interpreter(tmp_path, version), austin)

    assert check.level is level
    assert bool(check.advice) == (level is not CheckLevel.OK)


def test_other_implementations_cannot_be_sampled(tmp_path):
    python = an_interpreter(tmp_path, "3.10.0", implementation="PyPy")

    assert check_interpreter(python, AUSTIN_3).level is CheckLevel.FAIL


def test_free_threaded_python_is_warned_about(tmp_path):
    python = an_interpreter(tmp_path, "3.13.0", free_threaded=True)

    assert check_interpreter(python, AUSTIN_3).level is CheckLevel.WARN


@pytest.mark.parametrize("program", ["/no/such/python", "/bin/false", "/bin/true"])
def test_what_is_no_interpreter_fails(program):
    check = check_interpreter(program, AUSTIN_3)

    assert check.level is CheckLevel.FAIL
    assert program in check.found


def test_missing_sampler_fails_with_the_install_command():
    austin, check = check_sampler("/no/such/austin")

    assert austin is None
    assert check.level is CheckLevel.FAIL
    assert "pip install" in check.advice


@pytest.mark.parametrize(
    ("scope", "level"),
    [
        (None, CheckLevel.OK),
        (0, CheckLevel.OK),
        (1, CheckLevel.OK),
        (2, CheckLevel.FAIL),
        (3, CheckLevel.FAIL),
    ],
)
def test_yama_scopes_of_an_ordinary_user(monkeypatch, tmp_path, scope, level):
    file = tmp_path / "ptrace_scope"
    if scope is not None:
        file.write_text(f"{scope}\n")
    monkeypatch.setattr(doctor_checks, "YAMA_SCOPE", file)
    monkeypatch.setattr(doctor_checks, "_has_ptrace_capability", lambda: False)

    assert check_permissions().level is level


def test_capability_overrules_yama(monkeypatch, tmp_path):
    file = tmp_path / "ptrace_scope"
    file.write_text("2\n")
    monkeypatch.setattr(doctor_checks, "YAMA_SCOPE", file)
    monkeypatch.setattr(doctor_checks, "_has_ptrace_capability", lambda: True)

    assert check_permissions().level is CheckLevel.OK


@pytest.mark.parametrize(
    ("trial", "levels"),
    [
        (Trial(True, 12, 11, ""), [CheckLevel.OK, CheckLevel.OK]),
        (Trial(True, 0, 11, ""), [CheckLevel.WARN, CheckLevel.OK]),
        (Trial(False, 0, 11, ""), [CheckLevel.WARN, CheckLevel.OK]),
        (Trial(True, 12, 0, "no permission to read its memory"), [CheckLevel.OK, CheckLevel.FAIL]),
        (Trial(True, 12, 0, ""), [CheckLevel.OK, CheckLevel.FAIL]),
    ],
)
def test_a_trial_recording_is_judged_by_what_it_delivered(trial, levels):
    assert [check.level for check in check_recording(trial, AUSTIN_3)] == levels


def test_no_sampler_leaves_the_agent_to_judge():
    assert len(check_recording(Trial(True, 12, 0, ""), None)) == 1


def test_reason_of_the_sampler_is_shown():
    checks_made = check_recording(Trial(True, 12, 0, "no permission to read its memory"), AUSTIN_3)

    assert "no permission to read its memory" in checks_made[1].found


@pytest.mark.parametrize(
    ("usable", "level"), [(0.5, CheckLevel.WARN), (1, CheckLevel.WARN), (2, CheckLevel.OK)]
)
def test_cores(usable, level):
    assert check_cores(usable).level is level


def test_disk(tmp_path, monkeypatch):
    assert check_disk(tmp_path).level is CheckLevel.OK

    monkeypatch.setattr(doctor_checks, "LOW_DISK_BYTES", 1 << 80)
    assert check_disk(tmp_path).level is CheckLevel.WARN

    monkeypatch.setattr(os, "access", lambda *_: False)
    assert check_disk(tmp_path).level is CheckLevel.FAIL


def test_host_without_pseudo_terminals(monkeypatch):
    def openpty():
        raise OSError(2, "No such file or directory")

    monkeypatch.setattr(os, "openpty", openpty)

    assert check_terminal().level is CheckLevel.WARN


# --- the command ---------------------------------------------------------------------------


def find(monkeypatch, *found: Check) -> None:
    """Let the doctor find this, whatever the machine."""
    monkeypatch.setattr(doctor_checks, "all_checks", lambda *_, **__: found)


@pytest.mark.parametrize(
    ("level", "exit_code"),
    [(CheckLevel.OK, 0), (CheckLevel.WARN, 0), (CheckLevel.FAIL, EXIT_ERROR)],
)
def test_only_failures_fail(command_line, monkeypatch, level, exit_code):
    find(monkeypatch, Check("system", CheckLevel.OK, "Linux"), Check("disk", level, "80 GiB free"))

    assert command_line("doctor").exit_code == exit_code


def test_advice_stands_under_what_was_found(command_line, monkeypatch):
    find(monkeypatch, Check("cores", CheckLevel.WARN, "1 of 8 usable", "expect a loss"))

    answer = command_line("doctor")

    assert answer.stdout == "warn  cores        1 of 8 usable\n" + " " * 19 + "expect a loss\n"
