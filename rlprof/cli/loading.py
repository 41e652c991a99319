"""The recording in a file that the user names: a run file, or a profile of another program."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rlprof.cli.formats import TextOrJson
from rlprof.errors import UsageError
from rlprof.inputs import open_input
from rlprof.runfile.schema import SQLITE_MAGIC

if TYPE_CHECKING:
    from rlprof.model.recording import Recording
    from rlprof.model.report import Report


class FileKind(Enum):
    RUN = "run"
    TRACE = "trace"
    FOREIGN = "foreign"


def kind_of(path: Path) -> FileKind:
    """Tell what ``path`` holds, by its content. What cannot be opened counts as a run file."""
    try:
        with open_input(path) as file:
            if file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC:
                return FileKind.RUN
    except OSError:
        return FileKind.RUN
    from rlprof.foreign.base import head_of
    from rlprof.foreign.reading import is_json

    return FileKind.TRACE if is_json(head_of(path)) else FileKind.FOREIGN


def read_recording(path: Path) -> Recording:
    """The recording in ``path``.

    Raises :class:`RunFileError` when there is none, :class:`UsageError` for a trace of
    torch.profiler, which is no recording of a run.
    """
    kind = kind_of(path)
    if kind is FileKind.RUN:
        from rlprof.runfile.reader import read_run

        return read_run(path)
    if kind is FileKind.TRACE:
        raise _is_a_trace(path)
    from rlprof.foreign.reading import read_foreign

    return read_foreign(path)


def load_report(path: Path, *, detailed: bool = False) -> Report:
    """Read and price what ``path`` holds; ``detailed`` as for ``build_report``."""
    from rlprof.report.build import build_report

    return build_report(read_recording(path), run_file=str(path), detailed=detailed)


def show_trace(path: Path, format_name: str, output: Path | None, *, force: bool) -> None:
    """The report of a trace is that of ``rlprof trace``.

    Raises :class:`UsageError` for a format that a trace alone has not.
    """
    from rlprof.cli.trace import trace

    if format_name not in (form.value for form in TextOrJson):
        raise _is_a_trace(path)
    typer.echo(f"{path} is JSON, so read as a trace: shown as `rlprof trace` does", err=True)
    trace(path, TextOrJson(format_name), output, force)


def _is_a_trace(path: Path) -> UsageError:
    return UsageError(
        f"{path} is JSON, as traces of torch.profiler are, and not the recording of a run",
        slug="is-a-trace",
        hint=f"see what a trace says with `rlprof trace {path}`, as text or with --format json",
    )
