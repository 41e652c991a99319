"""Samples merged for drawing: run -> process -> thread -> frames.

Frames keep their line, so a function with two hot lines is two boxes: the line is
what a reader goes on to edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rlprof.errors import UsageError
from rlprof.model.calltree import CallTree
from rlprof.model.flame import Flame, FlameFrame, FlameSelection
from rlprof.model.profile import PhaseKind, Profile
from rlprof.model.recording import (
    GC_FUNCTION,
    INVALID_FUNCTION,
    NO_PARENT,
    NO_STACK_FUNCTION,
    Frame,
    Node,
    Recording,
    Thread,
)
from rlprof.names import cut_middle
from rlprof.pace.times import importing_nodes
from rlprof.syntax.origin import Origin, is_import_machinery, origin

THINNEST_SHARE: Final = 1 / 10_000
"""Share of the root: too thin to see, and a box a hundred times wider still shows it when zoomed in on."""

METRICS: Final = ("wall", "cpu")

PSEUDO_FRAMES: Final = {
    GC_FUNCTION: "garbage collection",
    INVALID_FUNCTION: "stack could not be read whole",
    NO_STACK_FUNCTION: "no stack seen",
}

IMPORT_LABEL: Final = "import"
"""No Python function can be called so."""

_LISTED: Final = 12
"""How many processes or threads an error lists."""
_COMMAND_LIMIT: Final = 50
"""Characters of a command in that list."""


@dataclass(slots=True)
class _Branch:
    """A box under construction; times are inclusive once summed up."""

    label: str
    file: str = ""
    line: int = 0
    kind: str = "root"
    wall_us: int = 0
    idle_us: int = 0
    cpu_us: int = 0
    children: dict[object, _Branch] = field(default_factory=dict)

    def width(self, metric: str) -> int:
        return self.wall_us if metric == "wall" else self.cpu_us

    def add(self, other: _Branch) -> None:
        self.wall_us += other.wall_us
        self.idle_us += other.idle_us
        self.cpu_us += other.cpu_us


def build_flame(
    recording: Recording,
    profile: Profile,
    selection: FlameSelection | None = None,
    *,
    thinnest_share: float = THINNEST_SHARE,
) -> Flame:
    """The flamegraph of what ``selection`` leaves of a run.

    Raises ``UsageError``, listing what there is, when a selection matches nothing. An
    empty run with nothing selected gives the root alone.
    """
    selection = selection or FlameSelection()
    _check_metric(selection)
    roles = {p.id: profile.process_roles.get(p.id, "process") for p in recording.processes}
    threads = _selected_threads(recording, roles, selection)
    costs = _costs(recording, profile, threads, selection)
    root = _merge(recording, roles, costs)
    if selection != FlameSelection() and not root.width(selection.metric):
        raise _nothing_selected(recording, profile, selection)
    frames, pruned = _laid_out(root, selection.metric, thinnest_share)
    return Flame(
        title=recording.run.label or recording.run.script or " ".join(recording.run.command),
        metric=selection.metric,
        selection=_in_words(selection),
        frames=frames,
        pruned_share=pruned,
    )


# --- which samples -------------------------------------------------------------------------


def _check_metric(selection: FlameSelection) -> None:
    if selection.metric not in METRICS:
        raise UsageError(
            f"there is no metric {selection.metric!r}",
            slug="no-such-selection",
            hint=f"choose one of: {', '.join(METRICS)}",
        )


def _selected_threads(
    recording: Recording, roles: Mapping[int, str], selection: FlameSelection
) -> set[int]:
    processes = {
        p.id
        for p in recording.processes
        if _is_wanted(selection.process, p.pid, f"{roles[p.id]} {' '.join(p.argv)}")
    }
    if selection.process is not None and not processes:
        names = [
            f"{p.pid} ({roles[p.id]}: {cut_middle(' '.join(p.argv), _COMMAND_LIMIT)})"
            for p in recording.processes
        ]
        raise _no_match("process", selection.process, names)
    threads = {
        t.id
        for t in recording.threads
        if t.process in processes and _is_wanted(selection.thread, t.tid, t.name)
    }
    if selection.thread is not None and not threads:
        names = [f"{t.name} ({t.tid})" for t in recording.threads if t.process in processes]
        raise _no_match("thread", selection.thread, names)
    return threads


def _is_wanted(wanted: str | None, number: int, text: str) -> bool:
    """Tell whether a selection means the process or thread of this ``number``, of which ``text`` tells."""
    if wanted is None or wanted == str(number):
        return True
    # A number means a pid: "10" must not also select "--workers 10".
    return not wanted.isdigit() and wanted in text


def _costs(
    recording: Recording, profile: Profile, threads: set[int], selection: FlameSelection
) -> dict[int, dict[int, list[int]]]:
    """Self time [wall, idle, cpu] of each node of each selected thread."""
    phase_of = _phase_of_windows(recording, profile)
    importing = importing_nodes(recording.nodes)
    costs: dict[int, dict[int, list[int]]] = {thread: {} for thread in sorted(threads)}
    for window, thread, node, wall, idle, cpu in recording.samples.rows():
        of_thread = costs.get(thread)
        if of_thread is None:
            continue
        if selection.phase is not None:
            phase = PhaseKind.START_UP if importing[node] else phase_of.get(window)
            if phase is not selection.phase:
                continue
        cost = of_thread.setdefault(node, [0, 0, 0])
        cost[0] += wall
        cost[1] += idle
        cost[2] += cpu
    return costs


def _phase_of_windows(recording: Recording, profile: Profile) -> dict[int, PhaseKind]:
    """The phase that the middle of each window lies in."""
    found = {}
    for window in recording.windows:
        middle = (window.start_us + window.end_us) / 2
        for phase in profile.phases:
            if phase.start_us <= middle < phase.end_us:
                found[window.id] = phase.kind
                break
    return found


# --- merging -------------------------------------------------------------------------------


def _merge(
    recording: Recording, roles: Mapping[int, str], costs: dict[int, dict[int, list[int]]]
) -> _Branch:
    root = _Branch("all processes")
    for thread_id, of_thread in costs.items():
        if not of_thread:
            continue
        thread = recording.threads[thread_id]
        process = recording.processes[thread.process]
        name = f"{roles[process.id]}, pid {process.pid}"
        process_branch = root.children.setdefault(process.id, _Branch(name, kind="process"))
        thread_branch = _thread_branch(thread, recording.nodes, of_thread)
        process_branch.children[thread.id] = thread_branch
        process_branch.add(thread_branch)
        root.add(thread_branch)
    return root


def _thread_branch(thread: Thread, nodes: tuple[Node, ...], costs: dict[int, list[int]]) -> _Branch:
    """One thread's boxes. Parents have smaller ids, so one pass from the end sums up the tree."""
    top = _Branch(thread.name or f"thread {thread.tid}", kind="thread")
    branches: dict[int, _Branch] = {}
    for node_id in sorted(CallTree(nodes, {}).with_callers(costs)):
        node = nodes[node_id]
        parent = top if node.parent == NO_PARENT else branches[node.parent]
        branches[node_id] = branch = _branch_of(node.frame, parent)
        wall, idle, cpu = costs.get(node_id, (0, 0, 0))
        branch.wall_us += wall
        branch.idle_us += idle
        branch.cpu_us += cpu
    _sum_up(top)
    return top


