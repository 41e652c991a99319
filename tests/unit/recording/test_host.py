"""What a run file says of the place that a run was made in."""

from __future__ import annotations

from rlprof.recording.host import git_state
from tests.git_repository import GitRepository


def test_a_hook_of_another_repository_changes_no_commit(tmp_path, monkeypatch):
    ours, theirs = (GitRepository.new(tmp_path / name) for name in ("ours", "theirs"))
    for repository in (ours, theirs):
        repository.commit(f"print({repository.folder.name!r})\n", "train.py")
    head = ours.git("rev-parse", "--short", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(theirs.folder / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(theirs.folder / ".git" / "index"))

    assert git_state(ours.folder) == head.strip()
    assert git_state(tmp_path) is None
