"""Which file a command starts."""

from __future__ import annotations

import pytest

from rlprof.gate.program import script_file


@pytest.mark.parametrize(
    ("command", "file"),
    [
        (("/usr/bin/python3.11", "train.py", "other.py"), "train.py"),
        (("python", "sub/../train.py"), "train.py"),
        (("python", "package", "train.py"), "package/__main__.py"),
        (("python", "-m", "package.learn", "train.py"), "package/learn.py"),
        (("python", "-m", "package"), "package/__main__.py"),
        (("python", "-u", "-X", "dev", "-Wignore", "train.py"), "train.py"),
        (("python", "-um", "package.learn"), "package/learn.py"),
        (("python", "-mpackage"), "package/__main__.py"),
        (("torchrun", "--config", "conf.yaml", "train.py"), "train.py"),
        (("./train.sh", "conf.yaml"), "train.sh"),
        # Nothing that is sure to be what starts.
        (("python", "-m", "elsewhere", "train.py"), ""),
        (("python", "-m"), ""),
        (("python",), ""),
        (("python", "-uc", "import other", "train.py"), ""),
        (("python", "--check-hash-based-pycs"), ""),
        (("python", "gone.py", "train.py"), ""),
        (("make", "train"), ""),
        (("python", "x" * 5000), ""),
        (("python", "a\0b"), ""),
    ],
)
def test_what_a_command_starts(tmp_path, command, file):
    (tmp_path / "package").mkdir()
    for name in ("train.py", "other.py", "train.sh", "conf.yaml", "package/__main__.py"):
        (tmp_path / name).touch()
    (tmp_path / "package" / "learn.py").touch()

    found = script_file(command, tmp_path)

    assert found == (str(tmp_path.resolve() / file) if file else "")


def test_a_folder_that_is_reached_by_a_link_is_told_as_git_does(tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "train.py").touch()
    (tmp_path / "link").symlink_to(tmp_path / "project")

    found = script_file(("python", "train.py"), tmp_path / "link")

    assert found == str(tmp_path.resolve() / "project" / "train.py")
