"""Run files as they are found: being written, left by a killed recorder, damaged, or made to do harm."""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from rlprof.errors import RunFileError
from rlprof.runfile import writer
from rlprof.runfile.heads import labelled
from rlprof.runfile.reader import read_run
from rlprof.runfile.schema import journals
from tests.factories import a_run
from tests.run_files import write_run

ROOT = Path(__file__).parents[3]

STORY = (
    a_run("train.py", steady_s=3)
    .process("main", steps=600)
    .spends(2.0, "train.py:9 <module>", "train.py:12 step")
    .note("warning", "lost-samples", "3 samples were lost")
    .recording()
)

WRITER = """
import os, sys
from pathlib import Path
from rlprof.model.recording import Window
from tests.run_files import write_run
from tests.unit.runfile.test_opening import STORY

writer = write_run(Path(sys.argv[1]), STORY, finish=False)
nothing = dict.fromkeys(
    ("samples", "clocks", "counters", "gauges", "frames", "nodes", "processes", "threads"), ()
)
number, at = len(STORY.windows), STORY.windows[-1].end_us
print("written", flush=True)
for line in sys.stdin:
    if line == "merge\\n":
        writer.merge_windows([range(number)])
        number = 1
    else:
        writer.write_window(Window(number, at, at + 1_000), **nothing)
        number, at = number + 1, at + 1_000
    print("written", flush=True)
os._exit(1)
"""


READER = """
import sys
from pathlib import Path
from rlprof.runfile.opening import opened

with opened(Path(sys.argv[1])) as reader:
    reader.version(Path(sys.argv[1]))
    print("reading", flush=True)
    sys.stdin.readline()
"""


