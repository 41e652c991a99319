"""Removing what a run left: caches make folders read-only."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rlprof.gate.worktrees import check_folder
from rlprof.gate.worktrees.check_folder import MARK, SETTLED_S, remove_tree

NOBODY = 65534


def as_a_user(folder: Path, what: Callable[[], object]) -> None:
    """In ``folder`` with the rights of a user: root may remove everything anyway."""
    folder.chmod(0o777)
    pid = os.fork()
    if pid == 0:
        try:
            os.chdir(folder)
            if os.geteuid() == 0:
                os.setuid(NOBODY)
            what()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def leave_a_read_only_cache(folder: Path) -> None:
    (folder / "cache" / "deep").mkdir(parents=True)
    (folder / "cache" / "deep" / "kernel").write_bytes(b"x")
    (folder / "cache" / "link").symlink_to("/")
    (folder / "cache" / "deep").chmod(0o555)
    (folder / "cache").chmod(0o500)


def test_folders_without_the_right_to_write_are_removed(tmp_path):
    def leave_and_remove() -> None:
        leave_a_read_only_cache(Path("base"))
        remove_tree(Path("base"))

    as_a_user(tmp_path, leave_and_remove)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("is_stuck", [False, True])
def test_the_mark_stays_for_as_long_as_something_else_does(tmp_path, monkeypatch, is_stuck):
    folder = tmp_path / "rlprof-check-abcdefgh"
    leave_a_read_only_cache(folder)
    (folder / MARK).touch()
    old = time.time() - 2 * SETTLED_S
    os.utime(folder, (old, old))
    if is_stuck:
        monkeypatch.setattr(check_folder, "remove_tree", lambda _folder: None)

    check_folder._remove_left_ones(tmp_path)

    assert (folder / MARK).exists() == is_stuck
    assert folder.exists() == is_stuck
