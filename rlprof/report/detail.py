"""From what was found in a run to the detail that pages and exports are made from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from rlprof.model import gauges as names
from rlprof.model.detail import Detail, Excerpt, Slice, TimeSeries, TorchTrace
from rlprof.model.finding import PricedFinding
from rlprof.model.profile import Phase, Throughput
from rlprof.model.recording import Node, Recording, Samples, Window
from rlprof.report.findings import Found

LINES_AROUND: Final = 4
"""Lines of source, above and below the line that a finding names: a call with its loop, as a rule."""


def build_detail(recording: Recording, found: Found) -> Detail:
    """``recording`` is the run as recorded, ``found`` what was found in it."""
    at_pace, profile, priced = found.at_pace, found.profile, found.priced
    findings = (*priced.listed, *priced.also_seen)
    slices, slice_of = cut_slices(at_pace.windows, profile.phases)
    return Detail(
        slices=slices,
        threads=at_pace.threads,
        nodes=at_pace.nodes,
        samples=by_slice(at_pace, slice_of),
        finding_nodes=tuple(_finding_nodes(findings, at_pace.nodes)),
        points_us=tuple((window.start_us, window.end_us) for window in at_pace.windows),
        series=time_series(at_pace, profile.throughput, profile.process_roles),
        excerpts=_excerpts(findings, recording.sources),
        steady_steps=profile.steady_steps,
        torch_traces=tuple(
            TorchTrace(
                recording.processes[window.process].pid,
                window.number,
                window.begun_us,
                window.trace,
            )
            for window in at_pace.torch_windows
            if window.trace
        ),
    )


def _finding_nodes(
    findings: Iterable[PricedFinding], nodes: tuple[Node, ...]
) -> Iterator[tuple[int, frozenset[int]]]:
    by_line: dict[tuple[str, int], list[int]] = {}
    for node in nodes:
        by_line.setdefault((node.frame.file, node.frame.line), []).append(node.id)
    for priced in findings:
        finding = priced.finding
        touched = {node for saving in finding.savings for node in saving.nodes}
        if finding.remainder is not None:
            touched |= finding.remainder.nodes
        if not touched:
            for place in finding.locations:
                touched.update(by_line.get((place.file, place.line), ()))
        if touched:
            yield priced.rank, frozenset(touched)


def _excerpts(
    findings: Iterable[PricedFinding], sources: Mapping[str, str]
) -> dict[tuple[str, int], Excerpt]:
    split: dict[str, list[str]] = {}
    excerpts = {}
    for priced in findings:
        for place in priced.finding.locations:
            if place.file not in sources:
                continue
            if place.file not in split:
                split[place.file] = sources[place.file].splitlines()
            lines = split[place.file]
            if 1 <= place.line <= len(lines):
                first = max(1, place.line - LINES_AROUND)
                around = lines[first - 1 : place.line + LINES_AROUND]
                excerpts[place.file, place.line] = Excerpt(first, tuple(around))
    return excerpts


# --- slices of time: fewer than windows, and each within one phase --------------------------


MOST_SLICES: Final = 120
"""A range of time can be chosen to within a hundredth of the run, and what is stored for it stays
small however long the run."""


def cut_slices(
    windows: Sequence[Window], phases: Sequence[Phase], *, most: int = MOST_SLICES
) -> tuple[tuple[Slice, ...], tuple[int, ...]]:
    """The slices, and for each window the slice that it is in.

    A window belongs to the phase that its middle lies in. There may be a few more than ``most``:
    every change of phase begins a slice.
    """
    if not windows:
        return (), ()
    longest_us = (windows[-1].end_us - windows[0].start_us) / most
    slices: list[Slice] = []
    slice_of = []
    for phase, group in groupby(windows, key=lambda any_window: _phase_at(any_window, phases)):
        begun = False
        for window in group:
            last = slices[-1] if begun else None
            if last is not None and window.end_us - last.start_us <= longest_us:
                slices[-1] = last._replace(end_us=window.end_us)
            else:
                kind = phase.kind if phase is not None else None
                slices.append(Slice(window.start_us, window.end_us, kind))
                begun = True
            slice_of.append(len(slices) - 1)
    return tuple(slices), tuple(slice_of)


def by_slice(recording: Recording, slice_of: Sequence[int]) -> Samples:
    """The samples of ``recording`` with slices in place of windows, in order."""
    costs = recording.samples.summed(lambda window, thread, node: (slice_of[window], thread, node))
    merged = Samples()
    for key in sorted(costs):
        merged.add(*key, *costs[key])
    return merged


def _phase_at(window: Window, phases: Sequence[Phase]) -> Phase | None:
    middle = (window.start_us + window.end_us) / 2
    return next((phase for phase in phases if phase.start_us <= middle < phase.end_us), None)


# --- how a run went over time: its rate, CPUs and memory by role, and GPUs ------------------


def time_series(
    recording: Recording, throughput: Throughput, roles: Mapping[int, str]
) -> tuple[TimeSeries, ...]:
    """One value of each for every window of ``recording``; what was never measured is left out."""
    return (
        *_rate(recording, throughput),
        *_by_role(recording, roles, names.CPU_US, "cores"),
        *_by_role(recording, roles, names.RSS_BYTES, "memory"),
        *_gpus(recording),
    )


def _rate(recording: Recording, throughput: Throughput) -> Iterator[TimeSeries]:
    rates = {start: rate for start, _, rate in throughput.series}
    if rates:
        unit = "sps" if throughput.unit == "steps" else f"{throughput.unit}/s"
        values = tuple(rates.get(window.start_us) for window in recording.windows)
        yield TimeSeries("rate", unit, unit, values)


def _by_role(
    recording: Recording, roles: Mapping[int, str], gauge_name: str, group: str
) -> Iterator[TimeSeries]:
    """Levels of the processes of a role add up; amounts become cores: time per time."""
    sums: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for gauge in recording.gauges:
        if gauge.name == gauge_name:
            sums[roles[gauge.process]][gauge.window] += gauge.value
    unit = "cores" if group == "cores" else "bytes"
    for role, of_role in sorted(sums.items(), key=lambda pair: (-sum(pair[1].values()), pair[0])):
        per = [window.length_us if group == "cores" else 1 for window in recording.windows]
        values = (of_role[i] / per[i] if i in of_role and per[i] else None for i in range(len(per)))
        yield TimeSeries(group, role, unit, tuple(values))


def _gpus(recording: Recording) -> Iterator[TimeSeries]:
    found: dict[int, dict[int, float]] = defaultdict(dict)
    for gauge in recording.gauges:
        index = names.gpu_of(gauge.name)
        if index is not None and gauge.name == names.of_gpu(names.GPU_UTILISATION, index):
            found[index][gauge.window] = gauge.value
    for index, of_gpu in sorted(found.items()):
        values = tuple(of_gpu.get(window.id) for window in recording.windows)
        yield TimeSeries("gpu", f"GPU {index}", "share", values)
