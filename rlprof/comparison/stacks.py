"""The steady stacks of one run as a tree of functions: the time of each, in blocks of time.

Lines of one function under one caller are one box, and so are all processes of one role: line
numbers move and pids differ from run to run, functions stay.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from rlprof.model.detail import Detail, Slice
from rlprof.model.profile import PhaseKind
from rlprof.model.recording import INVALID_FUNCTION, NO_PARENT, NO_STACK_FUNCTION, Frame
from rlprof.model.report import Report
from rlprof.names import short_path
from rlprof.pace.times import importing_nodes
from rlprof.profile import roles as roles_of_processes
from rlprof.profile.flame import PSEUDO_FRAMES, frame_label
from rlprof.syntax.origin import Origin, origin

MOST_BLOCKS: Final = 10
"""Blocks of the steady phase: few enough for neighbours not to depend on each other (batch means),
enough for a variance."""
FEWEST_BLOCKS: Final = 4
"""Below it nothing is said of how a function varies over the run."""

ROOT_LABEL: Final = "all processes"

UNLOCATED: Final = frozenset(
    PSEUDO_FRAMES[function] for function in (INVALID_FUNCTION, NO_STACK_FUNCTION)
)
"""Labels of time of which no function is known."""

_WORKING: Final = frozenset(
    {
        roles_of_processes.WORKER,
        roles_of_processes.LEARNER,
        roles_of_processes.ENVIRONMENT_WORKER,
        roles_of_processes.INFERENCE,
        roles_of_processes.DATA_LOADER,
        roles_of_processes.LOGGER,
    }
)
"""Roles of what is a plain worker until its work is looked at."""


@dataclass(frozen=True, slots=True)
class StackBox:
    """A function below one caller, in all processes of a role. Times in µs of the steady phase."""

    parent: int
    label: str
    place: str
    """The file as a reader knows it, the same in two checkouts; empty for roles and pseudo-frames."""
    line: int
    """The one in which most of its time passed, below it included; 0 for roles and pseudo-frames."""
    kind: str
    """As of ``FlameFrame``."""
    blocks: tuple[int, ...]
    """Its own time in each block, of the metric."""
    idle_us: int
    """Its own waiting time; 0 when the metric is CPU time."""
    line_share: float = 0.0
    """Part of its time, below it included, that passed in that line."""
    called_on: int = 0
    """The line of the nearest caller of the user's from which most of it was called; 0 without one."""


@dataclass(frozen=True, slots=True)
class Stacks:
    """Stacks of one run; parents come before their children, box 0 is the root."""

    boxes: tuple[StackBox, ...]
    box_of_node: Mapping[int, frozenset[int]]
    """The boxes that hold a node of ``Detail.nodes``: one for each role in which it has time."""
    block_us: tuple[int, ...]
    """Length of each block."""
    block_steps: tuple[float, ...]
    """Steps made in each block, as far as they were counted by window."""
    interval_us: float
    """Mean time between two samples of a process."""

    @property
    def block_time_us(self) -> tuple[int, ...]:
        """All that was seen in each block, of the metric."""
        return tuple(map(sum, zip(*(box.blocks for box in self.boxes), strict=True)))

    @property
    def total_us(self) -> int:
        return sum(self.block_time_us)


def steady_stacks(report: Report, metric: str, roles: Sequence[str]) -> Stacks | None:
    """Return what ``report`` holds of its steady phase; None without one. ``roles`` are the names to merge
    processes by, one for each row of ``report.processes``.
    """
    detail = report.detail
    if detail is None:
        return None
    block_of, lengths = _blocks(detail.slices)
    if not lengths:
        return None
    growing = _Growing(detail, roles, report.run.cwd, len(lengths))
    samples = detail.samples
    for slice_, thread, node, wall_us, idle_us, cpu_us in samples.rows():
        block = block_of.get(slice_)
        us = wall_us if metric == "wall" else cpu_us
        if block is not None and us:
            process = detail.threads[thread].process
            growing.add(process, node, block, us, idle_us if metric == "wall" else 0)
    return Stacks(
        boxes=growing.boxes(),
        box_of_node=growing.box_of_node(),
        block_us=tuple(lengths),
        block_steps=_steps_by_block(report, detail.slices, block_of, len(lengths)),
        interval_us=_interval_us(report),
    )


