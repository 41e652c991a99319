"""Which of the files that a base imported are its own, in real repositories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rlprof.agent.inject.rlprof_agent import imported_files as agent
from rlprof.gate.imported_files import ImportedFiles, imported_files
from rlprof.gate.program import Checkout
from tests.git_repository import ENVIRONMENT, GitRepository


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    for name, text in ENVIRONMENT.items():
        monkeypatch.setenv(name, text)


@pytest.fixture
def head(tmp_path):
    made = GitRepository.new(tmp_path / "project")
    made.commit("", "src/agent/policy.py")
    made.commit("", "train.py")
    return made


@pytest.fixture
def checkout(tmp_path, head):
    root = tmp_path / "temporary" / "base"
    head.git("worktree", "add", "--quiet", "--detach", str(root))
    return Checkout(root, head.folder)


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


def written(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    return file


def test_nothing_is_known_where_no_process_told(told):
    assert told() is None
    assert told([]) is None


def test_its_own_files_and_the_standard_library(told, checkout):
    own = checkout.root / "train.py", checkout.root / "src/agent/policy.py"

    assert told([own[0], Path(os.__file__)], [*own]) == ImportedFiles(2, (), ())


def test_files_of_head(told, checkout, head):
    found = told([checkout.root / "train.py"], [head.folder / "src/agent/policy.py"])

    assert found == ImportedFiles(1, (Path("src/agent/policy.py"),), ())


def test_links_lead_to_files_of_head(told, head):
    """As in a strict editable installation of setuptools."""
    link = head.folder / "build/__editable__.agent/agent/policy.py"
    link.parent.mkdir(parents=True)
    link.symlink_to(head.folder / "src/agent/policy.py")

    found = told([link])

    assert found is not None
    assert found.of_head == (Path("src/agent/policy.py"),)


def test_files_of_a_submodule_of_head(told, head, tmp_path):
    library = GitRepository.new(tmp_path / "library")
    library.commit("", "layers.py")
    head.git("submodule", "--quiet", "add", str(library.folder), "library")

    found = told([head.folder / "library/layers.py"])

    assert found is not None
    assert found.of_head == (Path("library/layers.py"),)


@pytest.mark.parametrize(
    "name", [".venv/lib/python3.11/json/decoder.py", ".venv/lib/python3.11/site-packages/six.py"]
)
def test_an_environment_inside_of_head_is_shared(told, head, name):
    assert told([written(head.folder / name)]) == ImportedFiles(0, (), ())


def test_a_worktree_inside_of_head_is_its_own(tmp_path, head):
    root = head.folder / "tmp/base"
    head.git("worktree", "add", "--quiet", "--detach", str(root))
    folder = tmp_path / "told"
    folder.mkdir()
    (folder / "1").write_bytes(os.fsencode(root / "train.py") + b"\0")

    assert imported_files(folder, Checkout(root, head.folder)) == ImportedFiles(1, (), ())


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


class Late:
    """A module that loads itself when it is asked for anything."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError(name)


class Closed:
    __slots__ = ()


@pytest.mark.parametrize("kind", [Late, Closed, int])
def test_odd_modules_tell_nothing(monkeypatch, tmp_path, kind):
    modules = {"odd": kind(), "forgotten": None, "os": os}
    monkeypatch.setattr(agent.sys, "modules", modules)

    agent._tell(str(tmp_path))

    assert (tmp_path / str(os.getpid())).read_bytes() == os.fsencode(os.__file__) + b"\0"


def test_a_folder_that_is_gone_is_no_matter(tmp_path):
    agent._tell(str(tmp_path / "gone"))
