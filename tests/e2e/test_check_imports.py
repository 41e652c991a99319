"""A base whose modules come from elsewhere than its worktree, in real checks."""

from __future__ import annotations

import shlex
import subprocess
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
    # A variable that is a path of head and nothing else would lead to the base.
    monkeypatch.setenv("THEIRS", f"{project.folder}/lib /elsewhere")

    answer = project.check(*COUNT, "train.py")

    assert answer.fails_with(NOT_MEASURED, "base-imports-head")
    assert "imported lib/policy.py from the working tree of head" in answer.err
    project.assert_tidy()


@pytest.fixture
def installed(project, tmp_path, monkeypatch):
    """The project's library as ``pip install .`` leaves it."""
    site = tmp_path / "site-packages"
    site.mkdir()
    (site / "policy.py").write_text(LIBRARY)
    monkeypatch.setenv("THEIRS", str(site))
    return project


def test_what_is_installed_is_remarked_on(installed):
    answer = installed.check(*COUNT, "train.py")

    assert answer.code == PASS, answer.err
    assert "Base imported a copy of lib/policy.py" in answer.out
    installed.assert_tidy()


def test_a_change_of_what_is_installed_is_not_run(installed):
    installed.write("def step(): print('new')\n", "lib/policy.py")

    answer = installed.check(*COUNT, "train.py")

    assert answer.fails_with(NOT_MEASURED, "change-not-run")
    assert "imported a copy of lib/policy.py" in answer.err
    installed.assert_tidy()


def test_a_base_that_is_installed_over_head_is_no_comparison(project, tmp_path, monkeypatch):
    """As ``--prepare 'pip install -e .'`` does in the environment that head uses."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    monkeypatch.setenv("THEIRS", str(theirs))
    link = shlex.quote(str(theirs / "policy.py"))

    answer = project.check(*COUNT, "--prepare", f"ln -sf $PWD/lib/policy.py {link}", "train.py")

    assert answer.fails_with(NOT_MEASURED, "head-imports-base")
    assert "imported lib/policy.py from the worktree of base" in answer.err
    project.assert_tidy()


# What pip writes for ``pip install -e .``, into the folder of the first argument.
INSTALL = """
import json, pathlib, sys
place = pathlib.Path(sys.argv[1], "my_project-1.0.dist-info")
place.mkdir(exist_ok=True)
(place / "METADATA").write_text("Metadata-Version: 2.1\\nName: my-project\\nVersion: 1.0\\n")
url = {"url": pathlib.Path.cwd().as_uri(), "dir_info": {"editable": True}}
(place / "direct_url.json").write_text(json.dumps(url))
"""


def test_a_base_that_is_installed_over_head_is_seen_before_a_run(project, tmp_path, monkeypatch):
    site = tmp_path / "site packages"
    site.mkdir()
    monkeypatch.setenv("PYTHONPATH", f"{site}:lib")
    install = ("-c", INSTALL, str(site))
    # Head's own, which is there first, is none of base.
    subprocess.run([sys.executable, *install], cwd=project.folder, check=True)

    assert project.check(*COUNT, "--prepare", "true", "train.py").code == PASS
    answer = project.check(*COUNT, "--prepare", shlex.join([sys.executable, *install]), "train.py")

    assert answer.fails_with(NOT_MEASURED, "head-imports-base")
    assert "installed my-project of base into the environment that head uses" in answer.err
    assert "pair 1" not in answer.err
    project.assert_tidy()


@pytest.mark.slow
def test_another_clone_that_is_installed_runs_no_change(project, tmp_path, monkeypatch):
    project.commit("", "lab/__init__.py")
    project.commit("import lab.agent, rlprof\nrlprof.step(10)\n", "scripts/train.py")
    project.commit("WIDTH = 64\n", "lab/agent.py")
    other = project.clone(tmp_path / "other").folder
    project.write("WIDTH = 128\n", "lab/agent.py")
    monkeypatch.setenv("PYTHONPATH", str(other))

    answer = project.check(*COUNT, "scripts/train.py")

    assert answer.fails_with(NOT_MEASURED, "change-not-run")
    assert "imported a copy of lab/agent.py in place of its own" in answer.err
    project.assert_tidy()


@pytest.mark.slow
def test_a_base_that_tells_nothing_is_remarked_on(repository):
    repository.commit("import os, rlprof\nrlprof.step(10)\nos._exit(0)\n")

    answer = repository.check(*COUNT, "train.py")

    assert answer.code == PASS, answer.err
    assert "Base did not tell which files it imported" in answer.out
    repository.assert_tidy()


def test_a_script_under_another_program_is_its_own(repository):
    repository.commit("import rlprof\nrlprof.step(10)\n")

    answer = repository.check(*COUNT, "--", sys.executable, "-m", "cProfile", "train.py")

    assert answer.code == PASS, answer.err
    assert "imported" not in answer.out
    repository.assert_tidy()


def test_its_own_files_need_no_remark(project, monkeypatch):
    monkeypatch.setenv("THEIRS", "lib")

    answer = project.check(*COUNT, "train.py")

    assert answer.code == PASS, answer.err
    assert "imported" not in answer.out
    project.assert_tidy()
