"""Write a run file while the run goes on: window by window, safe against a crash."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import Final

from rlprof.errors import BusyError, OutputError
from rlprof.model.experiment import Experiment
from rlprof.model.gauges import HIGHEST, SUMMED
from rlprof.model.recording import (
    Counter,
    Frame,
    Gauge,
    MemoryGrowth,
    Note,
    Process,
    RunInfo,
    SeenValue,
    SyncSite,
    Thread,
    ThreadClock,
    TorchWindow,
    Window,
)
from rlprof.runfile.experiment_rows import replace_experiments
from rlprof.runfile.journals import clear_journals, expect_ours
from rlprof.runfile.lock import let_go
from rlprof.runfile.schema import (
    APPLICATION_ID,
    STATEMENTS,
    VERSION,
    is_too_long,
    journals,
)

SampleRow = tuple[int, int, int, int, int, int]
"""window, thread, node, wall_us, idle_us, cpu_us."""


_BUSY_S: Final = 0.05
"""Wait for another program that writes to the file, in seconds: to try again is the caller's decision."""
_PATIENCE_S: Final = 1.0
"""With readers, at the end of a run: reading takes some 10 ms."""

_ADD_MEMORY = """
    INSERT INTO memory VALUES (?,?,?,?) ON CONFLICT (thread, node) DO UPDATE SET
    grown_bytes = grown_bytes + excluded.grown_bytes,
    released_bytes = released_bytes + excluded.released_bytes
"""

_LENGTH = "(SELECT end_us - start_us FROM window WHERE window.id = gauge.window)"


def _among(names: Iterable[str]) -> str:
    return f"name IN ({','.join(repr(name) for name in sorted(names))})"


_MERGED_GAUGE = (
    f"CASE WHEN {_among(SUMMED)} THEN SUM(value) WHEN {_among(HIGHEST)} THEN MAX(value) "
    f"ELSE SUM(value * {_LENGTH}) / SUM({_LENGTH}) END"
)

_PROCESS_COLUMNS = tuple(field.name for field in fields(Process))
# Not asdict: it copies each value deeply, four times a second for every process.
_process_values = attrgetter(*_PROCESS_COLUMNS)
_torch_window_values = attrgetter(*(field.name for field in fields(TorchWindow)))


