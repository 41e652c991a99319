from __future__ import annotations

import os
from dataclasses import replace

import pytest

from rlprof.model.recording import RunInfo
from rlprof.runfile.lock import is_locked_here, is_recorded_into, keep
from rlprof.runfile.reader import read_run
from tests.run_files import write_run
from tests.unit.runfile.test_opening import STORY


@pytest.fixture
def run_file(tmp_path):
    """Made as `rlprof run` makes it: with a lock that is kept."""
    path = tmp_path / "run.rlprof"
    fd = os.open(path, os.O_CREAT | os.O_RDWR)
    assert is_locked_here(fd, path)
    keep(fd)
    return path


def read(path) -> RunInfo:
    return read_run(path).run


def test_a_run_goes_on_while_its_recorder_is_at_work(run_file):
    writer = write_run(run_file, STORY, finish=False)
    assert read(run_file).is_live

    writer.abandon()

    assert not read(run_file).is_live
    assert not read(run_file).complete


def test_a_run_that_is_complete_goes_on_no_longer_though_its_recorder_lives(run_file):
    write_run(run_file, STORY)

    with run_file.open("rb") as file:
        assert is_recorded_into(file.fileno())
    assert not read(run_file).is_live


def test_a_run_that_nobody_locks_does_not_go_on(tmp_path):
    writer = write_run(tmp_path / "run.rlprof", STORY, finish=False)

    assert not read(tmp_path / "run.rlprof").is_live
    writer.abandon()


def test_what_was_seen_of_a_recorder_is_in_no_file(tmp_path):
    live = replace(STORY, run=replace(STORY.run, is_live=True))
    write_run(tmp_path / "run.rlprof", live)

    assert not read(tmp_path / "run.rlprof").is_live
