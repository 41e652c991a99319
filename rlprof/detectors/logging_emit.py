"""Log records, prints, metrics and progress bars that are wanted, but too often."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.claims import interpreter_lock_waits
from rlprof.detectors.recognisers.log_output import find_output
from rlprof.libraries.base import Sink
from rlprof.model.calibration import calibrated
from rlprof.model.counters import LOG_RECORDS, UPDATES
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import Line, UserLines, heaviest_line, last_name, short_place
from rlprof.syntax.module import called_name
from rlprof.units import count, duration, percent

MIN_SHARE: Final = 0.02
"""Of the critical time. A line or a scalar or two per update stay below it: 10 to 60 µs each, where
an update takes milliseconds."""

REMOVABLE: Final[Mapping[Sink, Range]] = calibrated(
    {
        Sink.RECORDS: Range(0.97, 1.0),
        Sink.PRINT: Range(0.97, 1.0),
        Sink.METRICS: Range(0.85, 1.0),
        Sink.PROGRESS: Range(0.9, 1.0),
        Sink.ROWS: Range(0.9, 1.0),
    },
    unit="part of the time of what is told",
    source="Python 3.11: the test that decides takes 0.05 µs and a list's append no more, a record "
    "to a file 15 to 25 µs",
    date="2026-11-21",
)
"""Part that goes when a thousandth is told; of metrics, when a mean per update is left of 10 to 100 values."""

OF_A_DEVICE: Final = Range(0.0, 1.0)
"""The same on a line that fetches a value from a GPU: it waits there for work that has to be done."""

LEAST_THREAD: Final = 0.01
"""Part of the steady phase that a thread writes for from which on it can hold up the others."""

EACH_STEP: Final = 0.5
"""Records per step from which on "at every step" is said."""

_FETCHES: Final = frozenset({"item", "cpu", "numpy", "tolist"})

_FIXES: Final[Mapping[Sink, str]] = {
    Sink.RECORDS: "Log every thousandth step, or means once per rollout: if step % 1000 == 0: "
    "logger.info(...).",
    Sink.PRINT: "Print every thousandth step, or means once per rollout: if step % 1000 == 0: print(...).",
    Sink.METRICS: "Gather the values in a list and write their means once per update or rollout; a "
    "curve needs no more points than it has pixels.",
    Sink.PROGRESS: "Give set_postfix(..., refresh=False), and call it, and update(n), once per "
    "rollout instead of once per step.",
    Sink.ROWS: "Write a row per episode or rollout instead of one per step; for data that training "
    "needs later, keep arrays and save them once.",
}


class _Output:
    """The output of the critical time: its nodes, and its lines by weight."""

    def __init__(self, profile: Profile) -> None:
        self.tree = profile.steady
        self.lines = UserLines(profile.steady, profile.sources, profile.started_package)
        self.sinks = find_output(self.lines)
        self.by_sink: dict[Sink, float] = defaultdict(float)
        self.weights: dict[Line, float] = defaultdict(float)
        for node, sink in self.sinks.items():
            us = self.tree.self_cost(node).wall_us
            self.by_sink[sink] += us
            if us:
                self.weights[self.lines.line(self._named(node))] += us

    def _named(self, node: int) -> int:
        """The user's line, or where there is none the library's that begins the output."""
        owner = self.lines.owner(node)
        if owner != NO_PARENT:
            return owner
        while self.tree.nodes[node].parent in self.sinks:
            node = self.tree.nodes[node].parent
        return node

    @property
    def us(self) -> float:
        return sum(self.by_sink.values())

    @property
    def heaviest(self) -> Line:
        return heaviest_line(self.weights)

    def savings(self) -> Iterator[Saving]:
        waiting = self._may_wait_for_a_device() if _uses_a_gpu(self.tree.nodes) else frozenset()
        for sink in Sink:
            nodes = frozenset(node for node, it in self.sinks.items() if it is sink) - waiting
            if nodes:
                yield Saving(nodes, REMOVABLE[sink])
        if waiting:
            yield Saving(waiting, OF_A_DEVICE)

    def _may_wait_for_a_device(self) -> frozenset[int]:
        return frozenset(
            node
            for node in self.sinks
            if (statement := self.lines.statement(self.tree.frame(node))) is not None
            and any(
                isinstance(part, ast.Call) and called_name(part) in _FETCHES
                for part in statement.walk()
            )
        )


def _uses_a_gpu(nodes: Iterable[tuple[int, int, Frame]]) -> bool:
    """Whether torch was seen to start CUDA: that takes some tenths of a second."""
    return any(
        last_name(frame.function) == "_lazy_init" and "torch" in frame.file for _, _, frame in nodes
    )


def detect(profile: Profile) -> Iterable[Finding]:
    whole = profile.critical.wall_us
    output = _Output(profile)
    if not whole or output.us / whole < MIN_SHARE:
        return
    sink = max(output.by_sink, key=lambda it: (output.by_sink[it], it.value))
    yield Finding(
        title=_title(profile, output, sink),
        savings=(*output.savings(), *_waits_for_writers(profile)),
        locations=output.lines.shown_locations(output.weights, whole),
        evidence=tuple(_evidence(profile, output)),
        fix=_FIXES[sink],
        confidence=Confidence.MEASURED
        if output.lines.text(output.heaviest)
        else Confidence.BOUNDED,
    )


def _title(profile: Profile, output: _Output, sink: Sink) -> str:
    place = short_place(output.heaviest)
    records = profile.counts.get(LOG_RECORDS, 0.0)
    if sink is Sink.RECORDS and records >= EACH_STEP * profile.steady_steps > 0:
        return f"log records are written at every step ({place})"
    takes = "takes" if sink is Sink.PRINT else "take"
    return f"{sink.value} at {place} {takes} {percent(output.us / profile.critical.wall_us)} of the time"


def _waits_for_writers(profile: Profile) -> Iterator[Saving]:
    """Waits of critical threads for the interpreter lock while a thread beside them writes."""
    processes = set()
    held_us = 0
    for activity in profile.activities:
        if activity.is_main or activity.working_us < LEAST_THREAD * profile.steady_us:
            continue
        lines = UserLines(activity.tree, profile.sources, profile.started_package)
        busy = sum(activity.tree.self_cost(node).busy_us for node in find_output(lines))
        if busy >= LEAST_THREAD * profile.steady_us:
            held_us += busy
            processes.add(activity.process)
    yield from interpreter_lock_waits(profile, processes, held_us, REMOVABLE[Sink.METRICS])


def _evidence(profile: Profile, output: _Output) -> Iterable[str]:
    whole = profile.critical.wall_us
    parts = sorted(output.by_sink.items(), key=lambda item: (-item[1], item[0].value))
    shown = [(sink.value, us / whole) for sink, us in parts if us >= 0.001 * whole]
    shares = ", ".join(f"{percent(share)} {name}" for name, share in shown)
    on = shown[0][0] if len(shown) == 1 else f"output ({shares})"
    each = (
        f": {duration(output.us / profile.steady_steps)} per step" if profile.steady_steps else ""
    )
    yield f"{percent(output.us / whole)} of the critical time is spent on {on}{each}"
    records = profile.counts.get(LOG_RECORDS, 0.0)
    for name, total in (
        ("step", profile.steady_steps),
        ("update", profile.counts.get(UPDATES, 0.0)),
    ):
        if records and total:
            yield f"{count(records)} log records in the steady phase, {count(records / total)} per {name}"
            break
    yield _conditions(output)


def _conditions(output: _Output) -> str:
    line = output.heaviest
    statement = output.lines.statement(Frame(line.file, line.function, line.line))
    if statement is None:
        return "its source is not in the run file"
    conditions = [ast.unparse(test) for test in statement.conditions]
    if conditions:
        return f"it is written when {' and '.join(conditions)}"
    return "no condition on the way there lets it be written more rarely"


DETECTOR: Final = Detector(
    id="logging-emit",
    name="log records, prints and metrics that are written too often",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES})),
)