def roles_to_compare(base: Report, new: Report) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names for the processes of two runs, by which the same processes meet.

    What a worker is called depends on what it spends its time on, and that is close to a threshold
    at times. Unless the runs agree, all workers are ``worker``.
    """
    of_base, of_new = ([row.role for row in report.processes] for report in (base, new))
    working = [Counter(role for role in roles if role in _WORKING) for roles in (of_base, of_new)]
    counts = [sum(roles.values()) for roles in working]
    agree = set(working[0]) == set(working[1]) and (
        working[0] == working[1] or counts[0] != counts[1]
    )
    if agree:
        return tuple(of_base), tuple(of_new)
    return tuple(map(_plain_role, of_base)), tuple(map(_plain_role, of_new))


def _plain_role(role: str) -> str:
    return roles_of_processes.WORKER if role in _WORKING else role


def _blocks(slices: Sequence[Slice]) -> tuple[dict[int, int], list[int]]:
    """The block of each steady slice, and the lengths of the blocks: equal as far as slices let."""
    steady = [
        (at, steady_slice)
        for at, steady_slice in enumerate(slices)
        if steady_slice.phase is PhaseKind.STEADY
    ]
    whole = sum(steady_slice.end_us - steady_slice.start_us for _, steady_slice in steady)
    count = min(MOST_BLOCKS, len(steady))
    block_of: dict[int, int] = {}
    lengths = [0] * count
    gone = 0
    for at, slice_ in steady:
        length = slice_.end_us - slice_.start_us
        block = min(count - 1, int((gone + length / 2) / whole * count))
        block_of[at] = block
        lengths[block] += length
        gone += length
    # A slice longer than a block leaves some of them empty.
    kept = [block for block, length in enumerate(lengths) if length]
    new = {block: at for at, block in enumerate(kept)}
    return {at: new[old] for at, old in block_of.items()}, [lengths[old] for old in kept]


def _steps_by_block(
    report: Report, slices: Sequence[Slice], block_of: Mapping[int, int], count: int
) -> tuple[float, ...]:
    """Steps of each window, in the block that its middle lies in."""
    steps = [0.0] * count
    starts = [slice_.start_us for slice_ in slices]
    for start, end, rate in report.throughput.series:
        block = block_of.get(bisect_right(starts, (start + end) / 2) - 1)
        if block is not None:
            steps[block] += rate * (end - start) / 1e6
    return tuple(steps)


def _interval_us(report: Report) -> float:
    rates = [row.achieved_hz for row in report.processes if row.achieved_hz > 0]
    return 1e6 * len(rates) / sum(rates) if rates else 10_000.0


@dataclass
class _GrowingBox:
    """A ``StackBox`` that grows."""

    parent: int
    label: str
    place: str
    kind: str
    blocks: list[int]
    line: int = 0
    line_share: float = 0.0
    called_on: int = 0
    idle_us: int = 0


class _Growing:
    """The tree while samples come in."""

    def __init__(self, detail: Detail, roles: Sequence[str], cwd: str, blocks: int) -> None:
        self._nodes = detail.nodes
        self._roles = roles
        self._cwd = cwd
        self._count = blocks
        self._importing = importing_nodes(detail.nodes)
        self._boxes = [_GrowingBox(NO_PARENT, ROOT_LABEL, "", "root", [0] * blocks)]
        self._index: dict[tuple[int, str, str], int] = {}
        self._of_node: dict[tuple[str, int], int] = {}
        self._node_us: dict[tuple[str, int], int] = {}

    def add(self, process: int, node: int, block: int, us: int, idle_us: int) -> None:
        """Imports are left out: they belong to start-up, whenever they happen."""
        if self._importing[node]:
            return
        role = self._roles[process] if process < len(self._roles) else "process"
        box = self._boxes[self._find(role, node)]
        box.blocks[block] += us
        box.idle_us += idle_us
        self._node_us[role, node] = self._node_us.get((role, node), 0) + us

    def _find(self, role: str, node: int) -> int:
        path = []
        while node != NO_PARENT and (role, node) not in self._of_node:
            path.append(node)
            node = self._nodes[node].parent
        at = self._of_node[role, node] if node != NO_PARENT else self._below(0, role, "", "process")
        for new_node in reversed(path):
            at = self._below(at, *_named(self._nodes[new_node].frame, self._cwd))
            self._of_node[role, new_node] = at
        return at

    def _below(self, parent: int, label: str, place: str, kind: str) -> int:
        key = (parent, label, place)
        at = self._index.get(key)
        if at is None:
            at = self._index[key] = len(self._boxes)
            self._boxes.append(_GrowingBox(parent, label, place, kind, [0] * self._count))
        return at

    def boxes(self) -> tuple[StackBox, ...]:
        self._find_lines()
        return tuple(StackBox(**{**vars(box), "blocks": tuple(box.blocks)}) for box in self._boxes)

    def _find_lines(self) -> None:
        """Find for each box the line that took longest, with what it called, and the one that called it."""
        for role, node in sorted(self._of_node, key=lambda key: -key[1]):
            parent = self._nodes[node].parent
            if parent != NO_PARENT:
                above = (role, parent)
                self._node_us[above] = self._node_us.get(above, 0) + self._node_us.get(
                    (role, node), 0
                )
        lines = {key: self._nodes[key[1]].frame.line for key in self._of_node}
        for at, (line, share) in self._longest(lines).items():
            self._boxes[at].line, self._boxes[at].line_share = line, share
        for at, (line, _) in self._longest(self._calling_lines()).items():
            self._boxes[at].called_on = line

    def _calling_lines(self) -> dict[tuple[str, int], int]:
        """Return for each node the line of the nearest caller of the user's; 0 without one."""
        lines: dict[tuple[str, int], int] = {}
        for role, node in sorted(self._of_node, key=lambda key: key[1]):
            parent = self._nodes[node].parent
            above = self._of_node.get((role, parent))
            if above is not None and self._boxes[above].kind == Origin.YOURS.value:
                lines[role, node] = self._nodes[parent].frame.line
            else:
                lines[role, node] = lines.get((role, parent), 0)
        return lines

    def _longest(self, lines: Mapping[tuple[str, int], int]) -> dict[int, tuple[int, float]]:
        """Return for each box the line with most of its time, and the part of it."""
        times: dict[int, Counter[int]] = {}
        for key, line in lines.items():
            times.setdefault(self._of_node[key], Counter())[line] += self._node_us.get(key, 0)
        longest = {}
        for at, us_of in times.items():
            line = min(us_of, key=lambda candidate: (-us_of[candidate], candidate))
            longest[at] = line, us_of[line] / max(1, us_of.total())
        return longest

    def box_of_node(self) -> Mapping[int, frozenset[int]]:
        found: dict[int, set[int]] = {}
        for (_, node), box in self._of_node.items():
            found.setdefault(node, set()).add(box)
        return {node: frozenset(boxes) for node, boxes in found.items()}


