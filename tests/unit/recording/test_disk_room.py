"""A recording takes a small part of what is free on the disk, and leaves the rest to the training."""

from __future__ import annotations

import pytest

from rlprof.errors import OutputError
from rlprof.recording.machine import disk_room
from rlprof.recording.machine.disk_room import LEAST_FREE_BYTES, expect_room

MIB = 1 << 20


@pytest.fixture
def run_file(tmp_path):
    path = tmp_path / "run.rlprof"
    path.write_bytes(b"x" * MIB)
    path.with_name("run.rlprof-wal").write_bytes(b"x" * MIB)
    return path


@pytest.mark.parametrize(
    ("free", "is_enough"),
    [(19 * MIB, True), (17 * MIB, False), (LEAST_FREE_BYTES - 3 * MIB, False), (None, True)],
    ids=["a tenth is taken", "more is", "little is free", "the file system does not tell"],
)
def test_room(run_file, monkeypatch, free, is_enough):
    monkeypatch.setattr(disk_room, "_free_bytes", lambda _: free)

    if is_enough:
        expect_room(run_file)
    else:
        with pytest.raises(OutputError, match="left to your program"):
            expect_room(run_file)


def test_a_recording_does_not_begin_with_little_room(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_room, "_free_bytes", lambda _: LEAST_FREE_BYTES - 1)

    with pytest.raises(OutputError) as told:
        expect_room(tmp_path / "new.rlprof")

    assert told.value.slug == "disk-nearly-full"


def test_a_folder_that_is_gone_is_somebody_elses_error(tmp_path):
    expect_room(tmp_path / "gone" / "run.rlprof")
