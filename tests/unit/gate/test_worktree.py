"""The worktree of a base in real repositories: what is checked out, and what of the user's stays as it is."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

from rlprof.errors import UsageError
from rlprof.gate.interruption import Interrupted
from rlprof.gate.program import Program, Side
from rlprof.gate.worktrees.check_folder import MARK, check_folder
from rlprof.gate.worktrees.sides import CommitBase, in_worktree
from rlprof.gate.worktrees.worktree import find_repository, worktree_of
from tests.git_repository import ENVIRONMENT, GitRepository


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    for name, text in ENVIRONMENT.items():
        monkeypatch.setenv(name, text)


@pytest.fixture
def repository(tmp_path):
    made = GitRepository.new(tmp_path / "project")
    made.commit("print('old')\n")
    return made


@pytest.fixture
def parent(tmp_path):
    """Where worktrees are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


def check_out(repository, parent):
    """Make a worktree as a check does, and remove it again."""
    with worktree_of(find_repository(repository.folder, "main"), parent) as tree:
        assert (tree.folder / "train.py").read_text() == "print('old')\n"
    assert list(parent.iterdir()) == []


def worktrees(repository):
    """The ids of those that git knows, but for the main one."""
    return {folder.name for folder in repository.folder.glob(".git/worktrees/*")}


def absent_worktree(repository, place):
    """One whose folder, and all around it, is not there at the moment; returns its id."""
    repository.git("worktree", "add", "--quiet", "--detach", str(place))
    shutil.rmtree(place.parent)
    [new] = worktrees(repository)
    return new


def test_no_trace_is_left(repository, parent):
    check_out(repository, parent)

    assert not (repository.folder / ".git/worktrees").exists()


def test_other_worktrees_stay_where_their_folder_is_absent(repository, parent, tmp_path):
    theirs = absent_worktree(repository, tmp_path / "disk" / "of-the-user")

    check_out(repository, parent)

    assert worktrees(repository) == {theirs}


def test_what_a_killed_check_left_is_forgotten(repository, parent):
    absent_worktree(repository, parent / "rlprof-check-a1b2c3_d" / "base------")

    check_out(repository, parent)

    assert worktrees(repository) == set()


@pytest.mark.parametrize(
    "place",
    [
        # Called nearly as ours are.
        "rlprof-check-results/base",
        # On a disk that is not mounted.
        "disk/rlprof-check-a1b2c3_d/base------",
    ],
)
def test_what_may_be_in_use_is_not_forgotten(repository, parent, tmp_path, place):
    worktree = tmp_path / place
    theirs = absent_worktree(repository, worktree)
    if place.startswith("disk"):
        (tmp_path / "disk").rmdir()

    check_out(repository, parent)

    assert worktrees(repository) == {theirs}


def test_a_damaged_worktree_is_removed_too(repository, parent):
    with worktree_of(find_repository(repository.folder, "main"), parent) as tree:
        (tree.root / ".git").unlink()
        repository.git("worktree", "lock", str(tree.root))

    assert list(parent.iterdir()) == []
    assert worktrees(repository) == set()


def test_the_index_is_not_written(repository, parent):
    # Git would note that this file has only been touched.
    os.utime(repository.folder / "train.py", (1, 1))
    index = repository.folder / ".git/index"
    before = index.read_bytes(), index.stat().st_mtime_ns

    check_out(repository, parent)

    assert (index.read_bytes(), index.stat().st_mtime_ns) == before


@pytest.mark.parametrize("name", [b"not-utf8-\xff\xfe", b"blank-at-the-end ", b"line\nbreak\n"])
def test_folders_of_any_name(tmp_path, parent, name):
    folder = tmp_path / os.fsdecode(name)
    repository = GitRepository.new(folder)
    repository.commit("print('old')\n")

    found = find_repository(folder, "main")

    assert (found.root, found.git_folder) == (folder, folder / ".git")
    check_out(repository, parent)
    assert worktrees(repository) == set()


@pytest.mark.parametrize("name", ["main~1", ":/write train", "v1", "HEAD~1", "main@{1}", "v1^{}"])
def test_commits_by_all_the_names_that_git_knows(repository, name):
    old = repository.git("rev-parse", "HEAD").strip()
    repository.git("tag", "--annotate", "--message", "the first", "v1")
    repository.commit("value = 2\n", "model.py")

    assert find_repository(repository.folder, name).base == old


