"""What a run file says of the place that a run was made in."""

from __future__ import annotations

import os

from rlprof.recording.machine import host
from rlprof.recording.machine.host import git_state
from tests.git_repository import GitRepository
from tests.live_processes import processes_with, wait_until


def test_a_hook_of_another_repository_changes_no_commit(tmp_path, monkeypatch):
    ours, theirs = (GitRepository.new(tmp_path / name) for name in ("ours", "theirs"))
    for repository in (ours, theirs):
        repository.commit(f"print({repository.folder.name!r})\n", "train.py")
    head = ours.git("rev-parse", "--short", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(theirs.folder / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(theirs.folder / ".git" / "index"))

    assert git_state(ours.folder) == head.strip()
    assert git_state(tmp_path) is None


def test_git_starts_no_program_of_the_repositorys_and_writes_nothing(tmp_path, monkeypatch):
    repository = GitRepository.new(tmp_path / "ours")
    repository.commit("print(1)\n", "train.py")
    hook = tmp_path / "monitor"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    repository.git("config", "core.fsmonitor", str(hook))
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))

    assert git_state(repository.folder)
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "trace").exists()


def test_what_git_has_started_ends_with_it_when_it_takes_too_long(tmp_path, monkeypatch):
    git = tmp_path / "git"
    git.write_text(f"#!/bin/sh\nsh -c 'sleep 60; : {tmp_path}/filter' &\nwait\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(host, "GIT_S", 0.2)

    assert git_state(tmp_path) is None
    wait_until(lambda: not processes_with(f"{tmp_path}/filter"), "the end of the filter")
