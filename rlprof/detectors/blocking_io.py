"""Files read, written and synced, and servers asked, while the training waits."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from rlprof.calibration import calibrated
from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.disk_io import find_file_access
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import PhaseKind, Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.profile.components import ENVIRONMENT, classify_components
from rlprof.source.file_access import Access
from rlprof.source.lines import Line, UserLines, short_place
from rlprof.units import duration, percent

MIN_SHARE: Final = 0.02
"""Of the critical time. A file per episode or update stays below it: 20 to 150 µs each."""

REMOVABLE: Final[Mapping[Access, Range]] = calibrated(
    {
        Access.SYNC: Range(0.9, 1.0),
        Access.REMOTE: Range(0.4, 1.0),
        Access.OPEN: Range(0.9, 1.0),
        Access.READ: Range(0.6, 1.0),
        Access.WRITE: Range(0.3, 0.95),
    },
    unit="part of the time of the access",
    source="Python 3.11, times a buffered write: flushed 40, opened and closed for it 500, synced "
    "40 000; sqlite's commit over its insert 17 000; a small file read from the system's "
    "cache over its array in memory 180 to 700",
    date="2026-11-21",
)
"""Part that goes: less where each small file is read only once; and a request in a thread still takes the
interpreter for a part of its time."""

SHOWN_LINES: Final = 4

_FIXES: Final[Mapping[Access, str]] = {
    Access.SYNC: "Sync, flush or commit once per rollout or at the end, not at each step: the system "
    "writes by itself, and only a crash of the machine loses the last seconds.",
    Access.REMOTE: "Hand the requests to a thread through a queue.Queue, or gather them and send one "
    "per rollout.",
    Access.OPEN: "Open the file once before the loop and keep it open, or gather the data and write "
    "it once per rollout.",
    Access.READ: "Read the files once before the loop and keep their data in memory; what does not "
    "fit, read ahead in a thread or in DataLoader workers.",
    Access.WRITE: "Gather the data and write it once per rollout in one call, or hand it to a thread.",
}


class _Accesses:
    """Access to files on the critical threads: its nodes, and its lines by weight."""

    def __init__(self, profile: Profile) -> None:
        self.tree = profile.steady
        self.lines = UserLines(profile.steady, profile.sources, profile.started_package)
        self.nodes = find_file_access(self.lines, profile.sources)
        if Access.REMOTE in self.nodes.values():
            self._leave_out_simulators(profile)
        self.by_access: dict[Access, float] = defaultdict(float)
        self.weights: dict[Line, float] = defaultdict(float)
        self.asleep_us = 0.0
        for node, access in self.nodes.items():
            cost = self.tree.self_cost(node)
            owner = self.lines.owner(node)
            self.by_access[access] += cost.wall_us
            self.asleep_us += cost.idle_us
            if owner != NO_PARENT and cost.wall_us:
                self.weights[self.lines.line(owner)] += cost.wall_us

    def _leave_out_simulators(self, profile: Profile) -> None:
        """A server that the environment asks is the environment: it cannot be asked later."""
        parts = classify_components(self.tree.nodes, profile.sources)
        self.nodes = {
            node: access
            for node, access in self.nodes.items()
            if access is not Access.REMOTE or parts[node] != ENVIRONMENT
        }

    @property
    def us(self) -> float:
        return sum(self.by_access.values())

    @property
    def heaviest(self) -> Line:
        return max(self.weights, key=lambda line: (self.weights[line], line))

    def savings(self) -> Iterator[Saving]:
        for access in Access:
            nodes = frozenset(node for node, it in self.nodes.items() if it is access)
            if nodes:
                yield Saving(nodes, REMOVABLE[access])


def detect(profile: Profile) -> Iterable[Finding]:
    whole = profile.critical.wall_us
    accesses = _Accesses(profile)
    if not whole or not accesses.weights or accesses.us / whole < MIN_SHARE:
        return
    access = max(accesses.by_access, key=lambda it: (accesses.by_access[it], it.value))
    yield Finding(
        detector=DETECTOR.id,
        title=f"{access.value} at {short_place(accesses.heaviest)} hold up the training",
        phase=PhaseKind.STEADY,
        savings=tuple(accesses.savings()),
        locations=accesses.lines.locations(accesses.weights, whole)[:SHOWN_LINES],
        evidence=tuple(_evidence(profile, accesses)),
        fix=_FIXES[access],
        confidence=Confidence.MEASURED if access in (Access.SYNC, Access.OPEN) else Confidence.BOUNDED,
    )  # fmt: skip


def _evidence(profile: Profile, accesses: _Accesses) -> Iterable[str]:
    whole = profile.critical.wall_us
    each = (
        f", {duration(accesses.us / profile.steady_steps)} per step" if profile.steady_steps else ""
    )
    yield (
        f"{percent(accesses.us / whole)} of the critical time is spent there{each}; asleep for "
        f"{percent(accesses.asleep_us / accesses.us)} of it"
    )
    parts = sorted(accesses.by_access.items(), key=lambda item: (-item[1], item[0].value))
    shown = [f"{access.value}: {percent(us / whole)}" for access, us in parts if us]
    if len(shown) > 1:
        yield ", ".join(shown)
    line = accesses.heaviest
    statement = accesses.lines.statement(Frame(line.file, line.function, line.line))
    conditions = [ast.unparse(test) for test in statement.conditions] if statement else []
    if conditions:
        yield f"it is done when {' and '.join(conditions)}"


DETECTOR: Final = Detector(
    id="blocking-io",
    name="files and servers that the training waits for",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES})),
)