def _branch_of(frame: Frame, parent: _Branch) -> _Branch:
    """The box of ``frame`` below ``parent``. One import is four or five frames of the import
    system, which say nothing and would push what is imported out of sight: they share a box.
    """
    key = frame
    if is_import_machinery(frame):
        if parent.label == IMPORT_LABEL and not parent.file:
            return parent
        key = Frame("", IMPORT_LABEL, 0)
    branch = parent.children.get(key)
    if branch is None:
        branch = parent.children[key] = _frame_branch(key)
    return branch


def frame_label(frame: Frame) -> str:
    """The function, or what a pseudo-frame stands for."""
    return frame.function if frame.file else PSEUDO_FRAMES.get(frame.function, frame.function)


def _frame_branch(frame: Frame) -> _Branch:
    kind = Origin.STDLIB if frame.function == IMPORT_LABEL and not frame.file else origin(frame)
    return _Branch(frame_label(frame), frame.file, frame.line, kind.value)


def _sum_up(top: _Branch) -> None:
    """Add every box's time to its parent's; without recursion, stacks can be thousands deep."""
    order = [(top, top)]
    for branch, _ in order:
        order.extend((child, branch) for child in branch.children.values())
    for branch, parent in reversed(order[1:]):
        parent.add(branch)


# --- laying out ----------------------------------------------------------------------------


