"""The journals that SQLite makes beside a new run file: nobody else's, and nobody else's are lost for them."""

from __future__ import annotations

import os
from pathlib import Path
from stat import S_ISREG
from typing import Final

from rlprof.runfile.schema import journals

_OURS: Final = ".rlprof"
"""Ending of a run file whose journals an earlier run may have left."""

_BEGINNINGS: Final = (
    b"\x37\x7f\x06\x82",
    b"\x37\x7f\x06\x83",
    b"\xd9\xd5\x05\xf9",
    b"\x18\xe2\x2d\x00",
)
"""First bytes of SQLite's write-ahead log (by byte order), of its rollback journal, and of the log's index (sqlite.org/fileformat2.html, walformat.html)."""


def clear_journals(path: Path) -> None:
    """Remove what SQLite would take for the journals of a new file at ``path``, and write into: whoever made them may read them.

    Raises FileExistsError where one has content, unless that is what an earlier run of this name has left, and where one cannot be removed.
    """
    for journal in (*journals(path), path.with_name(f"{path.name}-journal")):
        try:
            is_kept = journal.is_file() and not journal.is_symlink() and not _is_left_over(journal)
            if not is_kept:
                journal.unlink(missing_ok=True)
        except OSError as error:
            raise _in_the_way(journal) from error
        if is_kept:
            raise _in_the_way(journal)


def expect_ours(journal: Path) -> None:
    """Raise FileExistsError if a journal that SQLite has just opened is somebody else's."""
    try:
        stat = journal.lstat()
    except FileNotFoundError:
        return  # A file system without shared memory: SQLite keeps another kind of journal.
    if stat.st_uid != os.geteuid() or not S_ISREG(stat.st_mode) or stat.st_nlink != 1:
        raise _in_the_way(journal)


def _is_left_over(journal: Path) -> bool:
    """Tell whether nothing is lost with it."""
    with journal.open("rb") as file:
        begins = file.read(4)
    return not begins or (_OURS in journal.suffix and begins in _BEGINNINGS)


def _in_the_way(journal: Path) -> FileExistsError:
    return FileExistsError(f"{journal.name} is in its way, and is not rlprof's to remove")
