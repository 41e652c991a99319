from __future__ import annotations

import fcntl
import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from rlprof.cli.last_resort import say_in_time
from rlprof.cli.output import (
    check_output,
    hand_out,
    run_path,
    show,
    terminal_options,
    write_output,
)
from rlprof.errors import OutputError, UsageError
from tests.factories import a_run
from tests.run_files import write_run


def test_a_file_is_written_with_the_folders_it_needs(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "report.json"

    write_output(path, "café\n", force=False)

    assert path.read_bytes() == b"caf\xc3\xa9\n"
    assert stat.S_IMODE(path.stat().st_mode) & 0o044, "others may read it, as any file"
    assert list(path.parent.iterdir()) == [path]


def test_a_private_file_is_for_its_user_alone(tmp_path: Path) -> None:
    write_output(tmp_path / "page.html", "page", force=False, is_private=True)

    assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o600


def test_what_is_there_is_replaced_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "out.svg"
    path.write_text("old")

    with pytest.raises(UsageError, match="exists already"):
        write_output(path, "new", force=False)
    kept = path.read_text()
    write_output(path, "new", force=True)

    assert kept == "old"
    assert path.read_text() == "new"


def test_what_is_there_stays_by_whatever_way_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.rlprof"
    path.write_text("old")

    with pytest.raises(UsageError, match="exists already"):
        write_output(tmp_path / "missing" / ".." / "a.rlprof", "new", force=False)
    with pytest.raises(UsageError, match="is what the command is to read"):
        check_output(tmp_path / "missing" / ".." / "a.rlprof", force=True, reads=[path])

    assert path.read_text() == "old"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_what_replaces_a_file_is_as_open_to_others(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")
    path.chmod(mode)

    write_output(path, "new", force=True)

    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", mode)


def test_a_private_file_that_replaces_an_open_one_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")

    write_output(path, "page", force=True, is_private=True)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, who may give files away")
def test_what_replaces_a_file_is_its_owner_s(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")
    os.chown(path, 65534, 65534)

    write_output(path, "new", force=True)

    assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65534)


def test_a_path_that_cannot_be_looked_at_is_refused_when_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 300)

    check_output(path, force=False)
    with pytest.raises(OutputError, match="File name too long"):
        write_output(path, "new", force=False)


def test_no_document_takes_the_place_of_a_recording(tmp_path: Path) -> None:
    run_file, other = tmp_path / "a.rlprof", tmp_path / "b.rlprof"
    write_run(run_file, a_run().process().recording())
    recorded = run_file.read_bytes()
    other.write_bytes(recorded)

    for write in (check_output, partial(write_output, document="{}")):
        with pytest.raises(UsageError, match="is a recording: --force puts no document there"):
            write(run_file, force=True)

    assert run_file.read_bytes() == recorded
    write_output(other, recorded, force=True)
    (tmp_path / "c.rlprof").touch()
    write_output(tmp_path / "c.rlprof", "{}", force=True)


def test_a_place_that_takes_no_file_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    for path in (tmp_path / "file" / "out.json", tmp_path / "file" / "a" / "out.json"):
        with pytest.raises(OutputError, match="is no folder that takes files"):
            check_output(path, force=False)
    check_output(tmp_path / "new" / "folder" / "out.json", force=False)


def test_a_result_is_told_though_its_reader_has_gone(monkeypatch) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    with os.fdopen(theirs, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        show("the result\n" * 100_000)

        assert Path(f"/proc/self/fd/{theirs}").readlink() == Path(os.devnull)
        stream.flush()


def test_a_folder_is_no_output(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        write_output(tmp_path, "text", force=True)


def test_a_link_stays_and_the_file_behind_it_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "disk" / "report.json"
    link = tmp_path / "report.json"
    link.symlink_to("disk/report.json")

    write_output(link, "old", force=False)
    with pytest.raises(UsageError, match="exists already"):
        write_output(link, "new", force=False)
    inode = file.stat().st_ino
    write_output(link, "new", force=True)

    assert (link.is_symlink(), file.read_text()) == (True, "new")
    assert file.stat().st_ino != inode, "whole or not at all, as without a link"
    assert list(file.parent.iterdir()) == [file]


def test_links_that_lead_in_a_circle_are_refused_and_stay(tmp_path: Path) -> None:
    link = tmp_path / "out.json"
    link.symlink_to("out.json")

    with pytest.raises(OutputError, match="Too many levels"):
        write_output(link, "text", force=True)

    assert link.is_symlink()


@pytest.fixture
def stdout(tmp_path: Path) -> Iterator[Path]:
    """A link as ``/dev/stdout`` is one: to a stream that a shell has sent to the end of ``log``."""
    log = tmp_path / "log"
    log.write_text("before\n")
    number = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.set_inheritable(number, True)
    link = tmp_path / "dev" / "stdout"
    link.parent.mkdir()
    (tmp_path / "fd").symlink_to("/proc/self/fd")
    link.symlink_to(f"../fd/{number}")
    yield link
    os.close(number)


@pytest.mark.parametrize("force", [False, True])
def test_an_open_stream_is_written_into_and_its_link_stays(stdout: Path, *, force: bool) -> None:
    write_output(stdout, "text", force=force)

    assert stdout.is_symlink()
    assert stdout.read_text() == "before\ntext"


def test_a_stream_that_rlprof_has_opened_itself_is_no_output(tmp_path: Path) -> None:
    run_file = tmp_path / "run.rlprof"
    run_file.write_text("recorded")

    with run_file.open("r+b") as reading, pytest.raises(OutputError, match="Bad file descriptor"):
        write_output(Path(f"/dev/fd/{reading.fileno()}"), "text", force=True)

    assert run_file.read_text() == "recorded"


def test_a_stream_into_what_is_read_is_no_output(stdout: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is to read"):
        check_output(stdout, force=True, reads=[tmp_path / "log"])


def test_a_document_for_stdout_is_the_only_thing_there(
    stdout: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    hand_out("document\n", Path("/dev/stdout"), force=False)
    hand_out("document\n", stdout, force=False)

    assert capfd.readouterr().out == f"document\nwrote {stdout}\n"


def test_a_failure_leaves_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(OutputError) as caught:
        write_output(tmp_path / "file" / "out.svg", "text", force=False)

    assert str(tmp_path / "file" / "out.svg") in caught.value.message
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_text_that_cannot_be_encoded_leaves_the_old_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")

    with pytest.raises(UnicodeEncodeError):
        write_output(path, "half \udce9", force=True)

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_latest_run_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError, match="no run here yet"):
        run_path(None)
    (tmp_path / ".rlprof").mkdir()
    (tmp_path / ".rlprof" / "latest").write_text("run")

    assert run_path(None) == Path(".rlprof/latest")
    assert run_path(Path("other.rlprof")) == Path("other.rlprof")


@pytest.mark.parametrize("is_left", [True, False])
def test_where_the_latest_run_is_gone_the_newest_that_is_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_left: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path(".rlprof")
    folder.mkdir()
    for number, name in enumerate(("a.rlprof", "c.rlprof", "b.rlprof")):
        (folder / name).touch()
        os.utime(folder / name, (number, number))
    if is_left:
        (folder / "latest").symlink_to("removed.rlprof")

    with pytest.raises(UsageError) as caught:
        run_path(None)

    assert "the newest run here is .rlprof/b.rlprof" in caught.value.message
    assert ("removed.rlprof" in caught.value.message) == is_left
    assert "rlprof report .rlprof/b.rlprof" in caught.value.hint


def test_what_is_not_a_terminal_gets_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)

    assert terminal_options(io.StringIO()) == {"width": "80", "color": "never"}


def test_a_stream_of_a_poor_encoding_gets_what_it_can_take() -> None:
    raw = io.BytesIO()

    stream = io.TextIOWrapper(raw, encoding="ascii")

    show("90 % █ done", stream)

    assert raw.getvalue() == b"90 % ? done"


def test_a_pipe_is_written_into_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    write_output(pipe, "text", force=False)

    assert os.read(reader, 10) == b"text"
    assert pipe.is_fifo()
    os.close(reader)


@pytest.mark.skipif(
    not Path("/dev/full").is_char_device(), reason="needs /dev/full, as Linux has it"
)
def test_an_output_without_room_is_told() -> None:
    full = Path("/dev/full").open("w")  # noqa: SIM115 - closing it fails, too

    with pytest.raises(OutputError) as caught:
        show("text", full)

    assert "No space left" in caught.value.message
    with suppress(OSError):
        full.close()


def test_an_output_that_was_closed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)

    assert terminal_options(sys.stdout)["width"] == "80"
    with pytest.raises(OutputError, match="it is closed"):
        show("text")


@pytest.mark.parametrize("columns", ["abc", "99999999999", "9" * 5000])
def test_columns_that_no_terminal_has_are_ignored(
    columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)

    assert terminal_options(io.StringIO())["width"] == "80"


def test_a_line_that_nobody_takes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    room = fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ)
    with os.fdopen(reading, "rb") as pipe:
        with os.fdopen(writing, "w") as stream:
            monkeypatch.setattr(sys, "stderr", stream)

            say_in_time("é" * room, within_s=0.001)

            assert Path(f"/proc/self/fd/{writing}").readlink() != Path(os.devnull)
        taken = pipe.read()
    assert room // 2 < len(taken) <= room
    assert set(taken.decode()) == {"é"}
