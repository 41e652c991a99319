"""Output that is wanted, but not so often: log records, prints, metrics, progress bars, rows, files and their flushes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

from rlprof.detectors.base import Detector, InSamples
from rlprof.detectors.recognisers.line_time import SteadySearch, interpreter_lock_waits
from rlprof.detectors.recognisers.outputs.output import find_output
from rlprof.libraries.base import Sink
from rlprof.model.calibration import calibrated
from rlprof.model.counters import LOG_RECORDS, UPDATES
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import Line, UserLines, heaviest_line, last_name, short_place
from rlprof.source.outputs import reads_programs
from rlprof.source.values import Values
from rlprof.syntax.module import called_name
from rlprof.units import count, duration, percent

MIN_SHARE: Final = 0.02
"""Least share of the critical time. A line or a scalar or two per update stay below it: 10 to 60 µs each, where
an update takes milliseconds; so does a file per episode, 20 to 150 µs."""

REMOVABLE: Final[Mapping[Sink, Range]] = calibrated(
    {
        Sink.SYNCS: Range(0.9, 1.0),
        Sink.REPLACING: Range(0.9, 1.0),
        Sink.OPENING: Range(0.9, 1.0),
        Sink.RECORDS: Range(0.97, 1.0),
        Sink.PRINT: Range(0.97, 1.0),
        Sink.METRICS: Range(0.85, 1.0),
        Sink.PROGRESS: Range(0.9, 1.0),
        Sink.ROWS: Range(0.9, 1.0),
        Sink.FILES: Range(0.3, 0.95),
    },
    unit="part of the time of what is written",
    source="Python 3.11: the test that decides takes 0.05 µs and a list's append no more, a record "
    "to a file 15 to 25 µs; times a buffered write: flushed 40, opened and closed for it 500, synced 40 000; "
    "sqlite's commit over its insert 17 000",
    date="2026-11-23",
)
"""Part that goes when a thousandth is written; of metrics, when a mean per update is left of 10 to 100 values; of
data that is needed, when it is gathered and written at once."""

OF_A_DEVICE: Final = Range(0.0, 1.0)
"""The same on a line that fetches a value from a GPU: it waits there for work that has to be done."""

BESIDE_OTHERS: Final = Range(0.1, 1.0)
"""The same on a line that calls something else in C, too: nobody knows which of them takes how much."""

MOSTLY_WAITS: Final = 0.5
"""Part of a line's time in reads of a GPU's memory from which on it is no output."""

MUCH_FLUSHED: Final = 0.3
"""Part of the output's time in flushes, syncs and openings from which on they are what the advice is about."""

SHARED: Final = 0.1
"""Part of the output's time on lines that do something else, too, from which on it is told as a limit."""

MOSTLY: Final = 0.8
"""Part of the output's time from which on a title names one kind for all."""

LEAST_THREAD: Final = 0.01
"""Part of the steady phase that a thread writes for from which on it can hold up the others."""

LEAST_ASLEEP: Final = 0.05
"""Least part of the output's time that is spent asleep: below it nothing is said of waiting for the disk."""

EACH_STEP: Final = 0.5
"""Records per step from which on "at every step" is said."""

_FLUSHED: Final = (Sink.SYNCS, Sink.REPLACING, Sink.OPENING)
_DATA: Final = (Sink.ROWS, Sink.FILES)
_KEEPS_DATA: Final = (Sink.SYNCS, Sink.OPENING)
"""Subjects of advice after which as much is written as before."""
_FETCHES: Final = frozenset({"item", "cpu", "numpy", "tolist"})

_FIXES: Final[Mapping[Sink, str]] = {
    Sink.SYNCS: "Flush, sync or commit once per rollout or at the end, not at each step: the system "
    "writes by itself, and only a crash of the machine loses the last seconds. What nobody reads, write once "
    "per episode.",
    Sink.REPLACING: "Write the file once per rollout or at the end, not at each step: before it takes the place of the last "
    "one the system may write its bytes to the disk.",
    Sink.OPENING: "Open the file once before the loop and keep it open, or gather the data and write "
    "it once per rollout.",
    Sink.RECORDS: "Log every thousandth step, or means once per rollout: if step % 1000 == 0: "
    "logger.info(...).",
    Sink.PRINT: "Print every thousandth step, or means once per rollout: if step % 1000 == 0: print(...).",
    Sink.METRICS: "Gather the values in a list and write their means once per update or rollout; a "
    "curve needs no more points than it has pixels.",
    Sink.PROGRESS: "Give set_postfix(..., refresh=False), and call it, and update(n), once per "
    "rollout instead of once per step.",
    Sink.ROWS: "Write a row per episode or rollout instead of one per step; for data that training "
    "needs later, keep arrays and save them once.",
    Sink.FILES: "Write once per rollout: means of what only tells how it goes, and gathered data in one call.",
}


