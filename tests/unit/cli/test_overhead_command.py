from __future__ import annotations

import pytest

from rlprof.errors import EXIT_USAGE


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        ((), "no-target"),
        (("missing.py",), "script-missing"),
        (("--wall", "--steps-from", "train:step", "train.py"), "useless-option"),
        (("--sps-pattern", "[", "train.py"), "bad-pattern"),
    ],
)
def test_what_cannot_be_meant_is_refused(command_line, tmp_path, monkeypatch, words, slug):
    (tmp_path / "train.py").touch()
    monkeypatch.chdir(tmp_path)

    answer = command_line("overhead", *words)

    assert answer.exit_code == EXIT_USAGE
    assert f"rlprof explain {slug}" in answer.stderr