class RunWriter:
    """An open run file. Every method raises :class:`OutputError` when the file cannot be written, :class:`BusyError` while another
    program has locked it: nothing of that write is in it then, and it can be tried again.

    Until :meth:`finish` the file says that it is incomplete. Readers may look at any
    time (WAL); a killed writer leaves what it last committed.
    """

    def __init__(self, path: Path, run: RunInfo) -> None:
        """Begin the file, which is to be new or empty; nobody but its user may read it.

        Another run's recording at ``path`` is left as it is, and is an :class:`OutputError`; so is a journal of
        somebody else's beside it.
        """
        self.path = path
        self._run = run
        self._is_ours = False
        if is_too_long(path):
            raise OutputError(
                f"cannot write the run file {path}: the path of its folder is too long for SQLite",
                slug="run-file-not-written",
                hint="choose a place with a shorter path with -o RUN",
            )
        with self._reporting():
            if _is_new(path):
                clear_journals(path)
            # SQLite takes `file:a.db` for the address of another file, and `:memory:` for none.
            self._db = sqlite3.connect(path.absolute(), isolation_level=None, timeout=_BUSY_S)
        try:
            self._begin(run)
        except OutputError:
            self.discard()
            raise

    def _begin(self, run: RunInfo) -> None:
        with self._reporting():
            # The page size is part of the format's size: most runs are small. Nothing goes to TMPDIR,
            # which may be full where the run file's own disk is not.
            self._db.executescript("PRAGMA page_size=4096; PRAGMA temp_store=MEMORY;")
            with self._transaction("IMMEDIATE"):
                (version,) = self._db.execute("PRAGMA user_version").fetchone()
                if version:
                    raise FileExistsError("another run is recorded there")
                self._is_ours = True
                self._db.execute(f"PRAGMA application_id={APPLICATION_ID}")
                self._db.execute(f"PRAGMA user_version={VERSION}")
                for statement in STATEMENTS:
                    self._db.execute(statement)
                self._write_run(run)
            # A killed process loses nothing by this; only a power cut might.
            self._db.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;")
            # SQLite makes its journals when it next reads. Somebody may have been quicker, and nothing is written there yet.
            self._db.execute("SELECT key FROM meta").fetchone()
            for journal in journals(self.path):
                expect_ours(journal)

    def write_window(
        self,
        window: Window,
        *,
        samples: Iterable[SampleRow],
        clocks: Iterable[ThreadClock],
        counters: Iterable[Counter],
        gauges: Iterable[Gauge],
        frames: Sequence[tuple[int, Frame]],
        nodes: Sequence[tuple[int, int, int]],
        processes: Iterable[Process],
        threads: Iterable[Thread],
        memory: Iterable[MemoryGrowth] = (),
    ) -> None:
        """Commit one window and all that is new with it; ``nodes`` are (id, parent, frame id).

        ``memory`` is what was added in this window to the sums of the run.
        """
        with self._reporting(), self._transaction():
            many = self._db.executemany
            many("INSERT INTO window VALUES (?,?,?)", [(window.id, window.start_us, window.end_us)])
            many(
                "INSERT INTO frame VALUES (?,?,?,?)",
                [(i, frame.file, frame.function, frame.line) for i, frame in frames],
            )
            many("INSERT INTO node VALUES (?,?,?)", nodes)
            self._write_processes(processes)
            self._write_threads(threads)
            many("INSERT INTO sample VALUES (?,?,?,?,?,?)", samples)
            many("INSERT INTO clock VALUES (?,?,?,?,?,?,?)", clocks)
            many("INSERT INTO counter VALUES (?,?,?,?)", counters)
            many("INSERT INTO gauge VALUES (?,?,?,?)", gauges)
            many(_ADD_MEMORY, memory)

    def write_torch_window(self, window: TorchWindow) -> None:
        """Commit a window of torch's profiler, its trace included."""
        with self._reporting(), self._transaction():
            self._db.execute(
                "INSERT INTO torch_window VALUES (?,?,?,?,?,?,?,?)",
                _torch_window_values(window),
            )

    def write_sync_sites(self, sites: Sequence[SyncSite]) -> None:
        """Commit the sites of some processes, in place of those written of these before."""
        with self._reporting(), self._transaction():
            self._db.executemany(
                "DELETE FROM sync_site WHERE process = ?", {(site.process,) for site in sites}
            )
            self._db.executemany("INSERT INTO sync_site VALUES (?,?,?,?,?,?,?,?,?)", sites)

    def write_values(self, values: Sequence[SeenValue]) -> None:
        """Commit all values seen so far, in place of those written before."""
        with self._reporting(), self._transaction():
            self._db.execute("DELETE FROM value")
            self._db.executemany(
                "INSERT INTO value VALUES (?,?,?,?,?,?,?,?,?)",
                [(*value[:-1], json.dumps(value.fields)) for value in values],
            )

    def write_experiments(self, experiments: Sequence[Experiment]) -> None:
        """Commit all experiments that have ended so far, in place of those written before."""
        with self._reporting(), self._transaction():
            replace_experiments(self._db, experiments)

    def merge_windows(self, groups: Sequence[Sequence[int]]) -> None:
        """Merge each group of neighbouring windows into one; group ``i`` becomes window ``i``.

        ``groups`` covers every window, in order. Times and counts add up; of gauges
        ``model/gauges.py`` tells which add up, keep the highest, or the mean by length.
        """
        with self._reporting(), self._transaction():
            db = self._db
            db.execute("CREATE TEMP TABLE merged (old INTEGER PRIMARY KEY, new INTEGER NOT NULL)")
            db.executemany(
                "INSERT INTO merged VALUES (?,?)",
                [(old, new) for new, group in enumerate(groups) for old in group],
            )
            sums = "SUM(wall_us), SUM(idle_us)"
            # Before their windows, whose lengths weigh them.
            self._regroup("gauge", f"new, process, name, {_MERGED_GAUGE}", "new, process, name")
            self._regroup("window", "new, MIN(start_us), MAX(end_us)", "new", key="id")
            self._regroup("sample", f"new, thread, node, {sums}, SUM(cpu_us)", "new, thread, node")
            self._regroup(
                "clock",
                f"new, thread, {sums}, SUM(invalid_us), SUM(on_cpu_us), SUM(run_queue_us)",
                "new, thread",
            )
            self._regroup("counter", "new, process, name, SUM(value)", "new, process, name")
            db.execute("DROP TABLE merged")

    def sample_rows(self) -> int:
        with self._reporting():
            (count,) = self._db.execute("SELECT COUNT(*) FROM sample").fetchone()
            return int(count)

    def file_costs(self) -> list[tuple[str, int]]:
        """Each file that frames name, with the inclusive wall time of its lines (µs), heaviest first.

        A file is counted once per stack, however often it occurs there.
        """
        with self._reporting():
            return list(
                self._db.execute(
                    """
                    WITH RECURSIVE self_cost(node, wall) AS (
                        SELECT node, SUM(wall_us) FROM sample GROUP BY node
                    ), up(leaf, node) AS (
                        SELECT node, node FROM self_cost
                        UNION SELECT up.leaf, node.parent FROM up JOIN node ON node.id = up.node
                        WHERE node.parent >= 0
                    ), named(leaf, file) AS (
                        SELECT DISTINCT up.leaf, frame.file FROM up
                        JOIN node ON node.id = up.node JOIN frame ON frame.id = node.frame
                    )
                    SELECT file, SUM(wall) AS cost FROM named JOIN self_cost ON node = leaf
                    WHERE file <> '' GROUP BY file ORDER BY cost DESC, file
                    """
                )
            )

    def write_sources(self, sources: Mapping[str, str]) -> None:
        with self._reporting(), self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO source VALUES (?,?)", sources.items())

    def write_notes(self, notes: Iterable[Note]) -> None:
        with self._reporting(), self._transaction():
            rows = [(note.level, note.slug, note.text) for note in notes]
            self._db.executemany("INSERT INTO note VALUES (?,?,?)", rows)

    def finish(
        self,
        *,
        wall_us: int,
        exit_code: int | None,
        told_to_end_us: int | None = None,
        processes: Iterable[Process],
        threads: Iterable[Thread],
        overhead: Mapping[str, float],
    ) -> None:
        """Complete the file: one file, no journal beside it, nothing unused inside."""
        run = replace(
            self._run,
            wall_us=wall_us,
            exit_code=exit_code,
            told_to_end_us=told_to_end_us,
            complete=True,
        )
        with self._reporting():
            with self._transaction():
                self._write_processes(processes)
                self._write_threads(threads)
                self._write_meta({"overhead": json.dumps(overhead)})
                self._write_run(run)
            # Smaller only; a file that cannot be made so is whole all the same.
            with suppress(sqlite3.Error):
                self._db.execute("VACUUM")
            self._fold_in_journal()
            self._db.close()

    def _fold_in_journal(self) -> None:
        """Leave one file. Beside somebody who reads it, and goes on reading, it is whole with its journal alone."""
        until = time.monotonic() + _PATIENCE_S
        while True:
            try:
                self._db.execute("PRAGMA journal_mode=DELETE")
                return
            except sqlite3.OperationalError:
                if time.monotonic() >= until:
                    return
                time.sleep(0.02)

    def abandon(self) -> None:
        """Close without completing; what was committed stays readable."""
        # Closing is all that is left to do; the file is as the last commit left it.
        with suppress(sqlite3.Error):
            self._db.close()
        let_go(self.path)

    def discard(self) -> None:
        """Close and remove the file, if it is ours: nothing was recorded."""
        self.abandon()
        if not self._is_ours:
            return
        for file in (self.path, *journals(self.path)):
            with suppress(OSError):  # What is somebody else's, or no file, stays.
                file.unlink()

    def _regroup(self, table: str, columns: str, group: str, key: str = "window") -> None:
        db = self._db
        db.execute(
            f"CREATE TEMP TABLE regrouped AS SELECT {columns} FROM {table} "
            f"JOIN merged ON merged.old = {table}.{key} GROUP BY {group} ORDER BY {group}"
        )
        db.execute(f"DELETE FROM {table}")
        db.execute(f"INSERT INTO {table} SELECT * FROM regrouped")
        db.execute("DROP TABLE regrouped")

    def _write_run(self, run: RunInfo) -> None:
        told = {key: value for key, value in asdict(run).items() if key != "is_live"}
        self._write_meta({f"run.{key}": json.dumps(value) for key, value in told.items()})

    def _write_meta(self, values: Mapping[str, str]) -> None:
        self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?,?)", values.items())

    def _write_processes(self, processes: Iterable[Process]) -> None:
        rows = [
            [
                json.dumps(value) if name == "argv" else value
                for name, value in zip(_PROCESS_COLUMNS, _process_values(process), strict=True)
            ]
            for process in processes
        ]
        marks = ",".join("?" * len(_PROCESS_COLUMNS))
        self._db.executemany(f"INSERT OR REPLACE INTO process VALUES ({marks})", rows)

    def _write_threads(self, threads: Iterable[Thread]) -> None:
        rows = [(t.id, t.process, t.tid, t.name, t.is_main) for t in threads]
        self._db.executemany("INSERT OR REPLACE INTO thread VALUES (?,?,?,?,?)", rows)

    @contextmanager
    def _transaction(self, kind: str = "DEFERRED") -> Iterator[None]:
        self._db.execute(f"BEGIN {kind}")
        try:
            yield
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            is_busy = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
            raise (BusyError if is_busy else OutputError)(
                f"cannot write the run file {self.path}: {error}",
                slug="run-file-not-written",
                hint="check that the folder exists, may be written and has free space, "
                "or choose another with -o RUN",
            ) from error


def _is_new(path: Path) -> bool:
    """Make the file, unless it is there; True if nothing is in it."""
    fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        return os.fstat(fd).st_size == 0
    finally:
        os.close(fd)