class _Written(SteadySearch):
    """The output of the critical time that the advice is about, by kind and by line."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(profile)
        self._critical_us = profile.critical.wall_us
        self.output = find_output(self.lines, self.values)
        self._of_lines: dict[Sink, dict[Line, float]] = defaultdict(lambda: defaultdict(float))
        self._asleep_us: dict[Sink, float] = defaultdict(float)
        places = {node: self.lines.line(self._named(node)) for node in self.output.sinks}
        for node in {*self._that_wait(places, profile), *self._read_by_the_run(profile)}:
            del self.output.sinks[node]
        for node, sink in self.output.sinks.items():
            cost = self.tree.self_cost(node)
            if cost.wall_us:
                self._of_lines[sink][places[node]] += cost.wall_us
                self._asleep_us[sink] += cost.idle_us
        self._times = {sink: sum(lines.values()) for sink, lines in self._of_lines.items()}

    def _that_wait(self, places: Mapping[int, Line], profile: Profile) -> list[int]:
        """Nodes on lines whose time is mostly that of reads of a GPU's memory, which wait for its work: clocks around them tell."""
        whole: dict[Line, float] = defaultdict(float)
        for node, line in places.items():
            whole[line] += self.tree.self_cost(node).wall_us
        waited = {
            line: sum(
                site.wait_us
                for site in profile.sync_sites
                if site.device == "gpu" and site.line == line.line and line.file.endswith(site.file)
            )
            for line in whole
        }
        return [node for node, line in places.items() if waited[line] > MOSTLY_WAITS * whole[line]]

    def _read_by_the_run(self, profile: Profile) -> Iterator[int]:
        """Yield prints of programs that the run starts to read what they print: their lines are data on the way."""
        programs = {each.id for each in profile.processes if each.start_method == "subprocess"}
        modules = self.lines.modules(profile.sources if programs else ()).values()
        if not any(map(reads_programs, modules)):
            return
        others = {
            node
            for activity in profile.activities
            if activity.process not in programs
            for node in activity.tree.hot_nodes()
        }
        for node, sink in self.output.sinks.items():
            if sink is Sink.PRINT and node not in others:
                yield node

    def _named(self, node: int) -> int:
        """The user's line, or where there is none the library's that begins the output."""
        owner = self.lines.owner(node)
        if owner != NO_PARENT:
            return owner
        while self.tree.nodes[node].parent in self.output.sinks:
            node = self.tree.nodes[node].parent
        return node

    @cached_property
    def main_sink(self) -> Sink:
        """Subject of the advice: the dearest, or how it is flushed."""
        flushed = [sink for sink in _FLUSHED if self._times.get(sink)]
        dearest = max(self._times, key=lambda sink: (self._times[sink], sink.value))
        flushed_us, whole_us = sum(map(self._times.__getitem__, flushed)), sum(self._times.values())
        is_much = flushed_us >= max(MUCH_FLUSHED * whole_us, MIN_SHARE * self._critical_us)
        if dearest in _DATA and is_much:
            return max(flushed, key=self._times.__getitem__)
        return dearest

    @cached_property
    def kept(self) -> dict[Sink, float]:
        """Time of what is written all the same after the fix."""
        keeps = self._times and self.main_sink in _KEEPS_DATA
        return {sink: us for sink, us in self._times.items() if keeps and sink in _DATA}

    @cached_property
    def by_sink(self) -> dict[Sink, float]:
        return {sink: us for sink, us in self._times.items() if sink not in self.kept}

    @property
    def weights(self) -> dict[Line, float]:
        weights: dict[Line, float] = defaultdict(float)
        for sink in self.by_sink:
            for line, us in self._of_lines[sink].items():
                weights[line] += us
        return weights

    @property
    def us(self) -> float:
        return sum(self.by_sink.values())

    @property
    def asleep_us(self) -> float:
        return sum(self._asleep_us[sink] for sink in self.by_sink)

    @property
    def heaviest(self) -> Line:
        """The dearest line of what the advice is about."""
        return heaviest_line(self._of_lines[self.main_sink])

    def _nodes(self, *sinks: Sink) -> frozenset[int]:
        return frozenset(node for node, sink in self.output.sinks.items() if sink in sinks)

    @property
    def is_shared(self) -> bool:
        """True if a good part of the time is on lines that call something else in C, too."""
        shared = self._nodes(*self.by_sink) & self.output.shared
        return self.tree.cost_of(shared).wall_us > SHARED * self.us

    def savings(self) -> Iterator[Saving]:
        waiting = self._may_wait_for_a_device() if _uses_a_gpu(self.tree.nodes) else frozenset()
        unsure = (self.output.shared & self._nodes(*self.by_sink)) - waiting
        for sink in Sink:
            nodes = self._nodes(sink) - waiting - unsure
            if nodes and sink in self.by_sink:
                yield Saving(nodes, REMOVABLE[sink])
        if waiting:
            yield Saving(waiting, OF_A_DEVICE)
        if unsure:
            yield Saving(unsure, BESIDE_OTHERS)

    def _may_wait_for_a_device(self) -> frozenset[int]:
        return frozenset(
            node
            for node in self._nodes(*self.by_sink)
            if (statement := self.lines.statement(self.tree.frame(node))) is not None
            and any(called_name(part) in _FETCHES for part in statement.calls())
        )


