"""A base whose modules come from elsewhere than its worktree, in real checks."""

from __future__ import annotations

import shlex
import sys

import pytest

from tests.checked_repository import NOT_MEASURED, PASS

LIBRARY = "def step(): pass\n"
PROGRAM = """
import os, sys
sys.path += os.environ.get("THEIRS", "").split()
import policy, rlprof

rlprof.step(10)
"""

COUNT = ("--base", "main", "--counters-only")


@pytest.fixture
def project(repository):
    repository.commit(LIBRARY, "lib/policy.py")
    repository.commit(PROGRAM)
    return repository


def test_a_command_that_enters_head_runs_no_base(project):
    folder, python = map(shlex.quote, (str(project.folder), sys.executable))
    script = f"cd {folder} && PYTHONPATH=lib:$PYTHONPATH {python} train.py"

    answer = project.check(*COUNT, "--", "sh", "-c", script)

    assert answer.fails_with(NOT_MEASURED, "base-imports-head")
    assert "imported train.py from the working tree of head" in answer.err
    project.assert_tidy()


def test_a_path_in_the_program_leads_to_head(project, monkeypatch):
    monkeypatch.setenv("THEIRS", str(project.folder / "lib"))

    answer = project.check(*COUNT, "train.py")

    assert answer.fails_with(NOT_MEASURED, "base-imports-head")
    assert "imported lib/policy.py from the working tree of head" in answer.err
    project.assert_tidy()


def test_what_is_installed_is_remarked_on(project, tmp_path, monkeypatch):
    site = tmp_path / "site-packages"
    (site / "lib").mkdir(parents=True)
    (site / "lib" / "policy.py").write_text(LIBRARY)
    monkeypatch.setenv("THEIRS", str(site / "lib"))

    answer = project.check(*COUNT, "train.py")

    assert answer.code == PASS, answer.err
    assert "Base imported lib/policy.py as it is installed" in answer.out
    project.assert_tidy()


def test_its_own_files_need_no_remark(project, monkeypatch):
    monkeypatch.setenv("THEIRS", "lib")

    answer = project.check(*COUNT, "train.py")

    assert answer.code == PASS, answer.err
    assert "imported" not in answer.out
    project.assert_tidy()
