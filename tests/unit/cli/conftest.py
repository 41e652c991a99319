from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from rlprof.cli.commands import main


class Answer(NamedTuple):
    exit_code: object
    stdout: str
    stderr: str


@pytest.fixture
def command_line(monkeypatch, capsys) -> Callable[..., Answer]:
    """Run a command line inside this process."""

    def run(*arguments: str) -> Answer:
        monkeypatch.setattr(sys, "argv", ["rlprof", *arguments])
        with pytest.raises(SystemExit) as exit_info:
            main()
        return Answer(exit_info.value.code or 0, *capsys.readouterr())

    return run
