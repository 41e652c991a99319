"""Samplers take a tenth of the processes that may be started, and leave the others to the training."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from rlprof.recording import attaching, process_room, procfs
from rlprof.recording.process_room import most_beside_the_training


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """A group two levels deep, each of which may have limits."""
    inner = tmp_path / "slice" / "job"
    inner.mkdir(parents=True)
    monkeypatch.setattr(process_room, "_CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(process_room, "_groups", lambda: [inner])
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return inner


def limit(group: Path, most: object, current: int) -> None:
    (group / "pids.max").write_text(f"{most}\n")
    (group / "pids.current").write_text(f"{current}\n")


def test_nothing_limits_them(groups):
    limit(groups, "max", 17)

    assert most_beside_the_training() is None


def test_the_narrowest_group_counts(groups):
    limit(groups, 1000, 500)
    limit(groups.parent, 400, 180)

    assert most_beside_the_training() == 22


def test_a_full_group_leaves_none(groups):
    limit(groups, 20, 20)

    assert most_beside_the_training() == 0


def test_the_threads_of_a_user_count(groups, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 64))
    monkeypatch.setattr(process_room, "_PROCESSES", tmp_path)
    monkeypatch.setattr(procfs, "threads", lambda pid: [pid] * 8)
    for name in ("12", "13", "self"):
        (tmp_path / name).mkdir()

    assert most_beside_the_training() == (64 - 2 * 8) // 10


def test_fewer_samplers_are_attached(monkeypatch):
    monkeypatch.setattr(attaching, "most_beside_the_training", lambda: 3)

    assert attaching._most_samplers() == 3
