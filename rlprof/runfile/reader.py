"""Read a run file back, whole or as far as a killed rlprof got."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, Final

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
    SeenValue,
    SyncSite,
    Thread,
    ThreadClock,
    TorchWindow,
    Window,
)
from rlprof.runfile.experiment_rows import read_experiments
from rlprof.runfile.integrity import check_integrity
from rlprof.runfile.opening import RunFileReader, opened
from rlprof.runfile.schema import SINCE_EXPERIMENTS, SINCE_MEMORY, SINCE_TORCH, SINCE_VALUES

_TOLD: Final = frozenset(
    field.name
    for field in fields(RunInfo)
    if field.default is MISSING and field.default_factory is MISSING
)
"""What every run file tells of its run."""


def read_run(path: Path) -> Recording:
    """The recording in ``path``.

    Raises :class:`RunFileError` when the file is missing, damaged, not a run file, or
    written by a newer rlprof.
    """
    try:
        with opened(path) as reader:
            recording = _up_to_its_end(_read(reader, reader.version(path)))
        check_integrity(recording)
        return recording
    except OSError as error:
        raise _damaged(path, error.strerror or error) from error
    except KeyError as error:
        raise _damaged(path, "it names a frame that is not in it") from error
    # A time of more than 64 bits overflows; a table in place of a text lacks its methods.
    except (sqlite3.Error, ValueError, TypeError, OverflowError, AttributeError) as error:
        raise _damaged(path, error) from error
    except RecursionError as error:
        raise _damaged(path, "a list in it nests too deeply") from error


def _damaged(path: Path, error: object) -> RunFileError:
    return RunFileError(
        f"the run file {path} is damaged: {error}",
        slug="run-file-damaged",
        hint="it may have been cut while copying; copy it again or record the run anew",
    )


def _read(reader: RunFileReader, version: int) -> Recording:
    meta = dict(reader.rows("SELECT key, value FROM meta"))
    frames = {
        number: Frame(file, function, line)
        for number, file, function, line in reader.rows(
            "SELECT id, file, function, line FROM frame"
        )
    }
    samples = Samples()
    for row in reader.rows("SELECT window, thread, node, wall_us, idle_us, cpu_us FROM sample"):
        samples.add(*row)
    return Recording(
        run=_run(meta, is_recorded_into=reader.is_recorded_into),
        processes=tuple(map(_process, reader.rows("SELECT * FROM process ORDER BY id"))),
        threads=tuple(
            Thread(number, process, tid, name, bool(is_main))
            for number, process, tid, name, is_main in reader.rows(
                "SELECT * FROM thread ORDER BY id"
            )
        ),
        nodes=tuple(
            Node(number, parent, frames[frame])
            for number, parent, frame in reader.rows(
                "SELECT id, parent, frame FROM node ORDER BY id"
            )
        ),
        windows=tuple(Window(*row) for row in reader.rows("SELECT * FROM window ORDER BY id")),
        samples=samples,
        clocks=tuple(map(ThreadClock._make, reader.rows("SELECT * FROM clock"))),
        counters=tuple(map(Counter._make, reader.rows("SELECT * FROM counter"))),
        gauges=tuple(map(Gauge._make, reader.rows("SELECT * FROM gauge"))),
        memory=_memory(reader) if version >= SINCE_MEMORY else (),
        torch_windows=_torch_windows(reader) if version >= SINCE_TORCH else (),
        sync_sites=_sync_sites(reader) if version >= SINCE_TORCH else (),
        values=_values(reader) if version >= SINCE_VALUES else (),
        experiments=read_experiments(reader) if version >= SINCE_EXPERIMENTS else (),
        sources=dict(reader.rows("SELECT file, text FROM source")),
        overhead=_parsed(meta.get("overhead", "{}"), "its overhead"),
        notes=tuple(Note(*row) for row in reader.rows("SELECT level, slug, text FROM note")),
    )


def _up_to_its_end(recording: Recording) -> Recording:
    """A recorder that was killed, or is at work, wrote no length of the run: it is known up to its last window."""
    run = recording.run
    if run.complete or not recording.windows:
        return recording
    wall_us = max(run.wall_us, recording.windows[-1].end_us)
    return replace(recording, run=replace(run, wall_us=wall_us))


def _memory(reader: RunFileReader) -> tuple[MemoryGrowth, ...]:
    return tuple(map(MemoryGrowth._make, reader.rows("SELECT * FROM memory")))


def _torch_windows(reader: RunFileReader) -> tuple[TorchWindow, ...]:
    rows = reader.rows("SELECT * FROM torch_window ORDER BY process, number")
    return tuple(TorchWindow(*row) for row in rows)


def _sync_sites(reader: RunFileReader) -> tuple[SyncSite, ...]:
    return tuple(map(SyncSite._make, reader.rows("SELECT * FROM sync_site ORDER BY rowid")))


def _values(reader: RunFileReader) -> tuple[SeenValue, ...]:
    return tuple(
        SeenValue._make((*rest, _parsed(text, "a value that was seen")))
        for *rest, text in reader.rows("SELECT * FROM value ORDER BY rowid")
    )


def _run(meta: dict[str, str], *, is_recorded_into: bool) -> RunInfo:
    names = {key: key.removeprefix("run.") for key in meta if key.startswith("run.")}
    values: dict[str, Any] = {
        name: _parsed(meta[key], f"its {name}") for key, name in names.items()
    }
    missing = _TOLD.difference(values)
    if "command" in missing:
        raise ValueError("it does not say which command was run")
    if missing:
        raise ValueError(f"it does not tell {', '.join(sorted(missing))} of the run")
    values["command"] = tuple(values["command"])
    # By now it may have been completed.
    values["is_live"] = is_recorded_into and not values["complete"]
    return RunInfo(**values)


def _parsed(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{what} is no JSON") from error


def _process(row: tuple[Any, ...]) -> Process:
    number, pid, ppid, argv, *rest = row
    return Process(number, pid, ppid, tuple(_parsed(argv, f"the command of process {pid}")), *rest)
