"""The place of each recording, and the one that commands take when none is named."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timezone
from itertools import count
from pathlib import Path
from typing import Final

from rlprof.cli.destination import descriptor_at, file_behind, is_recording
from rlprof.cli.output import LATEST
from rlprof.errors import OutputError, UsageError
from rlprof.recording.machine.descriptors import occupy_closed_streams
from rlprof.runfile.lock import is_locked_here, keep
from rlprof.runfile.schema import journals

FOLDER_MODE = 0o700
"""Of the folder of recordings: command lines and sources are their user's."""

_LEFT_OUT: Final = {
    ".gitignore": "*\n",
    "CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n# Recordings of rlprof: bford.info/cachedir\n",
}
"""Files by which git, and tar and backups where they are asked to, leave a folder out."""


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


def other_name(asked: Path | None, run_file: Path) -> str:
    """Say in a sentence why ``run_file`` is not the one that was ``asked`` for; empty where it is."""
    if asked is None or run_file in (asked, file_behind(asked)):
        return ""
    return f"{asked} is recorded into by another run, or may not be written: this run goes into {run_file}"


def give_back(run_file: Path) -> None:
    """Remove a file of :func:`new_run_file` into which nothing was recorded."""
    with suppress(OSError):
        if not run_file.stat().st_size:
            run_file.unlink()


def run_file_named(given: str) -> Path:
    """A path as it is; else the last run here with that label. Raises ``UsageError`` where there is neither."""
    if not given:
        raise UsageError(
            "the path of a run file is empty",
            slug="empty-path",
            hint="is a variable of the shell not set? Give a run file, or the label of a run",
        )
    path = Path(given)
    if path.exists() or path.suffix == ".rlprof":
        return path
    from rlprof.runfile.heads import labelled

    found = labelled(given, LATEST.parent)
    if not found:
        raise UsageError(
            f"there is no file {given}, and no run with that label in {LATEST.parent} "
            f"(from {Path.cwd()})",
            slug="no-run",
            hint="see `rlprof history` for the runs here and their labels",
        )
    return found[0]


def free_name(folder: Path, script: str, ending: str) -> Path:
    """A name in ``folder`` that nothing has yet, with the time and ``script`` in it."""
    return next(path for path in _dated_names(folder, script, ending) if not os.path.lexists(path))


def point_latest_at(run_file: Path) -> None:
    """Make ``run_file`` the one that commands take when none is named; at no moment is there none."""
    latest = run_file.with_name(LATEST.name)
    link = latest.with_name(f".{LATEST.name}-{os.urandom(8).hex()}")
    # Only a convenience: every command also takes the file's name.
    with suppress(OSError):
        if latest.exists() and not latest.is_symlink():
            return  # Somebody's file, a recording perhaps.
        link.symlink_to(run_file.name)
        try:
            link.replace(latest)
        except OSError:
            link.unlink(missing_ok=True)


def _default_names(script: str) -> Iterator[Path]:
    folder = LATEST.parent
    _make_our_folder(folder)
    yield from _dated_names(folder, script, ".rlprof")


def _dated_names(folder: Path, script: str, ending: str) -> Iterator[Path]:
    now = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S")
    stem = re.sub(r"[^\w.-]+", "_", script.removesuffix(".py"))[:60] or "run"
    yield folder / f"{now}-{stem}{ending}"
    for number in count(2):
        yield folder / f"{now}-{stem}-{number}{ending}"


def _named(path: Path, *, force: bool) -> Path:
    if path.name in ("", "-") or descriptor_at(path) is not None:
        raise UsageError(
            f"-o {path} names no file, and a run file cannot go to a pipe",
            slug="bad-run-file-name",
            hint="give a name: -o baseline.rlprof",
        )
    is_in_our_folder = path.absolute().parent.name == LATEST.parent.name
    if is_in_our_folder and path.name == LATEST.name:
        raise UsageError(
            f"-o {path} is the link to the newest run, which the next one would replace",
            slug="bad-run-file-name",
            hint="give another name: -o baseline.rlprof",
        )
    if is_in_our_folder:
        _make_our_folder(path.parent)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
    is_there = os.path.lexists(path)
    if is_there and not force:
        raise UsageError(
            f"{path} exists already",
            slug="output-exists",
            hint="choose another name, or overwrite it with --force",
        )
    if is_there and not is_recording(path, or_empty=True):
        raise UsageError(
            f"{path} is no run file, and --force replaces nothing else",
            slug="output-exists",
            hint="choose another name",
        )
    if is_there:
        # The link is not ours to remove, and journals lie beside the file.
        path = file_behind(path) if path.is_symlink() else path
        _make_room(path)
    # Where another run records, this one gets a name beside it.
    beside = (path.with_stem(f"{path.stem}-{number}") for number in count(2))
    return _first_free(name for names in ((path,), beside) for name in names)


def _first_free(names: Iterator[Path]) -> Path:
    """Make a file, and lock it until nothing more is recorded into it."""
    # The file must not become one of the target's streams, which are let go of.
    occupy_closed_streams()
    for path in names:
        try:
            fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            continue
        if is_locked_here(fd, path):
            keep(fd)
            return path
        os.close(fd)  # Another run was quicker.
    raise AssertionError("there is always a further name")


def _make_room(path: Path) -> None:
    """Remove what is there, unless another run records into it or it may not be written."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return
    try:
        if is_locked_here(fd, path):
            # The file last: until then nobody else makes one, whose journals these would be.
            for old in (*journals(path), path):
                old.unlink(missing_ok=True)
    finally:
        os.close(fd)


def _make_our_folder(folder: Path) -> None:
    """The folder is ours, and recordings are large and change: nobody means to commit them, or to save them with the code."""
    try:
        folder.mkdir(mode=FOLDER_MODE, parents=True)
    except FileExistsError:
        if not folder.is_dir():
            raise
        _refuse_a_strangers(folder)
        if folder.is_symlink() or not _holds_ours_alone(folder):
            return  # Whatever else is kept there is not to be left out of anything.
    for name, text in _LEFT_OUT.items():
        # Through no link: the folder may be somebody else's.
        with suppress(FileExistsError), (folder / name).open("x") as file:
            file.write(text)


def _refuse_a_strangers(folder: Path) -> None:
    """Raise ``OSError`` where somebody else put the folder there, or a link in its place, for us to write where he wants.

    Whoever owns the folder around it may have a folder in it, but no link, which leads out of it.
    """
    place = folder.lstat()
    trusted = {os.geteuid(), 0}
    if stat.S_ISLNK(place.st_mode):
        what = "it is a link that another user made"
    else:
        what = "the folder is another user's"
        trusted.add(folder.absolute().parent.stat().st_uid)
    if place.st_uid not in trusted:
        raise OSError(errno.EPERM, what, str(folder))


def _holds_ours_alone(folder: Path) -> bool:
    with os.scandir(folder) as entries:
        return all(
            entry.name in _LEFT_OUT
            or entry.name.lstrip(".").startswith(LATEST.name)
            or ".rlprof" in entry.name
            for entry in entries
        )