def _named(frame: Frame, cwd: str) -> tuple[str, str, str]:
    if not frame.file:
        return frame_label(frame), "", "runtime"
    return frame_label(frame), short_path(frame.file, cwd), origin(frame).value


# --- which box of one run's tree is which of the other's ----------------------------------------

NOWHERE: Final = -1
"""In place of a box in the run that lacks it."""

_NAMELESS: Final = frozenset({"<lambda>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"})
"""Names that say nothing: only the file tells whether two are the same."""


class MatchedBoxes(NamedTuple):
    """The same box in both runs."""

    base: int
    new: int
    parent: int
    """Place of the caller's pair."""


def paired(base: Stacks, new: Stacks) -> list[MatchedBoxes]:
    """The boxes of both runs matched from the root on, in preorder; siblings by name."""
    below = _children(base), _children(new)
    pairs: list[MatchedBoxes] = []
    pending = [MatchedBoxes(0, 0, NOWHERE)]
    while pending:
        pair = pending.pop()
        matched = _matched(below[0].get(pair.base, {}), below[1].get(pair.new, {}))
        at = len(pairs)
        pairs.append(pair)
        pending.extend(MatchedBoxes(was, now, at) for was, now in reversed(matched))
    return pairs


_Key = tuple[str, str]
"""Label and place of a box."""


def _children(stacks: Stacks) -> dict[int, dict[_Key, int]]:
    below: dict[int, dict[_Key, int]] = {}
    for at, box in enumerate(stacks.boxes):
        if at:
            below.setdefault(box.parent, {})[box.label, box.place] = at
    return below


def _matched(base: dict[_Key, int], new: dict[_Key, int]) -> list[tuple[int, int]]:
    """Boxes below one caller: first those with the same name and file; then, since files are renamed,
    those whose name only one box of each run has.
    """
    found = [(key, base[key], new[key]) for key in base.keys() & new.keys()]
    left = [
        {key: at for key, at in side.items() if key not in base or key not in new}
        for side in (base, new)
    ]
    for label in _single_names(left[0]) & _single_names(left[1]):
        keys = [next(key for key in side if key[0] == label) for side in left]
        found.append((keys[1], left[0].pop(keys[0]), left[1].pop(keys[1])))
    found += [(key, at, NOWHERE) for key, at in left[0].items()]
    found += [(key, NOWHERE, at) for key, at in left[1].items()]
    return [(was, now) for _, was, now in sorted(found)]


def _single_names(boxes: dict[_Key, int]) -> set[str]:
    names = Counter(label for label, _ in boxes)
    return {name for name, number in names.items() if number == 1 and name not in _NAMELESS}
