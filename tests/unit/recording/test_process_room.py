"""Samplers take a tenth of the processes that may be started, and leave the others to the training."""

from __future__ import annotations

import os
import resource

import pytest

from rlprof.recording import attaching
from rlprof.recording.machine import process_room, procfs
from rlprof.recording.machine.cgroups import ControlGroups
from rlprof.recording.machine.process_room import most_beside_the_training


@pytest.fixture(autouse=True)
def as_root(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@pytest.mark.parametrize(("left", "most"), [(None, None), (220, 22), (9, 0)])
def test_the_control_groups_count(monkeypatch, left, most):
    monkeypatch.setattr(ControlGroups, "further_tasks", lambda _: left)

    assert most_beside_the_training() == most


def test_the_threads_of_a_user_count(tmp_path, monkeypatch):
    monkeypatch.setattr(ControlGroups, "further_tasks", lambda _: None)
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
