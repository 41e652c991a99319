"""Which Python a command uses, and what it answers where users have modules of their own."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import pytest

from rlprof.gate.baseline import fingerprint_here
from rlprof.gate.program import ask, interpreter_of


def test_the_interpreter_of_a_command():
    assert interpreter_of(("/opt/python3.11", "train.py"), {}) == "/opt/python3.11"
    here = {"PATH": str(Path(sys.executable).parent)}
    assert interpreter_of(("bash", "train.sh"), here) is not None
    assert interpreter_of(("bash", "train.sh"), {"PATH": "/nowhere"}) is None


def test_an_interpreter_beside_the_script_is_found_from_any_folder(tmp_path, monkeypatch):
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)

    found = interpreter_of(("bin/python", "train.py"), {})

    # Not where the link leads: it is what makes a virtual environment.
    assert found == str(python)
    assert interpreter_of(("bash", "train.sh"), {"PATH": "bin"}) == str(python)
    assert ask(found, "print('[]', '{\"a\": 1}', sep='\\n')", os.environ) == {"a": 1}


@pytest.fixture
def environments(tmp_path):
    """Two virtual environments, of which the first is on the path."""
    for name in ("active", "other one"):
        python = tmp_path / name / "bin" / "python3"
        python.parent.mkdir(parents=True)
        python.symlink_to(sys.executable)
    return tmp_path / "active" / "bin", tmp_path / "other one" / "bin"


def installed(folder, start):
    script = folder / "mytrain"
    script.write_text(f"{start}\nimport sys\n")
    script.chmod(0o755)
    return str(script)


@pytest.mark.parametrize(
    ("start", "is_other"),
    [
        ("#!{tmp_path}/link/python3", True),
        ("#! {tmp_path}/link/python3 -I", True),
        ("#!/bin/sh\n'''exec' {tmp_path}/link/python3 \"$0\" \"$@\"\n' '''", True),
        ("#!/bin/sh\n'''exec' \"{tmp_path}/other one/bin/python3\" \"$0\" \"$@\"\n' '''", True),
        ("#!/bin/sh\n'''exec' '{tmp_path}/other one/bin/python3' \"$0\" \"$@\"\n' '''", True),
        ("#!/usr/bin/env python3", False),
        ("#!/usr/bin/env -S PYTHONHASHSEED=0 python3 -u", False),
        ("#!/usr/bin/env", False),
        ("#!/bin/sh", False),
        ("#!", False),
        ("", False),
        ("#!/nowhere/python3", False),
    ],
)
def test_the_interpreter_of_an_installed_script(environments, tmp_path, start, is_other):
    active, other = environments
    # The kernel takes no blank in the path of an interpreter.
    (tmp_path / "link").symlink_to(other)
    script = installed(other, start.format(tmp_path=tmp_path))
    path = {"PATH": str(active)}

    found = interpreter_of((script, "--steps", "9"), path)

    assert found is not None
    assert Path(found).parent.resolve() == (other if is_other else active)
    # Also where it is found on the path.
    everywhere = {"PATH": f"{active}{os.pathsep}{other}"}
    assert interpreter_of(("mytrain",), everywhere) == found


def test_a_program_that_is_no_script(environments):
    active, _ = environments

    found = [interpreter_of((word,), {"PATH": str(active)}) for word in ("/bin/sh", "/nowhere")]

    assert found == [str(active / "python3")] * 2


@pytest.mark.parametrize("question", ["", "raise SystemExit(1)", "print('hello')", "print('[]')"])
def test_no_answer_is_nothing(question):
    assert ask(sys.executable, question, os.environ) == {}
    assert ask("/nowhere/python", question, os.environ) == {}
    assert ask(None, question, os.environ) == {}


def test_modules_of_the_working_directory_do_not_answer(tmp_path, monkeypatch):
    for name in ("json", "platform", "importlib"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('of the user')")
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}

    here = fingerprint_here(sys.executable, environment)

    assert here["python"] == platform.python_version()
