"""Read a run file back, whole or as far as a killed rlprof got."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from rlprof.errors import RunFileError
from rlprof.model.recording import (
    Counter,
    Frame,
    Gauge,
    MemoryGrowth,
    Node,
    Note,
    Process,
    Recording,
    RunInfo,
    Samples,
    SyncSite,
    Thread,
    ThreadClock,
    TorchWindow,
    Window,
)
from rlprof.runfile.integrity import check_integrity
from rlprof.runfile.schema import (
    APPLICATION_ID,
    SINCE_MEMORY,
    SINCE_TORCH,
    VERSION,
    journals,
)

_SQLITE_MAGIC = b"SQLite format 3\0"


def read_run(path: Path) -> Recording:
    """The recording in ``path``.

    Raises :class:`RunFileError` when the file is missing, damaged, not a run file, or
    written by a newer rlprof.
    """
    _check_is_sqlite(path)
    try:
        db = _open(path)
    except sqlite3.Error as error:
        raise _damaged(path, error) from error
    try:
        recording = _read(db, _check_version(db, path))
        check_integrity(recording)
        return recording
    # A time of more than 64 bits overflows; a table in place of a text lacks its methods.
    except (sqlite3.Error, ValueError, KeyError, TypeError, OverflowError, AttributeError) as error:
        raise _damaged(path, error) from error
    finally:
        db.close()


def _check_is_sqlite(path: Path) -> None:
    try:
        with path.open("rb") as file:
            start = file.read(len(_SQLITE_MAGIC))
    except OSError as error:
        raise RunFileError(
            f"cannot read the run file {path}: {error.strerror}",
            slug="run-file-missing",
            hint="record one with `rlprof run train.py`, or give the path of an existing one",
        ) from error
    if start != _SQLITE_MAGIC:
        raise _not_ours(path)


def _open(path: Path) -> sqlite3.Connection:
    uri = path.absolute().as_uri()
    # A journal beside the file means that rlprof is still recording, or was killed; SQLite
    # then needs the shared-memory file too, which a read-only folder does not let it make.
    wal, _ = journals(path)
    if wal.exists():
        try:
            db = sqlite3.connect(f"{uri}?mode=rw", uri=True)
            db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
            return db
        except sqlite3.OperationalError:
            return sqlite3.connect(f"{uri}?mode=ro", uri=True)
    return sqlite3.connect(f"{uri}?mode=ro&immutable=1", uri=True)


def _check_version(db: sqlite3.Connection, path: Path) -> int:
    """The version of the tables, one that this rlprof reads."""
    (application,) = db.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        raise _not_ours(path)
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise RunFileError(
            f"{path} is a run file of version {version}; this rlprof reads up to {VERSION}",
            slug="run-file-newer",
            hint="update rlprof: pip install -U rlprof",
        )
    return int(version)


def _not_ours(path: Path) -> RunFileError:
    return RunFileError(
        f"{path} is not a run file of rlprof",
        slug="not-a-run-file",
        hint="give a file that `rlprof run` wrote (*.rlprof)",
    )


def _damaged(path: Path, error: Exception) -> RunFileError:
    return RunFileError(
        f"the run file {path} is damaged: {error}",
        slug="run-file-damaged",
        hint="it may have been cut while copying; copy it again or record the run anew",
    )


def _read(db: sqlite3.Connection, version: int) -> Recording:
    meta = dict(db.execute("SELECT key, value FROM meta"))
    frames = {
        number: Frame(file, function, line)
        for number, file, function, line in db.execute("SELECT id, file, function, line FROM frame")
    }
    samples = Samples()
    for row in db.execute("SELECT window, thread, node, wall_us, idle_us, cpu_us FROM sample"):
        samples.add(*row)
    return Recording(
        run=_run(meta),
        processes=tuple(map(_process, db.execute("SELECT * FROM process ORDER BY id"))),
        threads=tuple(
            Thread(number, process, tid, name, bool(is_main))
            for number, process, tid, name, is_main in db.execute(
                "SELECT * FROM thread ORDER BY id"
            )
        ),
        nodes=tuple(
            Node(number, parent, frames[frame])
            for number, parent, frame in db.execute(
                "SELECT id, parent, frame FROM node ORDER BY id"
            )
        ),
        windows=tuple(Window(*row) for row in db.execute("SELECT * FROM window ORDER BY id")),
        samples=samples,
        clocks=tuple(map(ThreadClock._make, db.execute("SELECT * FROM clock"))),
        counters=tuple(map(Counter._make, db.execute("SELECT * FROM counter"))),
        gauges=tuple(map(Gauge._make, db.execute("SELECT * FROM gauge"))),
        memory=_memory(db) if version >= SINCE_MEMORY else (),
        torch_windows=_torch_windows(db) if version >= SINCE_TORCH else (),
        sync_sites=_sync_sites(db) if version >= SINCE_TORCH else (),
        sources=dict(db.execute("SELECT file, text FROM source")),
        overhead=json.loads(meta.get("overhead", "{}")),
        notes=tuple(Note(*row) for row in db.execute("SELECT level, slug, text FROM note")),
    )


def _memory(db: sqlite3.Connection) -> tuple[MemoryGrowth, ...]:
    return tuple(map(MemoryGrowth._make, db.execute("SELECT * FROM memory")))


def _torch_windows(db: sqlite3.Connection) -> tuple[TorchWindow, ...]:
    rows = db.execute("SELECT * FROM torch_window ORDER BY process, number")
    return tuple(TorchWindow(*row) for row in rows)


def _sync_sites(db: sqlite3.Connection) -> tuple[SyncSite, ...]:
    return tuple(map(SyncSite._make, db.execute("SELECT * FROM sync_site ORDER BY rowid")))


def _run(meta: dict[str, str]) -> RunInfo:
    values: dict[str, Any] = {
        key.removeprefix("run."): json.loads(value)
        for key, value in meta.items()
        if key.startswith("run.")
    }
    values["command"] = tuple(values["command"])
    return RunInfo(**values)


def _process(row: tuple[Any, ...]) -> Process:
    number, pid, ppid, argv, *rest = row
    return Process(number, pid, ppid, tuple(json.loads(argv)), *rest)
