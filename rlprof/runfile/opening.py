"""Open a run file for reading: it is never changed, and costs no more than its length allows, whatever is in it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from rlprof.errors import RunFileError
from rlprof.inputs import open_input
from rlprof.names import printable
from rlprof.runfile.lock import is_recorded_into
from rlprof.runfile.schema import (
    APPLICATION_ID,
    SQLITE_MAGIC,
    STATEMENTS,
    VERSION,
    is_too_long,
    journals,
)
from rlprof.units import size

MOST_BYTES: Final = 2 << 30
"""Largest run file that is read; those of long runs have some 10 MB, with traces of torch some 100."""

_READ_VERSION_AT: Final = 19
_BY_WAL: Final = b"\2"
"""The read version of a file whose newest content may lie in its journal."""

_WAL_HEAD: Final = struct.Struct(">III")
"""Magic number, version and size of a page."""
_WAL_MAGIC: Final = (0x377F0682, 0x377F0683)
_PAGE_SIZES: Final = frozenset(1 << power for power in range(9, 17))
_LEAST_WAL: Final = 32 + 24 + 512
"""Its head, and a frame with the smallest page."""

_MEANWHILE: Final = 16 << 20
"""Bytes that a recorder may add between a look at the length of its file and the moment that is read."""

_LONGEST_VALUE: Final = 64 << 20
"""Bytes; a trace of 256 MiB, the longest that is kept, is packed into some 20."""
_ROWS_AT_ONCE: Final = 64
_NUMBERS: Final = frozenset({int, float, type(None)})

_OPERATIONS_A_CALL: Final = 100_000
"""Operations of SQLite's machine, between two looks at how many were made."""
_OPERATIONS_A_BYTE: Final = 2
"""Reading a row takes one for each column and two more, and no row is shorter than that."""


class RunFileReader:
    """The tables of an open run file, as they were at one moment.

    A file can be made so that its few pages are read over and over as ever new rows. None holds more
    than its bytes, so that is what may be read of it.
    """

    def __init__(self, db: sqlite3.Connection, file_bytes: int, *, is_recorded_into: bool) -> None:
        self.is_recorded_into = is_recorded_into
        """True if a recorder was at work when the file was opened."""
        self._db = db
        self._bytes_left = file_bytes
        self._calls_left = 1 + _OPERATIONS_A_BYTE * file_bytes // _OPERATIONS_A_CALL

    def rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        """Yield what ``query`` selects.

        Raises ``ValueError`` for a file made to be read without end, ``sqlite3.Error`` for a damaged one.
        """
        try:
            cursor = self._db.execute(query)
            while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                for column in zip(*rows, strict=True):
                    if not _NUMBERS.issuperset(map(type, column)):
                        self._take(column)
                yield from rows
        except sqlite3.OperationalError as error:
            raise _endless() if self._calls_left < 0 else error from error

    def _take(self, column: tuple[Any, ...]) -> None:
        self._bytes_left -= sum(len(value) for value in column if isinstance(value, (str, bytes)))
        if self._bytes_left < 0:
            raise _endless()

    def version(self, path: Path) -> int:
        """The version of the file's tables, one that this rlprof reads.

        Raises :class:`RunFileError` for another, or for what a recorder has not made.
        """
        self._db.set_progress_handler(self._is_spent, _OPERATIONS_A_CALL)
        ((application,),) = self.rows("PRAGMA application_id")
        if application != APPLICATION_ID:
            raise not_a_run_file(path)
        ((version,),) = self.rows("PRAGMA user_version")
        if version > VERSION:
            raise RunFileError(
                f"{path} is a run file of version {version}; this rlprof reads up to {VERSION}",
                slug="run-file-newer",
                hint="update rlprof: pip install -U rlprof",
            )
        # Views, triggers, generated columns and virtual tables are code of whoever made the file.
        for name, sql in self.rows("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"):
            if sql not in STATEMENTS:
                raise _foreign(path, name)
        return int(version)

    def _is_spent(self) -> bool:
        self._calls_left -= 1
        return self._calls_left < 0


