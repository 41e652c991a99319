"""The time of each thread, stack by stack: what the exports write, each in its own words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from rlprof.errors import UsageError
from rlprof.model.detail import Detail
from rlprof.model.recording import NO_PARENT, Frame, Node, Thread
from rlprof.model.report import ProcessRow, Report
from rlprof.names import cut_middle, printable, short_path
from rlprof.profile.flame import frame_label

METRICS: Final = ("wall", "cpu", "idle")

METRIC_HELP: Final = "what is summed: wall (default), cpu or idle"
LINES_HELP: Final = "yes (default): lines of a function apart; no: by function"

_TITLE: Final = 120
"""Characters of a process's or thread's name: lists of them are narrow."""


class StackTime(NamedTuple):
    """Self time of one stack in one slice of the run (µs), as in ``model/recording.py``."""

    slice: int
    node: int
    wall_us: int
    idle_us: int
    cpu_us: int

    def of(self, metric: str) -> int:
        if metric == "cpu":
            return self.cpu_us
        return self.idle_us if metric == "idle" else self.wall_us


@dataclass(frozen=True, slots=True)
class ThreadStacks:
    """One thread and its time, in order of slice and node."""

    process: ProcessRow
    thread: Thread
    times: tuple[StackTime, ...]

    @property
    def process_name(self) -> str:
        return process_name(self.process)

    @property
    def name(self) -> str:
        """With its number where it is not the main one: the threads of a pool share a name."""
        name = cut_middle(printable(self.thread.name or "thread"), _TITLE)
        return name if self.thread.is_main else f"{name} {self.thread.tid}"


def process_name(row: ProcessRow) -> str:
    return f"{cut_middle(printable(row.role), _TITLE)}, pid {row.pid}"


def threads_with_time(report: Report) -> Iterator[ThreadStacks]:
    """Yield the threads of which anything was seen, process by process, the main thread first."""
    detail = report.detail or Detail()
    times: dict[int, list[StackTime]] = {}
    for number, thread, *rest in detail.samples.rows():
        times.setdefault(thread, []).append(StackTime(number, *rest))
    threads = sorted(
        detail.threads,
        key=lambda any_thread: (any_thread.process, not any_thread.is_main, any_thread.id),
    )
    for each in threads:
        if each.id in times:
            yield ThreadStacks(report.processes[each.process], each, tuple(times[each.id]))


class StackPaths:
    """From a node of the calling-context tree to the nodes from the outermost frame down to it."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._parents: dict[int, tuple[int, ...]] = {NO_PARENT: ()}

    def to(self, node: int) -> tuple[int, ...]:
        # Only callers are kept: they are shared, and stacks thousands of frames deep are a long list.
        parent = self._nodes[node].parent
        known = self._parents.get(parent)
        if known is None:
            known = self._parents[parent] = self._walk(parent)
        return (*known, node)

    def _walk(self, node: int) -> tuple[int, ...]:
        path = []
        while node != NO_PARENT:
            path.append(node)
            node = self._nodes[node].parent
        return tuple(reversed(path))


def frame_name(frame: Frame) -> str:
    """The function, or what a pseudo-frame stands for, fit to show."""
    return printable(frame_label(frame))


def frame_title(frame: Frame, cwd: str) -> str:
    """The same for readers that show no file beside it: of a module's top level only the file tells which."""
    name = frame_name(frame)
    if name != "<module>" or not frame.file:
        return name
    return f"{name} {printable(short_path(frame.file, cwd))}"


def chosen_metric(options: Mapping[str, str]) -> str:
    """Raises ``UsageError`` for a metric that there is not."""
    return _chosen("metric", options, METRICS)


def wants(name: str, options: Mapping[str, str]) -> bool:
    """An option that is yes unless told; raises ``UsageError`` for anything but yes and no."""
    return _chosen(name, options, ("yes", "no")) == "yes"


def _chosen(name: str, options: Mapping[str, str], choices: tuple[str, ...]) -> str:
    value = options.get(name, choices[0])
    if value not in choices:
        raise UsageError(
            f"the option {name} of this format is {value!r}",
            slug="bad-render-option",
            hint=f"choose one of: {', '.join(choices)}",
        )
    return value


def caveats(report: Report) -> list[str]:
    """Return what the numbers do not cover, in sentences."""
    found = []
    if report.detail is None:
        found.append("The report was made without detail: there are no stacks in this file.")
    elif not len(report.detail.samples):
        found.append("No samples: there are no stacks in this file.")
    for row in report.processes:
        if not row.sampled:
            why = printable(row.note) or "no reason is known"
            found.append(f"Not sampled: {process_name(row)} ({why}).")
    found += [f"{note.level}: {printable(note.text)}" for note in report.notes]
    return found
