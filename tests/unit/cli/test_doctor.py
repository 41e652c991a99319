from __future__ import annotations

import pytest

from rlprof.cli import doctor_checks
from rlprof.cli.doctor_checks import Check, Level
from rlprof.errors import EXIT_ERROR


def find(monkeypatch, *found: Check) -> None:
    """Let the doctor find this, whatever the machine."""
    monkeypatch.setattr(doctor_checks, "all_checks", lambda *_, **__: found)


@pytest.mark.parametrize(
    ("level", "exit_code"), [(Level.OK, 0), (Level.WARN, 0), (Level.FAIL, EXIT_ERROR)]
)
def test_only_failures_fail(command_line, monkeypatch, level, exit_code):
    find(monkeypatch, Check("system", Level.OK, "Linux"), Check("disk", level, "80 GiB free"))

    assert command_line("doctor").exit_code == exit_code


def test_advice_stands_under_what_was_found(command_line, monkeypatch):
    find(monkeypatch, Check("cores", Level.WARN, "1 of 8 usable", "expect a loss"))

    answer = command_line("doctor")

    assert answer.stdout == "warn  cores        1 of 8 usable\n" + " " * 19 + "expect a loss\n"