class Writer:
    """A recorder in a process of its own: SQLite's locks are those of processes."""

    def __init__(self, run_file: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRITER, run_file],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._await()

    def does(self, what: str) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        stdin.write(f"{what}\n")
        stdin.flush()
        self._await()

    def is_killed(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _await(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        assert stdout.readline() == "written\n"


@pytest.fixture
def run_file(tmp_path) -> Path:
    folder = tmp_path / "runs"
    folder.mkdir()
    return folder / "run.rlprof"


@pytest.fixture
def killed(run_file) -> Path:
    """A run file whose content lies in its journal."""
    Writer(run_file).is_killed()
    assert journals(run_file)[0].stat().st_size > 10_000
    return run_file


def everything_in(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(folder.iterdir())
    }


def refusal(path: Path) -> str:
    with pytest.raises(RunFileError) as caught:
        read_run(path)
    return caught.value.slug


def is_read_or_refused(path: Path) -> bool:
    """Whether no more is told of it than was recorded."""
    try:
        recording = read_run(path)
    except RunFileError as error:
        return error.slug in ("run-file-damaged", "not-a-run-file")
    return not recording.run.complete and len(recording.windows) <= len(STORY.windows)


# While it is written, and after


def test_a_recording_is_read_while_it_goes_on(run_file):
    recorder = Writer(run_file)
    first = read_run(run_file)
    recorder.does("window")
    second = read_run(run_file)
    recorder.does("merge")
    merged = read_run(run_file)
    recorder.is_killed()

    assert len(first.windows) == len(STORY.windows)
    assert len(second.windows) == len(first.windows) + 1
    assert len(merged.windows) == 1
    assert not merged.run.complete
    # No length of the run is written before its end.
    assert [recording.run.wall_us for recording in (first, second, merged)] == [
        STORY.windows[-1].end_us,
        STORY.windows[-1].end_us + 1_000,
        STORY.windows[-1].end_us + 1_000,
    ]


def test_reading_beside_a_writer_changes_nothing(run_file):
    recorder = Writer(run_file)
    before = everything_in(run_file.parent)

    read_run(run_file)

    # The memory that they share says who reads.
    shared = journals(run_file)[1].name
    after = everything_in(run_file.parent)
    assert {**after, shared: None} == {**before, shared: None}
    recorder.is_killed()


@pytest.mark.parametrize("shared_memory", ["as it was left", "gone", "junk", "a link"])
def test_what_a_killed_recorder_left_is_read_and_stays_as_it_is(killed, shared_memory, tmp_path):
    _, shared = journals(killed)
    if shared_memory == "junk":
        shared.write_bytes(bytes(range(256)) * 128)
    elif shared_memory != "as it was left":
        shared.unlink()
    if shared_memory == "a link":
        (tmp_path / "precious").write_bytes(b"precious")
        shared.symlink_to(tmp_path / "precious")
    before = everything_in(killed.parent)

    recording = read_run(killed)

    assert len(recording.windows) == len(STORY.windows)
    assert everything_in(killed.parent) == before


def test_a_run_that_ends_while_somebody_reads_it_is_whole(run_file, monkeypatch):
    monkeypatch.setattr(writer, "_PATIENCE_S", 0.05)
    recorder = write_run(run_file, STORY, finish=False)
    with reading(run_file):
        recorder.finish(
            wall_us=STORY.run.wall_us,
            exit_code=7,
            processes=STORY.processes,
            threads=STORY.threads,
            overhead={},
        )

    recording = read_run(run_file)

    assert (recording.run.complete, recording.run.exit_code) == (True, 7)
    assert len(recording.windows) == len(STORY.windows)


@contextmanager
def reading(run_file: Path) -> Iterator[None]:
    """Another process has the file open."""
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, run_file],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert reader.stdout is not None
    assert reader.stdout.readline() == "reading\n"
    yield
    reader.communicate("done\n")


def test_a_link_to_a_run_leads_to_its_journal_too(killed):
    link = killed.with_name("latest")
    link.symlink_to(killed.name)

    assert len(read_run(link).windows) == len(STORY.windows)


def test_a_run_is_read_from_a_folder_with_a_path_that_is_too_long_for_sqlite(run_file, tmp_path):
    folder = tmp_path.joinpath(*["d" * 100] * 5)
    folder.mkdir(parents=True)
    write_run(run_file, STORY)

    moved = run_file.rename(folder / run_file.name)

    assert read_run(moved).windows == STORY.windows


def test_labels_are_found_in_runs_that_go_on(run_file):
    write_run(
        run_file, replace(STORY, run=replace(STORY.run, label="fast")), finish=False
    ).abandon()
    os.mkfifo(run_file.with_name("pipe.rlprof"))

    assert labelled("fast", run_file.parent) == [run_file]


# Damaged journals


@pytest.mark.parametrize(
    "at", [0, 4, 8, 16, 24, 31, 32, 40, 60, 4_200], ids=lambda at: f"byte {at}"
)
def test_a_journal_with_a_wrong_byte_is_read_up_to_it_or_refused(killed, at):
    wal, _ = journals(killed)
    content = bytearray(wal.read_bytes())
    content[at] ^= 0xFF
    wal.write_bytes(content)
    before = everything_in(killed.parent)

    assert is_read_or_refused(killed)
    assert everything_in(killed.parent) == before


@pytest.mark.parametrize("kept", [0, 7, 31, 32, 33, 56, 600, 4_152, 9_999, -1])
def test_a_journal_that_was_cut_is_read_up_to_there_or_refused(killed, kept):
    wal, _ = journals(killed)
    wal.write_bytes(wal.read_bytes()[:kept])

    assert is_read_or_refused(killed)


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_a_pipe_in_place_of_a_journal_holds_nobody_up(killed, suffix):
    beside = killed.with_name(killed.name + suffix)
    beside.unlink(missing_ok=True)
    os.mkfifo(beside)

    assert is_read_or_refused(killed)


def test_a_journal_of_another_file_beside_a_whole_one_is_left_alone(killed, tmp_path):
    whole = tmp_path / "whole.rlprof"
    write_run(whole, STORY)
    shutil.copy(journals(killed)[0], journals(whole)[0])
    before = everything_in(tmp_path / "runs")

    assert read_run(whole).run.complete
    assert everything_in(tmp_path / "runs") == before


# Made to do harm


@pytest.mark.parametrize(
    "added",
    [
        "CREATE VIEW more AS SELECT * FROM note",
        "DROP TABLE note; CREATE VIEW note AS SELECT 'info' AS level, 'a' AS slug, 'b' AS text",
        "CREATE TRIGGER again AFTER INSERT ON note BEGIN DELETE FROM note; END",
        "ALTER TABLE note ADD COLUMN twice TEXT GENERATED ALWAYS AS (text || text)",
        "CREATE VIRTUAL TABLE words USING fts5(text)",
        "CREATE TABLE other (a)",
        "CREATE INDEX upper ON note (upper(text))",
        "DROP TABLE note; CREATE TABLE note (level TEXT CHECK (level <> ''), slug TEXT, text TEXT)",
        "PRAGMA writable_schema=ON; INSERT INTO sqlite_master VALUES ('view', 'v', 'v', 0, "
        "'CREATE VIEW v AS SELECT 1')",
    ],
)
def test_what_a_recorder_does_not_make_is_refused(run_file, added):
    write_run(run_file, STORY)
    with closing(sqlite3.connect(run_file, isolation_level=None)) as db:
        db.executescript(added)

    assert refusal(run_file) == "run-file-foreign"


def with_a_tree_of_one_leaf(run_file: Path, levels: int) -> None:
    """Make the table of notes so that each of its pages has some hundred times the same child."""
    with closing(sqlite3.connect(run_file)) as db:
        ((root,),) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'note'")
        (page,) = db.execute("PRAGMA page_size").fetchone()
    content = bytearray(run_file.read_bytes())
    start = (root - 1) * page
    pages = [content[start : start + page]]
    count = len(content) // page
    for level in range(levels):
        child = count + level + 1
        cells = [struct.pack(">IB", child, number) for number in range(1, 121)]
        body = b"".join(cells)
        first = page - len(body)
        pointers = b"".join(struct.pack(">H", first + 5 * number) for number in range(len(cells)))
        head = struct.pack(">BHHHBI", 5, 0, len(cells), first, 0, child)
        pages.append(bytearray((head + pointers).ljust(first, b"\0") + body))
    leaf, *inner = pages
    content[start : start + page] = inner[-1]
    content += leaf + b"".join(inner[:-1])
    struct.pack_into(">I", content, 28, len(content) // page)
    run_file.write_bytes(content)


def test_a_tree_whose_pages_are_each_read_a_hundred_times_is_left_in_time(run_file):
    write_run(run_file, STORY)
    with_a_tree_of_one_leaf(run_file, levels=1)
    with closing(sqlite3.connect(run_file)) as db:
        assert len(db.execute("SELECT * FROM note").fetchall()) == 121

    # 121 to the power of 8 rows.
    with_a_tree_of_one_leaf(run_file, levels=7)

    assert refusal(run_file) == "run-file-damaged"
    with pytest.raises(RunFileError, match="more rows than bytes"):
        read_run(run_file)


def test_a_million_windows_are_refused(run_file):
    write_run(run_file, STORY)
    with closing(sqlite3.connect(run_file, isolation_level=None)) as db:
        db.execute(
            "WITH RECURSIVE n(i) AS (SELECT 7 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) "
            "INSERT OR REPLACE INTO window SELECT i, i * 1000000, (i + 1) * 1000000 FROM n"
        )

    with pytest.raises(RunFileError, match="windows"):
        read_run(run_file)


def test_a_text_of_lists_in_lists_is_refused(run_file):
    write_run(run_file, STORY)
    with closing(sqlite3.connect(run_file, isolation_level=None)) as db:
        db.execute("UPDATE meta SET value = ? WHERE key = 'run.host'", ("[" * 200_000,))

    assert refusal(run_file) == "run-file-damaged"


def test_a_file_beyond_any_length_is_refused_unread(run_file):
    write_run(run_file, STORY)
    os.truncate(run_file, 3 << 30)

    with pytest.raises(RunFileError, match="larger than 2"):
        read_run(run_file)
