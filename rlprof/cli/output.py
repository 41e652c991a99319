"""Files and text that a command hands to its user."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TextIO, TypeAlias

import typer

from rlprof.cli.destination import (
    descriptor_at,
    file_behind,
    is_one_file,
    is_own_stream,
    is_recording,
    write_into,
)
from rlprof.cli.last_resort import say_in_time
from rlprof.cli.streams import cannot_print, send_nowhere, tell_loss
from rlprof.errors import OutputError, UsageError
from rlprof.runfile.schema import is_head_of_run_file

if TYPE_CHECKING:
    from rlprof.documents.blocks import Block
    from rlprof.model.report import Report

LATEST: Final = Path(".rlprof/latest")
"""A link to the newest run file of this working directory."""

REPORT_S: Final = 0.5
"""For stderr to take more of the report: who has stopped reading holds up the end no longer."""

_STDOUT: Final = Path("/dev/stdout")


def dash_as_stdout(path: Path | None) -> Path | None:
    """``-`` is the standard output, as for other tools."""
    return _STDOUT if path == Path("-") else path


RunFile: TypeAlias = Annotated[
    Path | None,
    typer.Argument(
        metavar="[RUN]",
        help="Run file, or a profile by austin or py-spy. Without one: .rlprof/latest.",
    ),
]
OutputFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", callback=dash_as_stdout, help="Write to FILE instead."
    ),
]
NotTheTerminal: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        callback=dash_as_stdout,
        help="Write to FILE instead of the terminal; - is the standard output.",
    ),
]
Force: TypeAlias = Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")]

_MAX_WIDTH: Final = 110
"""Columns of a report at most, however wide the terminal: long lines are hard to read."""


def run_path(given: Path | None) -> Path:
    """The run file to read: ``given``, or the latest of this directory.

    Raises ``UsageError`` when there is no latest one.
    """
    if given is not None:
        return given
    if LATEST.exists():
        return LATEST
    newest = _newest_run()
    if newest is None:
        raise UsageError(
            f"there is no run here yet: {LATEST} does not exist in {Path.cwd()}",
            slug="no-run",
            hint="record one with `rlprof run train.py`, or name a run file",
        )
    is_gone = (
        f"leads to {LATEST.readlink()}, which is gone" if LATEST.is_symlink() else "is not there"
    )
    raise UsageError(
        f"{LATEST} {is_gone}; the newest run here is {newest}",
        slug="no-run",
        hint=f"name it, as in `rlprof report {newest}`; the next run that gets past its start becomes the latest",
    )


def _newest_run() -> Path | None:
    """The file that was written last, of those that no command takes by itself."""
    runs = [path for path in LATEST.parent.glob("*.rlprof") if path.is_file()]
    return max(runs, key=lambda path: (path.stat().st_mtime_ns, path.name), default=None)


def write_output(
    path: Path, document: str | bytes, *, force: bool, is_private: bool = False
) -> None:
    """Write ``document`` to ``path`` whole or not at all, making its folder; into a pipe, a device or an open
    stream (``/dev/stdout``) as it is. A link stays, and the file behind it gets the document.

    Others may read it as the umask says, for who names a file means to hand it on, or as they may read the file
    that it replaces; never where it ``is_private``.

    Raises ``UsageError`` when ``path`` exists and ``force`` is not set, ``OutputError``
    when it cannot be written; nothing half-written is left.
    """
    content = document.encode() if isinstance(document, str) else document
    check_output(path, force=force, is_run=is_head_of_run_file(content))
    try:
        descriptor = descriptor_at(path)
        if descriptor is not None and descriptor.is_own:
            # A reader that has gone has seen enough, as of what is printed.
            with suppress(BrokenPipeError):
                write_into(descriptor.number, content)
        elif descriptor is not None or _is_special(path):
            # Not replaced: /dev/null is everybody's.
            path.write_bytes(content)
        else:
            _replace(file_behind(path), content, is_private=is_private)
    except OSError as error:
        raise OutputError(
            f"cannot write {path}: {error.strerror or error}",
            slug="cannot-write",
            hint="choose another place, or make room and check the folder's permissions",
        ) from error


def _replace(path: Path, content: bytes, *, is_private: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # In the same folder, so that the rename cannot cross file systems.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:80]}-")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        _take_on(temporary, path, at_most=0o600 if is_private else 0o777)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _take_on(temporary: Path, path: Path, *, at_most: int) -> None:
    """Give ``temporary`` the owner and the mode of the file that it replaces, as if that had been written into.

    What is private stays its writer's. Where the group cannot be given, another one is not let in.
    """
    mode = 0o666 & ~_umask()
    with suppress(FileNotFoundError):
        replaced = path.stat()
        mode = replaced.st_mode & 0o777
        if at_most & 0o077:
            with suppress(OSError):
                os.chown(temporary, replaced.st_uid, replaced.st_gid)
        if temporary.stat().st_gid != replaced.st_gid:
            mode &= 0o707
    temporary.chmod(mode & at_most)


def hand_out(document: str | bytes, output: Path | None, *, force: bool) -> None:
    """Print ``document``, or write it to ``output`` and say so; raises what :func:`show` and :func:`write_output` raise."""
    if output is None:
        show(document)
        return
    write_output(output, document, force=force)
    tell_written(output)


def tell_written(output: Path, how_to_open: str = "") -> None:
    """Say where the document is, unless that is where the line itself would go."""
    if not is_stdout(output):
        typer.echo(f"wrote {output}{how_to_open}")


def is_stdout(output: Path) -> bool:
    """Tell whether what is written there comes out where we print."""
    with suppress(OSError):
        return os.path.samestat(output.stat(), os.fstat(1))
    return False


def check_output(
    path: Path, *, force: bool, reads: Iterable[str | Path] = (), is_run: bool = False
) -> None:
    """Raise ``UsageError`` when ``path`` cannot be meant as the output, ``OutputError`` when it cannot be made;
    cheap, so done before the work.

    No force replaces a file of those that the command ``reads`` or runs; other words may be among them. Nor a run file, which
    cannot be made again, by what is none.
    """
    mode = _mode(path)
    if mode is None:
        # Where it will be written: ``missing/../FILE`` may be there already.
        path = Path(os.path.realpath(path))
        mode = _mode(path)
    if mode is not None:
        if stat.S_ISDIR(mode):
            raise UsageError(
                f"{path} is a folder", slug="output-is-folder", hint="name a file inside it"
            )
        if stat.S_ISREG(mode) and any(is_one_file(path, read) for read in reads):
            raise UsageError(
                f"{path} is what the command is to read",
                slug="output-exists",
                hint="name another file to write",
            )
        if not stat.S_ISREG(mode) or is_own_stream(path):
            return
        is_kept = force and not is_run and is_recording(path)
        if force and not is_kept:
            return
        raise UsageError(
            f"{path} {'is a recording: --force puts no document there' if is_kept else 'exists already'}",
            slug="output-exists",
            hint="give another name" if is_kept else "give --force to replace it, or another name",
        )
    around = next(folder for folder in path.parents if _mode(folder) is not None)
    if not around.is_dir() or not os.access(around, os.W_OK | os.X_OK):
        raise OutputError(
            f"cannot write {path}: {around} is no folder that takes files",
            slug="cannot-write",
            hint="choose another place, or check the permissions of the folder",
        )


def _mode(path: Path) -> int | None:
    """The mode of what is there; None where nothing is, or it may not be looked at, and so not be written."""
    try:
        return path.stat().st_mode
    except OSError:
        return None


def _is_special(path: Path) -> bool:
    """Tell whether a pipe, a device or a socket is there."""
    mode = _mode(path)
    return mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def terminal_options(stream: TextIO | None) -> dict[str, str]:
    """Width and colour of the terminal report that suit ``stream``; what CI logs get has no colour."""
    if stream is None or not stream.isatty():
        from rlprof.documents.terminal import is_width

        wanted = os.environ.get("COLUMNS", "")
        return {"width": wanted if is_width(wanted) else "80", "color": "never"}
    try:
        # Where nobody has set its size (`docker exec -t`, expect) a terminal tells none.
        columns = os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        columns = 80
    colored = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return {
        "width": str(min(columns, _MAX_WIDTH)),
        "color": "always" if colored else "never",
    }


def in_words(
    blocks: Iterable[Block],
    stream: TextIO | None = None,
    *,
    to_file: bool = False,
    breaks_log: bool = True,
) -> str:
    """The text of ``blocks`` as it suits ``stream``, or a file; with ``breaks_log`` off no line is broken but on a terminal."""
    from rlprof.documents.terminal import as_text

    look = terminal_options(stream)
    if to_file:
        look = {"width": str(_MAX_WIDTH), "color": "never"}
    is_log = stream is None or not stream.isatty()
    width = None if is_log and not breaks_log else int(look["width"])
    return as_text(blocks, width=width, colored=look["color"] == "always")


def show(document: str | bytes, stream: TextIO | None = None) -> None:
    """Print a document; what the stream's encoding lacks is replaced rather than fatal.

    Raises ``UsageError`` for bytes that would go to a terminal, ``OutputError`` when nothing can be
    written; a reader that has seen enough is no error, and changes no exit code.
    """
    stream = stream or sys.stdout
    try:
        _print(document, stream)
    except OSError as error:
        send_nowhere(stream)
        tell_loss(error)


def show_in_time(report: Report) -> None:
    """Show the report of a training that has ended on stderr, as much as its reader takes."""
    from rlprof.renderers.terminal import RENDERER

    text = RENDERER.render(report, terminal_options(sys.stderr))
    assert isinstance(text, str)
    say_in_time(text, REPORT_S)


def say(text: str) -> None:
    """A line on how far something has come, or on what did not stop it, to stderr."""
    typer.echo(text, err=True)


def _print(document: str | bytes, stream: TextIO | None) -> None:
    if stream is None:
        # As after >&-.
        raise cannot_print("it is closed")
    if isinstance(document, bytes):
        if stream.isatty():
            raise UsageError(
                "this format is not text for a terminal",
                slug="binary-to-terminal",
                hint="name a file with -o, or send the output elsewhere",
            )
        stream.buffer.write(document)
    else:
        encoding = stream.encoding or "utf-8"
        stream.write(document.encode(encoding, "replace").decode(encoding))
    stream.flush()


def _umask() -> int:
    # The mask can only be read by setting it; commands are single-threaded here.
    mask = os.umask(0)
    os.umask(mask)
    return mask