@contextmanager
def opened(path: Path) -> Iterator[RunFileReader]:
    """The run file at ``path``, even while it is written.

    Raises :class:`RunFileError` when it is missing, too large or no SQLite file, ``sqlite3.Error`` when it is
    damaged.
    """
    try:
        # Before its links are followed: that of a pipe (/dev/stdin) leads to no path.
        with open_input(path) as file:
            head = file.read(_READ_VERSION_AT + 1)
            length = file.seek(0, os.SEEK_END)
            is_live = is_recorded_into(file.fileno())
        # SQLite looks for the journal beside the file itself, not beside a link to it.
        place = path.resolve(strict=True)
        wal, _ = journals(place)
        wal_length = _length_of_wal(wal) if head[_READ_VERSION_AT:] == _BY_WAL else 0
    # A link to itself is a RuntimeError.
    except (OSError, RuntimeError) as error:
        raise cannot_read(path, error) from error
    if not head.startswith(SQLITE_MAGIC):
        raise not_a_run_file(path)
    if length + wal_length > MOST_BYTES:
        raise RunFileError(
            f"the run file {path} is larger than {size(MOST_BYTES)}",
            slug="run-file-damaged",
            hint="no recorder writes such a file; record the run anew",
        )
    if not is_too_long(place):
        connected = _with_its_journal(place) if wal_length else _alone(place)
    else:
        connected = _copied(place, with_journal=wal_length > 0)
    with connected as db:
        # What the file says of itself is not to be run.
        for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0"):
            db.execute(f"PRAGMA {pragma}")
        if sys.version_info >= (3, 11):
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        # All tables as of one moment: a writer may go on.
        db.execute("BEGIN")
        most_bytes = length + wal_length + (_MEANWHILE if wal_length else 0)
        yield RunFileReader(db, most_bytes, is_recorded_into=is_live)


def _length_of_wal(wal: Path) -> int:
    """The length of a journal that has something to tell; else 0. SQLite waits for 10 s where its head is no head."""
    if not _is_file(wal):
        return 0
    with open_input(wal) as file:
        head = file.read(_WAL_HEAD.size)
        length = file.seek(0, os.SEEK_END)
    if length < _LEAST_WAL:
        return 0
    magic, _, page = _WAL_HEAD.unpack(head)
    return length if magic in _WAL_MAGIC and page in _PAGE_SIZES else 0


def _alone(place: Path) -> AbstractContextManager[sqlite3.Connection]:
    """A file that is all there is: no lock is taken, and no journal looked for."""
    return closing(_connect(f"{place.as_uri()}?mode=ro&immutable=1"))


def _with_its_journal(place: Path) -> AbstractContextManager[sqlite3.Connection]:
    """A file of a recorder at work, or of one that was killed."""
    _, shared_memory = journals(place)
    # A recorder has made its shared memory, and no journal of the other kind, which SQLite would look into.
    if _is_file(shared_memory) and not os.path.lexists(f"{place}-journal"):
        # Read alone, it is never made or changed, and not trusted without a writer.
        return closing(_connect(f"{place.as_uri()}?mode=ro&readonly_shm=1"))
    return _copied(place, with_journal=True)


@contextmanager
def _copied(place: Path, *, with_journal: bool) -> Iterator[sqlite3.Connection]:
    """A copy, in a place where SQLite may write."""
    with TemporaryDirectory(prefix="rlprof-") as folder:
        copy = Path(folder) / "copy"
        pairs = ((place, copy), (journals(place)[0], journals(copy)[0]))
        for file, to in pairs if with_journal else pairs[:1]:
            with open_input(file) as source, to.open("wb") as target:
                shutil.copyfileobj(source, target)
        with closing(_connect(f"{copy.as_uri()}?mode=rw")) as db:
            yield db


def _is_file(path: Path) -> bool:
    """Tell whether a file is there and no link: SQLite makes none."""
    return path.is_file() and not path.is_symlink()


def _connect(address: str) -> sqlite3.Connection:
    return sqlite3.connect(address, uri=True, isolation_level=None)


def cannot_read(path: Path, error: Exception) -> RunFileError:
    return RunFileError(
        f"cannot read the run file {path}: {getattr(error, 'strerror', None) or error}",
        slug="run-file-missing",
        hint="record one with `rlprof run train.py`, or give the path of an existing one",
    )


def not_a_run_file(path: Path) -> RunFileError:
    return RunFileError(
        f"{path} is not a run file of rlprof",
        slug="not-a-run-file",
        hint="give a file that `rlprof run` wrote (*.rlprof)",
    )


def _foreign(path: Path, name: object) -> RunFileError:
    return RunFileError(
        f"{path} has {printable(str(name))!r} in it, which rlprof did not put there",
        slug="run-file-foreign",
        hint="if you added it yourself, drop it from the file (DROP VIEW, DROP TRIGGER, DROP INDEX); else do "
        "not trust the file",
    )


def _endless() -> ValueError:
    return ValueError("it holds more rows than bytes")
