"""Who hung, and on which line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from rlprof.model.activity import WaitKind
from rlprof.model.calltree import CallTree, Cost
from rlprof.model.crash import Hang
from rlprof.model.recording import NO_PARENT, Recording
from rlprof.pace.hangs import ENDLESS, is_after_a_death, waited_by_thread
from rlprof.pace.pace import Pace
from rlprof.pace.steps import Span
from rlprof.source.lines import Line, UserLines, heaviest_line

_NOWHERE: Final = Line("", 0, "")


def describe_hang(recording: Recording, pace: Pace, roles: Mapping[int, str]) -> Hang | None:
    """The hang of a run; of those that wait in it, the process that was started first."""
    stretch = pace.found.hang
    if stretch is None:
        return None
    start_us = recording.windows[stretch.first].start_us
    waited = waited_by_thread(recording, stretch, pace.wait_kinds)
    mains = [thread for thread in recording.threads if thread.is_main and waited.get(thread.id)]
    most_us = max(sum(waited[main.id].values()) for main in mains)
    thread = min(
        (main for main in mains if 2 * sum(waited[main.id].values()) >= most_us),
        key=lambda main: (recording.processes[main.process].started_us, main.process),
    )
    kinds = {kind: us for kind, us in waited[thread.id].items() if kind in ENDLESS}
    kinds = kinds or waited[thread.id]
    place = _place(recording, thread.id, stretch, pace.wait_kinds)
    return Hang(
        start_us=start_us,
        end_us=recording.windows[stretch.last].end_us,
        pid=recording.processes[thread.process].pid,
        role=roles.get(thread.process, ""),
        kind=max(kinds, key=lambda kind: (kinds[kind], kind.value)).value,
        file=place.file,
        line=place.line,
        function=place.function,
        for_the_dead=is_after_a_death(recording, start_us),
    )


def _place(recording: Recording, thread: int, stretch: Span, kinds: Mapping[int, WaitKind]) -> Line:
    waited: dict[int, int] = defaultdict(int)
    for window, of, node, wall, idle, _ in recording.samples.rows():
        if of == thread and stretch.first <= window <= stretch.last:
            waited[node] += wall if kinds.get(node) is WaitKind.POLL else idle
    tree = CallTree(recording.nodes, {node: Cost(us, us, 0) for node, us in waited.items() if us})
    lines = UserLines(tree, recording.sources)
    by_line: dict[Line, float] = defaultdict(float)
    for node, cost in tree.self_costs():
        owner = lines.owner(node)
        if owner != NO_PARENT:
            by_line[lines.line(owner)] += cost.wall_us
    return heaviest_line(by_line) if by_line else _NOWHERE
