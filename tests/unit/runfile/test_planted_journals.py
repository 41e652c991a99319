"""Files that somebody has put where the journals of a run file will be: they get none of it."""

from __future__ import annotations

import os
import stat

import pytest

from rlprof.errors import OutputError
from rlprof.runfile.reader import read_run
from rlprof.runfile.schema import journals
from rlprof.runfile.writer import RunWriter
from tests.run_files import write_run
from tests.unit.runfile.test_opening import STORY

SUFFIXES = ("-wal", "-shm", "-journal")


@pytest.fixture
def run_file(tmp_path):
    return tmp_path / "run.rlprof"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_there_is_replaced_and_who_holds_it_reads_nothing(run_file, suffix):
    planted = run_file.with_name(run_file.name + suffix)
    with planted.open("w+b") as held:
        planted.chmod(0o666)

        writer = write_run(run_file, STORY, finish=False)

        assert held.read() == b""
    for file in (run_file, *journals(run_file)):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert read_run(run_file).windows == STORY.windows
    writer.abandon()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_link_there_leads_nowhere(run_file, suffix):
    elsewhere = run_file.with_name("elsewhere")
    run_file.with_name(run_file.name + suffix).symlink_to(elsewhere)

    write_run(run_file, STORY)

    assert not elsewhere.exists()
    assert read_run(run_file).windows == STORY.windows


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_beside_what_cannot_be_removed_nothing_is_recorded(run_file, suffix):
    planted = run_file.with_name(run_file.name + suffix)
    planted.mkdir()

    with pytest.raises(OutputError, match=f"{planted.name} is in its way"):
        RunWriter(run_file, STORY.run)

    assert planted.is_dir()


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("ppo", b"day 1: the learning rate was too high"),
        ("run.rlprof", b"notes on that run"),
        ("results.db", b"\x37\x7f\x06\x82 rows of a program that died"),
    ],
)
def test_a_file_of_the_user_s_stays_and_nothing_is_recorded(tmp_path, name, content, suffix):
    theirs = tmp_path / f"{name}{suffix}"
    theirs.write_bytes(content)

    with pytest.raises(OutputError, match=f"{theirs.name} is in its way"):
        RunWriter(tmp_path / name, STORY.run)

    assert theirs.read_bytes() == content


def test_what_a_killed_recording_of_that_name_has_left_goes(run_file):
    journals(run_file)[0].write_bytes(b"\x37\x7f\x06\x82 windows of an earlier run")

    write_run(run_file, STORY)

    assert read_run(run_file).windows == STORY.windows


def test_a_journal_of_another_user_is_written_into_at_no_time(run_file, monkeypatch):
    # As if somebody had made it between our look and SQLite's.
    monkeypatch.setattr(os, "geteuid", lambda: 400_000_000)

    with pytest.raises(OutputError, match="-wal is in its way"):
        RunWriter(run_file, STORY.run)

    assert not run_file.exists()