def _laid_out(
    root: _Branch, metric: str, thinnest_share: float
) -> tuple[tuple[FlameFrame, ...], float]:
    """Preorder without boxes too thin to see, and the share of the root in those."""
    total = root.width(metric)
    thinnest = total * thinnest_share
    pruned = 0
    frames: list[FlameFrame] = []
    pending = [(root, -1, 0)]
    while pending:
        branch, parent, depth = pending.pop()
        position = len(frames)
        left_out = 0
        children = sorted(branch.children.values(), key=_sibling_order, reverse=True)
        for child in children:
            width = child.width(metric)
            if width and width >= thinnest:
                pending.append((child, position, depth + 1))
            else:
                left_out += width
        frames.append(_flame_frame(branch, parent, depth, left_out))
        pruned += left_out
    return tuple(frames), pruned / total if total else 0.0


def _sibling_order(branch: _Branch) -> tuple[str, int, str]:
    return branch.label, branch.line, branch.file


def _flame_frame(branch: _Branch, parent: int, depth: int, left_out_us: int) -> FlameFrame:
    return FlameFrame(
        parent=parent,
        depth=depth,
        label=branch.label,
        file=branch.file,
        line=branch.line,
        kind=branch.kind,
        wall_us=branch.wall_us,
        idle_us=branch.idle_us,
        cpu_us=branch.cpu_us,
        left_out_us=left_out_us,
    )


def width_of(frame: FlameFrame, metric: str) -> int:
    return frame.wall_us if metric == "wall" else frame.cpu_us


def widest_frames(frames: Sequence[FlameFrame], metric: str, most: int) -> tuple[list[int], float]:
    """The places of the ``most`` widest frames, each with its callers, and the share of the root in
    the others, apart from what was left out of those before. Their time stays in their callers.
    """
    if not frames:
        return [], 0.0
    widths = [width_of(frame, metric) for frame in frames]
    # Callers come first and are no thinner, so none is cut off while what it called is kept.
    kept = sorted(sorted(range(len(frames)), key=lambda place: -widths[place])[:most])
    is_kept = set(kept)
    dropped = [place for place in range(len(frames)) if place not in is_kept]
    pruned = sum(widths[place] for place in dropped if frames[place].parent in is_kept)
    pruned -= sum(frames[place].left_out_us for place in dropped)
    return kept, pruned / widths[0] if widths[0] else 0.0


# --- words ---------------------------------------------------------------------------------


def _in_words(selection: FlameSelection) -> str:
    parts = []
    if selection.process is not None:
        parts.append(f"process {selection.process}")
    if selection.thread is not None:
        parts.append(f"thread {selection.thread}")
    if selection.phase is not None:
        parts.append(f"{selection.phase.value} phase")
    return ", ".join(parts)


def _no_match(what: str, wanted: str, names: list[str]) -> UsageError:
    listed = ", ".join(names[:_LISTED])
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return UsageError(
        f"no {what} of this run matches {wanted!r}",
        slug="no-such-selection",
        hint=f"there is: {listed}{more}" if names else f"the run has no {what} that was sampled",
    )


def _nothing_selected(
    recording: Recording, profile: Profile, selection: FlameSelection
) -> UsageError:
    if selection.metric == "cpu" and any(recording.samples.wall_us):
        what = _in_words(selection) or "the whole run"
        hint = "draw wall time instead (--metric wall)"
        return UsageError(f"no CPU time was seen in {what}", slug="no-such-selection", hint=hint)
    phases = ", ".join(
        f"{phase.kind.value} ({phase.start_us / 1e6:.1f} to {phase.end_us / 1e6:.1f} s)"
        for phase in profile.phases
    )
    return UsageError(
        f"no time was seen in {_in_words(selection)}",
        slug="no-such-selection",
        hint=f"phases of this run: {phases or 'none'}",
    )
