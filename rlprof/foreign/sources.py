"""Source of the files that a foreign profile names, as they are on this machine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rlprof.foreign.sums import StackSums
from rlprof.model.recording import NO_PARENT, Note
from rlprof.recording.sources import read_sources
from rlprof.syntax.origin import Origin, origin_of_file


def sources_here(sums: StackSums, profile: Path) -> tuple[Mapping[str, str], tuple[Note, ...]]:
    """The text of the hot files that did not change since ``profile`` was written, and remarks on it."""
    written = profile.stat().st_mtime
    costs = [
        (file, us)
        for file, us in _file_costs(sums)
        # Nothing but Python: a profile may come from anybody, and name any file of yours.
        if file.endswith(".py") and file.startswith("/")
    ]
    as_recorded = [(file, us) for file, us in costs if not _is_newer(file, written)]
    changed = {file for file, _ in costs} - {file for file, _ in as_recorded}
    sources = read_sources(as_recorded, sums.total_us)
    mine = sorted(file for file in changed if origin_of_file(file) is Origin.YOURS)
    return sources, tuple(_notes(sources, mine))


def _file_costs(sums: StackSums) -> list[tuple[str, int]]:
    """(file, time in it or below), the dearest first."""
    total = [0] * len(sums.nodes)
    for (_, node), time in sums.times.items():
        total[node] += time.wall_us
    for node, parent, _ in reversed(sums.nodes):
        if parent != NO_PARENT:
            total[parent] += total[node]
    costs: dict[str, int] = defaultdict(int)
    for node, parent, frame in sums.nodes:
        # Calls within a file are in the outer call's time already.
        if frame.file and (parent == NO_PARENT or sums.nodes[parent].frame.file != frame.file):
            costs[frame.file] += total[node]
    return sorted(costs.items(), key=lambda item: (-item[1], item[0]))


def _is_newer(file: str, written: float) -> bool:
    try:
        return Path(file).stat().st_mtime > written
    except (OSError, ValueError):
        return False


def _notes(sources: Mapping[str, str], changed: Sequence[str]) -> Iterator[Note]:
    if any(origin_of_file(file) is Origin.YOURS for file in sources):
        yield Note(
            "info",
            "foreign-source",
            "Source lines are those of the files on this machine: the profile itself has none.",
        )
    if changed:
        yield Note(
            "warning",
            "foreign-source-changed",
            f"{len(changed)} of your files changed after the profile was written ({changed[0]}"
            f"{' and others' if len(changed) > 1 else ''}): their lines are not shown, and causes that "
            "only the source tells are not found.",
        )
