from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from rlprof.cli.run_files import give_back, new_run_file, other_name, point_latest_at
from rlprof.errors import OutputError, UsageError
from rlprof.runfile.schema import APPLICATION_ID, journals
from tests.factories import a_run
from tests.run_files import write_run


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_each_run_has_a_file_of_its_own_within_one_second():
    files = [new_run_file(None, "train.py", force=False) for _ in range(20)]

    assert len(set(files)) == 20
    assert all(file.exists() for file in files)


def test_files_and_their_folder_are_for_their_user_alone():
    before = os.umask(0)
    try:
        file = new_run_file(None, "train.py", force=False)
    finally:
        os.umask(before)

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def a_recording(path: Path) -> Path:
    write_run(path, a_run("train.py", steady_s=1).process("main").recording())
    return path


def test_a_name_that_is_taken_is_kept_unless_forced():
    taken = a_recording(Path("run.rlprof"))

    with pytest.raises(UsageError):
        new_run_file(taken, "train.py", force=False)
    assert taken.stat().st_size

    assert new_run_file(taken, "train.py", force=True) == taken
    assert taken.read_bytes() == b""


def test_what_is_no_run_file_is_kept_even_by_force():
    script, database = Path("train.py"), Path("study.db")
    script.write_text("print(1)")
    with closing(sqlite3.connect(database)) as db:
        db.execute("CREATE TABLE trials (id)")

    for precious in (script, database):
        with pytest.raises(UsageError, match="is no run file"):
            new_run_file(precious, "train.py", force=True)
        assert precious.stat().st_size


def test_what_another_run_records_into_is_not_taken_even_by_force():
    busy = new_run_file(Path("run.rlprof"), "train.py", force=True)
    # SQLite ends all locks of its process where it ends one.
    with closing(sqlite3.connect(busy)) as db:
        db.execute(f"PRAGMA application_id={APPLICATION_ID}")
        db.execute("CREATE TABLE meta (key)")

    beside = new_run_file(busy, "train.py", force=True)

    assert beside == Path("run-2.rlprof")
    assert busy.stat().st_size
    assert "run.rlprof is recorded into by another run" in other_name(busy, beside)
    assert other_name(busy, beside).endswith("this run goes into run-2.rlprof")


def test_nothing_is_said_of_a_name_that_is_the_one_asked_for():
    taken = a_recording(Path("run.rlprof"))

    assert other_name(None, new_run_file(None, "train.py", force=False)) == ""
    assert other_name(taken, new_run_file(taken, "train.py", force=True)) == ""


def test_nothing_is_said_of_the_file_behind_a_link():
    taken, link = a_recording(Path("run.rlprof")), Path("link.rlprof")
    link.symlink_to(taken)

    assert other_name(link, new_run_file(link, "train.py", force=True)) == ""


def test_a_file_that_another_run_has_only_just_made_is_not_taken_even_by_force():
    fresh = new_run_file(Path("run.rlprof"), "train.py", force=True)

    assert new_run_file(fresh, "train.py", force=True) == Path("run-2.rlprof")


def test_what_a_killed_recorder_left_is_replaced_by_force():
    left = a_recording(Path("run.rlprof"))
    for journal in journals(left):
        journal.write_bytes(b"cut off")

    assert new_run_file(left, "train.py", force=True) == left
    assert not any(journal.exists() for journal in journals(left))


def test_the_marks_of_the_folder_are_written_through_no_link():
    Path(".rlprof").mkdir()
    Path(".rlprof/.gitignore").symlink_to("../elsewhere")

    new_run_file(None, "train.py", force=False)

    assert not Path("elsewhere").exists()


def test_a_link_of_its_user_is_followed_and_what_was_behind_it_gets_no_marks():
    Path("disk").mkdir()
    Path(".rlprof").symlink_to("disk")

    file = new_run_file(None, "train.py", force=False)

    assert [entry.name for entry in Path("disk").iterdir()] == [file.name]


@pytest.mark.parametrize(
    ("held", "marked"), [([], True), (["old.rlprof"], True), (["old.rlprof", "notes.txt"], False)]
)
def test_a_folder_with_files_of_others_gets_no_marks(held, marked):
    Path(".rlprof").mkdir()
    for name in held:
        Path(".rlprof", name).touch()

    new_run_file(None, "train.py", force=False)

    assert Path(".rlprof/.gitignore").exists() is marked
    assert Path(".rlprof/CACHEDIR.TAG").exists() is marked