@pytest.mark.parametrize("name", ["^HEAD", "HEAD:train.py", "main..HEAD", ":/no such message", ""])
def test_names_of_no_commit(repository, name):
    with pytest.raises(UsageError, match="git knows no commit"):
        find_repository(repository.folder, name)


def test_a_check_in_a_worktree_of_the_users(repository, parent, tmp_path):
    mine = tmp_path / "mine"
    repository.git("worktree", "add", "--quiet", "--detach", str(mine))

    with worktree_of(find_repository(mine, "main"), parent) as tree:
        assert (tree.root / "train.py").is_file()

    assert worktrees(repository) == {"mine"}


# --- both sides -----------------------------------------------------------------------------


def sides_of(repository, ref, parent):
    head = Program(
        Side.HEAD, ("true",), "true", repository.folder, {**os.environ, "PATH": ""}, "project"
    )
    with in_worktree(head, CommitBase(ref), parent, timeout_s=60.0, tell=print) as sides:
        return sides


def test_a_base_that_is_named_by_its_hash_has_one_name(repository, parent):
    commit = repository.git("rev-parse", "HEAD")

    names = [sides_of(repository, ref, parent).base.name for ref in (commit, commit[:7], "main")]

    assert names == [commit[:10], commit[:10], f"main ({commit[:10]})"]


def test_another_file_system_is_told(repository, parent):
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK) or memory.stat().st_dev == parent.stat().st_dev:
        pytest.skip("there is no second file system to write to")
    with tempfile.TemporaryDirectory(dir=memory) as elsewhere:
        told = sides_of(repository, "main", Path(elsewhere)).notes

    assert [note.slug for note in told] == ["other-file-system"]
    assert sides_of(repository, "main", parent).notes == ()


# --- the folder of a check ------------------------------------------------------------------


@pytest.fixture
def left(parent, monkeypatch):
    """Makes an old folder among the temporary ones, with something in it."""
    monkeypatch.setattr(tempfile, "tempdir", str(parent))

    def _left(name, *files):
        folder = parent / name
        folder.mkdir()
        for file in ("pair-1.json", *files):
            (folder / file).touch()
        os.utime(folder, (0, 0))
        return folder

    return _left


def test_only_folders_of_ours_are_removed(left):
    ours = left("rlprof-check-a1b2c3_d", MARK)
    theirs = [
        left("rlprof-check-results"),
        left("rlprof-check-training"),
        left("rlprof-check-results-2", MARK),
    ]

    with check_folder():
        pass

    assert not ours.exists()
    assert all((folder / "pair-1.json").exists() for folder in theirs)


def test_a_folder_in_use_stays(left):
    with check_folder() as first:
        os.utime(first, (0, 0))
        with check_folder() as second:
            assert first.is_dir()
        assert not second.exists()
    assert not first.exists()


def test_a_removal_that_is_stopped_is_finished_by_the_next_check(left, monkeypatch):
    ours = left("rlprof-check-a1b2c3_d", MARK)
    (ours / "base").mkdir()
    os.utime(ours, (0, 0))

    def stopped(folder, **_options):
        for file in filter(Path.is_file, folder.iterdir()):
            file.unlink()
        raise Interrupted(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", stopped)
        with pytest.raises(Interrupted), check_folder():
            raise AssertionError("it was stopped before")
    os.utime(ours, (0, 0))
    with check_folder():
        pass

    assert not ours.exists()


@pytest.mark.parametrize(("in_head", "in_base"), [("pointer", "skipped"), ("data", "fetched")])
def test_large_files_are_fetched_as_in_head(repository, parent, in_head, in_base):
    """By a filter of the test's in the place of git-lfs, which asks a server."""
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:1\n"
    repository.commit("*.bin filter=lfs\n", ".gitattributes")
    repository.commit(pointer, "weights.bin")
    smudge = 'cat > /dev/null; test "$GIT_LFS_SKIP_SMUDGE" = 1 && echo skipped || echo fetched'
    repository.git("config", "filter.lfs.smudge", smudge)
    repository.write(pointer if in_head == "pointer" else "the weights\n", "weights.bin")

    with worktree_of(find_repository(repository.folder, "main"), parent) as tree:
        assert (tree.root / "weights.bin").read_text().strip() == in_base
