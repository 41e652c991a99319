"""From what was found in a run to the detail that pages and exports are made from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from rlprof.model.detail import Detail, Excerpt, TorchTrace
from rlprof.model.finding import PricedFinding
from rlprof.model.recording import Node, Recording
from rlprof.report.findings import Found
from rlprof.report.series import time_series
from rlprof.report.slices import by_slice, cut_slices

LINES_AROUND: Final = 4
"""Of source, above and below the line that a finding names: a call with its loop, as a rule."""


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
        points_us=tuple((it.start_us, it.end_us) for it in at_pace.windows),
        series=time_series(at_pace, profile.throughput, profile.process_roles),
        excerpts=_excerpts(findings, recording.sources),
        steady_steps=profile.steady_steps,
        torch_traces=tuple(
            TorchTrace(recording.processes[it.process].pid, it.number, it.begun_us, it.trace)
            for it in at_pace.torch_windows
            if it.trace
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