def _uses_a_gpu(nodes: Iterable[tuple[int, int, Frame]]) -> bool:
    """Tell whether torch was seen to start CUDA: that takes some tenths of a second."""
    return any(
        last_name(frame.function) == "_lazy_init" and "torch" in frame.file for _, _, frame in nodes
    )


def detect(profile: Profile) -> Iterable[Finding]:
    whole = profile.critical.wall_us
    written = _Written(profile)
    if not whole or not written.us or written.us / whole < MIN_SHARE:
        return
    yield Finding(
        title=_title(profile, written),
        savings=(*written.savings(), *_waits_for_writers(profile)),
        locations=written.lines.shown_locations(written.weights, whole),
        evidence=tuple(_evidence(profile, written)),
        fix=_FIXES[written.main_sink],
        confidence=Confidence.MEASURED
        if written.lines.text(written.heaviest) and not written.is_shared
        else Confidence.BOUNDED,
    )


def _title(profile: Profile, written: _Written) -> str:
    sink, place = written.main_sink, short_place(written.heaviest)
    records = profile.counts.get(LOG_RECORDS, 0.0)
    if sink is Sink.RECORDS and records >= EACH_STEP * profile.steady_steps > 0:
        return f"log records are written at every step ({place})"
    share = percent(written.us / profile.critical.wall_us)
    if written.is_shared:
        share = f"up to {share}"
    if written.by_sink[sink] < MOSTLY * written.us:
        return f"output at {place} and other lines takes {share} of the time"
    takes = "takes" if sink is Sink.PRINT else "take"
    return f"{sink.value} at {place} {takes} {share} of the time"


def _waits_for_writers(profile: Profile) -> Iterator[Saving]:
    """Waits of critical threads for the interpreter lock while a thread beside them writes."""
    processes = set()
    held_us = 0
    values = Values(profile.values)
    for activity in profile.activities:
        if activity.is_main or activity.working_us < LEAST_THREAD * profile.steady_us:
            continue
        lines = UserLines.of(profile, activity.tree)
        nodes = find_output(lines, values).sinks
        busy = activity.tree.cost_of(nodes).busy_us
        if busy >= LEAST_THREAD * profile.steady_us:
            held_us += busy
            processes.add(activity.process)
    yield from interpreter_lock_waits(profile, processes, held_us, REMOVABLE[Sink.METRICS])


def _evidence(profile: Profile, written: _Written) -> Iterable[str]:
    whole = profile.critical.wall_us
    parts = sorted(written.by_sink.items(), key=lambda item: (-item[1], item[0].value))
    shown = [(sink.value, us / whole) for sink, us in parts if us >= 0.001 * whole]
    shares = ", ".join(f"{percent(share)} {name}" for name, share in shown)
    on = shown[0][0] if len(shown) == 1 else f"output ({shares})"
    each = (
        f": {duration(written.us / profile.steady_steps)} per step" if profile.steady_steps else ""
    )
    most = f"{percent(written.us / whole)} of the critical time"
    if written.is_shared:
        yield f"at most {most} is spent on {on}{each}"
    else:
        yield f"{most} is spent on {on}{each}"
    if written.is_shared:
        yield "lines of it do something else, too: how much of the time that takes is not known"
    for sink, us in written.kept.items():
        yield f"{sink.value} take {percent(us / whole)} besides, and stay"
    if written.asleep_us >= LEAST_ASLEEP * written.us:
        yield f"asleep for {percent(written.asleep_us / written.us)} of it"
    records = profile.counts.get(LOG_RECORDS, 0.0)
    for name, total in (
        ("step", profile.steady_steps),
        ("update", profile.counts.get(UPDATES, 0.0)),
    ):
        if records and total:
            yield f"{count(records)} log records in the steady phase, {count(records / total)} per {name}"
            break
    yield _conditions(written)


def _conditions(written: _Written) -> str:
    line = written.heaviest
    statement = written.lines.statement(line)
    if statement is None:
        return "its source is not in the run file"
    if statement.conditions:
        return f"it is written when {statement.condition}"
    function = last_name(line.function)
    where = "the script" if function == "<module>" else function
    return f"no condition in {where} lets it be written more rarely"


DETECTOR: Final = Detector(
    id="output-per-step",
    name="log records, prints, metrics, rows and files that are written too often",
    in_samples=InSamples(detect),
)
