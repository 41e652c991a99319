"""Which of the files that a base imported are its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rlprof.agent.inject.rlprof_agent import imported_files as agent
from rlprof.gate.program import Checkout
from rlprof.gate.worktrees.imported_files import ImportedFiles, imported_files

FILES = ("src/agent/policy.py", "train.py")


def with_files(root: Path) -> Path:
    for name in FILES:
        written(root / name)
    return root


def written(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    return file


@pytest.fixture
def checkout(tmp_path):
    return Checkout(with_files(tmp_path / "temporary/base"), with_files(tmp_path / "project"))


@pytest.fixture
def told(tmp_path, checkout):
    """What processes told, each the paths that it imported."""
    folder = tmp_path / "told"
    folder.mkdir()

    def _told(*processes: list[Path]) -> ImportedFiles | None:
        for pid, paths in enumerate(processes):
            text = b"".join(os.fsencode(path) + b"\0" for path in paths)
            (folder / str(pid)).write_bytes(text)
        return imported_files(folder, checkout)

    return _told


def test_nothing_is_known_where_no_process_told(told):
    assert told() is None
    assert told([]) is None


def test_its_own_files_and_the_standard_library(told, checkout):
    own = checkout.root / "train.py", checkout.root / "src/agent/policy.py"

    assert told([own[0], Path(os.__file__)], [*own]) == ImportedFiles(2, (), ())


def test_files_of_head(told, checkout):
    found = told([checkout.root / "train.py"], [checkout.head / "src/agent/policy.py"])

    assert found == ImportedFiles(1, (Path("src/agent/policy.py"),), ())


def test_links_lead_to_files_of_head(told, checkout):
    """As in a strict editable installation of setuptools."""
    link = checkout.head / "build/__editable__.agent/agent/policy.py"
    link.parent.mkdir(parents=True)
    link.symlink_to(checkout.head / "src/agent/policy.py")

    found = told([link])

    assert found is not None
    assert found.of_head == (Path("src/agent/policy.py"),)


@pytest.mark.parametrize(
    "name",
    [
        "env/lib/python3.11/json/decoder.py",
        "configs/new.py",
        ".venv/lib/python3.11/site-packages/six.py",
    ],
)
def test_what_only_head_has_is_shared(told, checkout, name):
    assert told([written(checkout.head / name)]) == ImportedFiles(0, (), ())


def test_a_worktree_inside_of_head_is_its_own(tmp_path, checkout):
    inside = Checkout(with_files(checkout.head / "tmp/base"), checkout.head)
    folder = tmp_path / "told"
    folder.mkdir()
    (folder / "1").write_bytes(os.fsencode(inside.root / "train.py") + b"\0")

    assert imported_files(folder, inside) == ImportedFiles(1, (), ())


def test_an_installed_copy_of_what_the_worktree_has(told, checkout, tmp_path):
    site = tmp_path / "env/lib/python3.11/site-packages"
    theirs = [written(site / name) for name in ("agent/policy.py", "torch/nn.py")]

    found = told([checkout.root / "train.py", *theirs])

    assert found == ImportedFiles(1, (), (Path("agent/policy.py"),))


def test_what_a_killed_process_left_is_read_up_to_there(tmp_path, checkout):
    folder = tmp_path / "told"
    folder.mkdir()
    (folder / "1").write_bytes(os.fsencode(checkout.root / "train.py") + b"\0/half/a/pa")

    assert imported_files(folder, checkout) == ImportedFiles(1, (), ())


# --- the agent's part -----------------------------------------------------------------------


ASKED: list[str] = []
"""What ``Late`` was asked for."""


class Late:
    """A module that loads itself when it is asked for anything."""

    def __getattr__(self, name: str) -> object:
        ASKED.append(name)
        raise AttributeError(name)


class Closed:
    __slots__ = ()


@pytest.mark.parametrize("kind", [Late, Closed, int])
def test_odd_modules_tell_nothing(monkeypatch, tmp_path, kind):
    modules = {"odd": kind(), "forgotten": None, "os": os}
    ASKED.clear()

    # Put back before anything is asserted: pytest could not tell of a failure.
    with monkeypatch.context() as patch:
        patch.setattr(agent.sys, "modules", modules)
        agent._tell(str(tmp_path))

    assert (tmp_path / str(os.getpid())).read_bytes() == os.fsencode(os.__file__) + b"\0"
    assert ASKED == []


def test_a_folder_that_is_gone_is_no_matter(tmp_path):
    agent._tell(str(tmp_path / "gone"))
