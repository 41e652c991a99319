"""The place of each recording, and the one that commands take when none is named."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import datetime, timezone
from itertools import count
from pathlib import Path

from rlprof.cli.output import LATEST
from rlprof.errors import OutputError, UsageError
from rlprof.runfile.schema import journals

FOLDER_MODE = 0o700
"""Of the folder of recordings: command lines and sources are their user's."""


def new_run_file(output: Path | None, script: str, *, force: bool) -> Path:
    """Make the empty file to record into: ``output``, else one with a free name for ``script``.

    It is this run's alone, however many begin at once. Raises ``UsageError`` when ``output`` is there and
    ``force`` is not set, ``OutputError`` when nothing can be written there.
    """
    try:
        if output is None:
            return _first_free(_default_names(script))
        return _named(output, force=force)
    except OSError as error:
        path = error.filename or output or LATEST.parent
        raise OutputError(
            f"cannot write the run file {path}: {error.strerror}",
            slug="run-file-not-written",
            hint="choose another place with -o RUN",
        ) from error


def give_back(run_file: Path) -> None:
    """Remove a file of :func:`new_run_file` into which nothing was recorded."""
    with suppress(OSError):
        if not run_file.stat().st_size:
            run_file.unlink()


def point_latest_at(run_file: Path) -> None:
    """Make ``run_file`` the one that commands take when none is named; at no moment is there none."""
    latest = run_file.with_name(LATEST.name)
    link = latest.with_name(f".{LATEST.name}-{secrets.token_hex(8)}")
    # Only a convenience: every command also takes the file's name.
    with suppress(OSError):
        link.symlink_to(run_file.name)
        try:
            link.replace(latest)
        except OSError:
            link.unlink(missing_ok=True)


def _default_names(script: str) -> Iterator[Path]:
    folder = LATEST.parent
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    _keep_out_of_git(folder)
    now = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S")
    stem = re.sub(r"[^\w.-]+", "_", script.removesuffix(".py"))[:60] or "run"
    yield folder / f"{now}-{stem}.rlprof"
    for number in count(2):
        yield folder / f"{now}-{stem}-{number}.rlprof"


def _named(path: Path, *, force: bool) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    is_there = os.path.lexists(path)
    if is_there and not force:
        raise UsageError(
            f"{path} exists already",
            slug="output-exists",
            hint="choose another name, or overwrite it with --force",
        )
    if is_there and not path.is_file():
        raise UsageError(
            f"{path} is no regular file", slug="output-exists", hint="choose another name"
        )
    if is_there and not _is_being_recorded(path):
        for old in (path, *journals(path)):
            old.unlink(missing_ok=True)
    # Where another run records, this one gets a name beside it.
    beside = (path.with_stem(f"{path.stem}-{number}") for number in count(2))
    return _first_free(name for names in ((path,), beside) for name in names)


def _first_free(names: Iterator[Path]) -> Path:
    for path in names:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            continue
        return path
    raise AssertionError("there is always a further name")


def _is_being_recorded(path: Path) -> bool:
    """Tell whether another rlprof has the file open: then its journal cannot be ended."""
    if not any(journal.exists() for journal in journals(path)):
        return False
    import sqlite3

    try:
        with closing(sqlite3.connect(path, timeout=0)) as db:
            db.execute("PRAGMA journal_mode=DELETE").fetchone()
    except sqlite3.OperationalError as error:
        return "locked" in str(error)
    except sqlite3.Error:
        pass  # Damaged, so nobody's.
    return False


def _keep_out_of_git(folder: Path) -> None:
    """The folder is ours, and recordings are large: nobody means to commit them."""
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")