def owned(monkeypatch, **owners: int) -> None:
    """Files of those names have other owners: 0 is root, 1 the user, 2 somebody else."""
    monkeypatch.setattr(os, "geteuid", lambda: 1)

    def asked(path, *, follow_symlinks=True):
        told = real(path, follow_symlinks=follow_symlinks)
        return os.stat_result((*told[:4], owners.get(path.name.removeprefix("."), 1), *told[5:]))

    real = Path.stat
    monkeypatch.setattr(Path, "stat", asked)
    monkeypatch.setattr(Path, "lstat", lambda path: asked(path, follow_symlinks=False))


@pytest.mark.parametrize(
    ("is_link", "owners", "is_used"),
    [
        (False, {"rlprof": 1}, True),
        (False, {"rlprof": 0}, True),
        (False, {"rlprof": 2}, False),
        (False, {"rlprof": 2, "project": 2}, True),  # As in a container that runs as root.
        (True, {"rlprof": 1}, True),
        (True, {"rlprof": 0}, True),
        (True, {"rlprof": 2}, False),
        (True, {"rlprof": 2, "project": 2}, False),
    ],
)
def test_what_somebody_else_put_in_the_place_of_our_folder_is_not_written_to(
    is_link, owners, is_used, monkeypatch
):
    for name in ("disk", "project"):
        Path(name).mkdir()
    monkeypatch.chdir("project")
    if is_link:
        Path(".rlprof").symlink_to("../disk")
    else:
        Path(".rlprof").mkdir()
    owned(monkeypatch, **owners)

    if is_used:
        assert new_run_file(None, "train.py", force=False).exists()
        return
    with pytest.raises(OutputError, match=r"cannot write the run file .*\.rlprof: .* another user"):
        new_run_file(None, "train.py", force=False)
    monkeypatch.undo()
    assert not [*Path().rglob("*.rlprof/*")]


def test_a_device_is_no_place_to_record_to():
    os.mkfifo("pipe.rlprof")

    with pytest.raises(UsageError):
        new_run_file(Path("pipe.rlprof"), "train.py", force=True)
    assert stat.S_ISFIFO(Path("pipe.rlprof").stat().st_mode)


@pytest.mark.parametrize("held", [b"", b"recorded"])
def test_an_open_stream_is_no_place_to_record_to(held):
    Path("out").write_bytes(held)
    with Path("out").open("rb") as stdout:
        Path("stdout").symlink_to(f"/proc/self/fd/{stdout.fileno()}")

        with pytest.raises(UsageError, match="cannot go to a pipe"):
            new_run_file(Path("stdout"), "train.py", force=True)

    assert Path("stdout").is_symlink()
    assert Path("out").read_bytes() == held


def test_a_link_stays_and_the_run_file_behind_it_is_replaced():
    taken = a_recording(Path("disk.rlprof"))
    Path("run.rlprof").symlink_to("disk.rlprof")

    assert new_run_file(Path("run.rlprof"), "train.py", force=True) == taken.resolve()
    assert Path("run.rlprof").is_symlink()
    assert taken.read_bytes() == b""


def test_a_place_that_takes_no_file_is_named():
    Path("file").touch()

    with pytest.raises(OutputError, match="file"):
        new_run_file(Path("file/run.rlprof"), "train.py", force=False)


def test_only_an_empty_file_is_given_back():
    empty, full = (new_run_file(None, "train.py", force=False) for _ in range(2))
    full.write_bytes(b"recorded")

    give_back(empty)
    give_back(full)

    assert (empty.exists(), full.exists()) == (False, True)


def test_latest_leads_to_the_newest_and_never_to_nothing():
    first, second = (new_run_file(None, "train.py", force=False) for _ in range(2))

    point_latest_at(first)
    point_latest_at(second)

    latest = first.with_name("latest")
    assert latest.readlink() == Path(second.name)
    assert sorted(entry.name for entry in first.parent.iterdir() if "latest" in entry.name) == [
        "latest"
    ]


def test_a_file_that_is_called_latest_is_left_alone():
    run_file = new_run_file(None, "train.py", force=False)
    latest = a_recording(run_file.with_name("latest"))

    point_latest_at(run_file)

    assert not latest.is_symlink()
    assert latest.stat().st_size


@pytest.mark.parametrize("force", [False, True])
def test_the_name_of_the_link_to_the_newest_is_none_for_a_recording(force):
    with pytest.raises(UsageError, match="the link to the newest run"):
        new_run_file(Path(".rlprof/latest"), "train.py", force=force)


def test_a_named_file_in_the_folder_of_recordings_is_as_closed_as_others():
    file = new_run_file(Path(".rlprof/baseline.rlprof"), "train.py", force=False)

    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert {".gitignore", "CACHEDIR.TAG"} <= {entry.name for entry in file.parent.iterdir()}
