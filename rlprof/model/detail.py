"""A run in more detail than words need: what pages and exports are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rlprof.model.profile import PhaseKind
from rlprof.model.recording import Node, Samples, Thread


class Slice(NamedTuple):
    """A stretch of the run, in µs since its start. Slices tile the run, and none crosses the border of
    two phases.
    """

    start_us: int
    end_us: int
    phase: PhaseKind | None
    """None outside of all phases."""


class TimeSeries(NamedTuple):
    """One line of the timeline."""

    group: str
    """Group of lines drawn on one axis: ``rate``, ``cores``, ``memory`` or ``gpu``."""
    name: str
    """``sps``, a role, or the name of a GPU."""
    unit: str
    """``sps`` (or ``updates/s``), ``cores``, ``bytes`` or ``share`` (0 to 1)."""
    values: tuple[float | None, ...]
    """One for each point of the timeline; None where it was not measured."""


class Excerpt(NamedTuple):
    """Lines of a source file around one that a finding names."""

    first_line: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TorchTrace:
    """Trace of one window as torch's profiler exported it, for exports that join it to the rest."""

    pid: int
    number: int
    begun_us: int
    trace: bytes
    """Gzipped JSON in the format of Chrome's traces."""


@dataclass(frozen=True, slots=True)
class Detail:
    """The time of a run by moment, thread and stack. Times in µs.

    At the program's own pace, as everything in a report: what torch's profiler slowed is cut out.
    """

    slices: tuple[Slice, ...] = ()
    threads: tuple[Thread, ...] = ()
    """``process`` of a thread is its place in ``Report.processes``."""
    nodes: tuple[Node, ...] = ()
    """The calling-context tree that all threads share; a parent's id is smaller than its children's."""
    samples: Samples = field(default_factory=Samples)
    """Self times; its column ``window`` holds places in ``slices``. In order of slice, thread, node."""
    finding_nodes: tuple[tuple[int, frozenset[int]], ...] = ()
    """(rank, nodes) of the findings of which places in the tree are known: what the fix touches, else
    the lines that the finding names."""
    points_us: tuple[tuple[int, int], ...] = ()
    """(start, end) of each point of the timeline."""
    series: tuple[TimeSeries, ...] = ()
    excerpts: Mapping[tuple[str, int], Excerpt] = field(default_factory=dict)
    """Source around the lines that findings name, by (file, line)."""
    steady_steps: float = 0.0
    """Steps made in the steady phase; 0 when none were counted."""
    torch_traces: tuple[TorchTrace, ...] = ()
