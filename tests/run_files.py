"""Write a recording to a run file, window by window, as the recorder does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rlprof.model.recording import Recording
from rlprof.runfile.writer import RunWriter


def write_run(path: Path, recording: Recording, *, finish: bool = True) -> RunWriter:
    """The writer, already closed unless ``finish`` is False."""
    run = replace(recording.run, wall_us=0, exit_code=None, complete=False)
    writer = RunWriter(path, run)
    for window in recording.windows:
        is_first = window.id == 0
        writer.write_window(
            window,
            samples=[row for row in recording.samples.rows() if row[0] == window.id],
            clocks=[clock for clock in recording.clocks if clock.window == window.id],
            counters=[counter for counter in recording.counters if counter.window == window.id],
            gauges=[gauge for gauge in recording.gauges if gauge.window == window.id],
            frames=[(n.id, n.frame) for n in recording.nodes] if is_first else [],
            nodes=[(n.id, n.parent, n.id) for n in recording.nodes] if is_first else [],
            processes=recording.processes,
            threads=recording.threads if is_first else [],
            memory=recording.memory if is_first else [],
        )
    for torch_window in recording.torch_windows:
        writer.write_torch_window(torch_window)
    writer.write_sync_sites(recording.sync_sites)
    writer.write_values(recording.values)
    writer.write_experiments(recording.experiments)
    writer.write_sources(recording.sources)
    writer.write_notes(recording.notes)
    if finish:
        writer.finish(
            wall_us=recording.run.wall_us,
            exit_code=recording.run.exit_code,
            processes=recording.processes,
            threads=recording.threads,
            overhead=recording.overhead,
        )
    return writer
