"""The processes of a page: who started whom, when they lived, and who waits for whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from rlprof.model.report import ProcessRow, Report
from rlprof.names import cut_middle, printable
from rlprof.renderers.html.document import View
from rlprof.renderers.html.drawings import Edge, life_bar, wait_graph
from rlprof.report import wording
from rlprof.report.wording.run import LEAST_WAIT, samples_per_second, spread

MOST_LIVES: Final = 60
"""Processes drawn one below the other in the bar of their group: thinner lines are not seen."""

MOST_DEPTH: Final = 6
"""Levels of indentation; deeper ones stay at the last."""

MOST_NAMES: Final = 12
"""In the graph of waits, those of the longest waits."""

_COMMAND_LIMIT: Final = 160
_NAME_LIMIT: Final = 26


def process_groups(report: Report) -> list[View]:
    """The tree, from the top: the alike children of a parent are one row, and so are theirs."""
    rows = report.processes
    children: dict[int, list[int]] = {}
    at: dict[int, int] = {}
    for number, row in enumerate(rows):
        # A parent is seen before its children; a later process may have the pid of an earlier one.
        children.setdefault(at.get(row.ppid, -1), []).append(number)
        at[row.pid] = number
    groups = []
    pending = [(0, numbers) for numbers in reversed(_alike(children.get(-1, ()), rows))]
    while pending:
        depth, members = pending.pop()
        groups.append(_group([rows[member] for member in members], depth, report))
        below = [child for member in members for child in children.get(member, ())]
        pending += [(depth + 1, numbers) for numbers in reversed(_alike(below, rows))]
    return groups


def every_process(report: Report) -> list[View]:
    return [_group([row], 0, report) for row in report.processes]


def _alike(numbers: Sequence[int], rows: Sequence[ProcessRow]) -> list[list[int]]:
    groups: dict[tuple[str, str, bool, str], list[int]] = {}
    for number in numbers:
        row = rows[number]
        groups.setdefault((row.role, row.python, row.sampled, row.note), []).append(number)
    return list(groups.values())


def _group(rows: Sequence[ProcessRow], depth: int, report: Report) -> View:
    """Processes of one parent that are alike, or one alone."""
    first = rows[0]
    wall = max(report.run.wall_us / 1e6, *(row.started_s + row.wall_s for row in rows), 1e-6)
    begun = min(row.started_s for row in rows)
    ended = max(row.started_s + row.wall_s for row in rows)
    return {
        "depth": min(depth, MOST_DEPTH),
        "name": wording.named(first.role, [row.pid for row in rows]),
        "life": life_bar([_life(row, wall) for row in rows[:MOST_LIVES]]),
        "lived": f"{begun:.1f} to {ended:.1f} s",
        "wall": spread([row.wall_s for row in rows], "{:.1f}"),
        "start_up": spread([row.start_up_s for row in rows], "{:.1f}"),
        "cpu": spread([row.cpu_s for row in rows], "{:.1f}"),
        "rate": samples_per_second(rows) if first.sampled else "",
        "note": first.note,
        "command": cut_middle(printable(first.command), _COMMAND_LIMIT),
    }


def _life(row: ProcessRow, wall_s: float) -> tuple[float, float, float]:
    ended = row.started_s + row.wall_s
    ready = min(ended, row.started_s + row.start_up_s)
    return row.started_s / wall_s, ready / wall_s, ended / wall_s


# --- who waits for whom --------------------------------------------------------------------


def graph_of_waits(report: Report) -> Markup | None:
    """Processes of one role are one name. None where nobody waits for another for long."""
    pids: dict[str, set[int]] = {}
    for row in report.processes:
        pids.setdefault(row.role, set()).add(row.pid)
    longest: dict[tuple[str, str], tuple[float, str]] = {}
    for wait in report.waits:
        if wait.share < LEAST_WAIT:
            continue
        for role in {role for pid, role, _ in wait.on if pid != wait.pid}:
            known = longest.get((wait.role, role), (0.0, ""))
            longest[wait.role, role] = max(known, (wait.share, wait.kind))
    if not longest:
        return None
    heaviest = sorted(longest.items(), key=lambda edge: (-edge[1][0], edge[0]))
    names: list[str] = []
    for (who, whom), _ in heaviest:
        names += [name for name in dict.fromkeys((who, whom)) if name not in names]
    names = sorted(names[:MOST_NAMES], key=[*pids, *names].index)
    edges = [
        Edge(names.index(who), names.index(whom), share, kind)
        for (who, whom), (share, kind) in heaviest
        if who in names and whom in names
    ]
    shown = [
        cut_middle(printable(wording.named(name, sorted(pids.get(name, {0})))), _NAME_LIMIT)
        for name in names
    ]
    return wait_graph(shown, edges)
