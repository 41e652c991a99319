"""Updates: which lines of a run gradients come from, found from the stacks below which they were made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rlprof.libraries.questions import is_framework
from rlprof.model.calltree import handed_down, with_callees
from rlprof.model.recording import NO_PARENT, Frame, Node
from rlprof.source.lines import begins_process
from rlprof.source.updates import update_lines, without_gradients
from rlprof.syntax.module import SourceModule, parse
from rlprof.syntax.origin import Origin, installed_package, origin_of_file

_MOST_CALLERS: Final = 4
"""Functions between an optimizer and the loss: a wrapper of a library's, and a few of the user's."""

_LEAST_PART: Final = 0.05
"""Part of the time below the heaviest line of a function (of a file, for networks and environments), from which on a line is
believed to call what it was seen to: stacks that were read while they changed show callees at their neighbours."""

_MOSTLY: Final = 0.5
"""Part of a line's time in a pool from which on the line is one that hands tasks over, or waits for them."""

_MOSTLY_OFF: Final = 0.9
"""Part of the time of the networks below a line that record no gradients, from which on the line is one that acts."""

_LEAST_OF_UPDATES: Final = 0.02
"""The same of functions that call for gradients, of the time below the one that does so longest."""

_LEAST_OF_STEPS: Final = 0.01
"""The same of lines that step environments: those in forked workers are below the line that made them, which has the time
of all of them.
"""


_Function = tuple[str, str]
"""File and name."""
_Line = tuple[str, int]
"""File and line."""


@dataclass(frozen=True, slots=True)
class Updates:
    learns: frozenset[_Line]
    makes_ready: frozenset[_Line]
    """Where what an update works on is made ready."""
    acts: frozenset[_Line]
    """Where a rollout goes on beside it."""
    functions: frozenset[_Function]
    """Those whose lines were told apart."""
    whole: frozenset[_Function]
    """Those without a source that make gradients: all of one is an update, unless it steps environments or passes messages on."""


def find_updates(
    nodes: Sequence[Node],
    sources: Mapping[str, str],
    *,
    gradients: Sequence[int],
    networks: Sequence[int],
    environment: Sequence[int],
    messages: Sequence[int],
    handed_over: Collection[int] = (),
    time_us: Sequence[int],
) -> Updates:
    """From the line that calls the framework for gradients, up to the function that asks a network for what they are of.

    ``gradients``, ``networks``, ``environment``, ``messages``: nodes that make gradients or step an optimizer, ask a network,
    step an environment, pass a message on; ``handed_over``: nodes in which a pool is given tasks, or waited for;
    ``time_us``: own time of each node.
    """
    total_us = with_callees(nodes, time_us)
    asked = _topmost(nodes, networks)
    asked_us = _times_above(nodes, asked, total_us)
    off_us = _times_above(nodes, _without_gradients(nodes, asked, sources), total_us)
    stepped_us = _times_above(nodes, _topmost(nodes, environment), total_us)
    pooled = _mostly(nodes, handed_over, total_us)
    around = _functions_above(nodes, environment)
    exchanging = around | _functions_above(nodes, messages)
    asking_functions = _functions_above(nodes, networks)
    level = _not_by_chance(
        _by_function(
            nodes, ((_caller(nodes, node), total_us[node]) for node in _topmost(nodes, gradients))
        )
    )
    learns: set[_Line] = set()
    ready: set[_Line] = set()
    acts: set[_Line] = set()
    functions: set[_Function] = set()
    whole: set[_Function] = set()
    for _ in range(_MOST_CALLERS):
        callers: list[tuple[int, int]] = []
        for (file, name), calls in level.items():
            module = parse(sources[file]) if file in sources else None
            if module is None:
                if (file, name) not in exchanging:
                    whole.add((file, name))
                    if (file, name) not in asking_functions:
                        callers += ((_caller(nodes, call), us) for call, us in calls.items())
                continue
            updating = _believed(nodes, calls)
            asking = _asking(module, updating, asked_us.get(file, {}), sum(calls.values()))
            found = update_lines(
                module,
                updating,
                networks=asking,
                # What a pool works out is given, as what an environment does: other stacks show the work.
                environment=_heavy(stepped_us.get(file, {}), _LEAST_OF_STEPS)
                | {line for of, line in pooled if of == file},
                without_gradients=without_gradients(sources[file])
                | _mostly_off(asked_us.get(file, {}), off_us.get(file, {})),
            )
            learns |= {(file, line) for line in found.learns}
            ready |= {(file, line) for line in found.makes_ready}
            acts |= {(file, line) for line in found.acts}
            functions.add((file, name))
            if not (found.learns & asking) and (file, name) not in around:
                callers += ((_caller(nodes, call), us) for call, us in calls.items())
        level = _by_function(nodes, callers)
        level = {key: calls for key, calls in level.items() if key not in functions | whole}
    return Updates(
        frozenset(learns),
        frozenset(ready - learns),
        frozenset(acts - learns),
        frozenset(functions),
        frozenset(whole),
    )


def _mostly(nodes: Sequence[Node], chosen: Collection[int], total_us: Sequence[int]) -> set[_Line]:
    """The lines most of whose time is spent in ``chosen``, or below."""
    whole_us: dict[_Line, int] = defaultdict(int)
    for number, parent, frame in nodes:
        line = (frame.file, frame.line)
        above = nodes[parent].frame if parent != NO_PARENT else None
        if above is None or (above.file, above.line) != line:
            whole_us[line] += total_us[number]
    within = _times_above(nodes, _topmost(nodes, chosen), total_us) if chosen else {}
    return {
        (file, line)
        for file, lines in within.items()
        for line, us in lines.items()
        if us >= _MOSTLY * whole_us[file, line]
    }


def _topmost(nodes: Sequence[Node], chosen: Iterable[int]) -> list[int]:
    """Those of ``chosen`` that are below no other."""
    wanted = frozenset(chosen)
    inside = bytearray(len(nodes))
    for number, parent, _ in nodes:
        if parent != NO_PARENT:
            inside[number] = inside[parent] or parent in wanted
    return [number for number in sorted(wanted) if not inside[number]]


def _by_function(
    nodes: Sequence[Node], calls: Iterable[tuple[int, int]]
) -> dict[_Function, dict[int, int]]:
    """The time below each call, by function and node."""
    found: dict[_Function, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for node, us in calls:
        if node != NO_PARENT:
            frame = nodes[node].frame
            found[frame.file, frame.function][node] += us
    return found


def _not_by_chance(calls: dict[_Function, dict[int, int]]) -> dict[_Function, dict[int, int]]:
    """Leave out functions that hardly call for gradients, as others go: stacks that were read while they changed."""
    times = {function: sum(own.values()) for function, own in calls.items()}
    least_us = _LEAST_OF_UPDATES * max(times.values(), default=0)
    return {function: own for function, own in calls.items() if times[function] >= least_us}


def _believed(nodes: Sequence[Node], calls: Mapping[int, int]) -> frozenset[int]:
    by_line: dict[int, int] = defaultdict(int)
    for node, us in calls.items():
        by_line[nodes[node].frame.line] += us
    return _heavy(by_line, _LEAST_PART)


def _asking(
    module: SourceModule, updating: Collection[int], asked_us: Mapping[int, int], own_us: int
) -> frozenset[int]:
    """Return lines of a file that ask networks for long, as the file goes, or as the update goes that takes ``own_us``."""
    function = module.function_at(min(updating))
    beside = (
        line
        for line, us in asked_us.items()
        if us >= _LEAST_PART * own_us and module.function_at(line) is function
    )
    return _heavy(asked_us, _LEAST_PART).union(beside)


def _without_gradients(
    nodes: Sequence[Node], asked: Iterable[int], sources: Mapping[str, str]
) -> list[int]:
    """Those of ``asked`` that are below lines, or on them, that record no gradients. Files that ask no network are not read."""

    def is_off(frame: Frame, above: bool) -> bool:
        return above or frame.line in without_gradients(sources.get(frame.file, ""))

    off = {NO_PARENT: False}
    return [node for node in asked if handed_down(nodes, node, is_off, off)]


def _mostly_off(asked_us: Mapping[int, int], off_us: Mapping[int, int]) -> frozenset[int]:
    """Return the lines of a file below which networks are asked without gradients: a helper may switch them off."""
    return frozenset(line for line, us in off_us.items() if us >= _MOSTLY_OFF * asked_us[line])


def _heavy(by_line: Mapping[int, int], least_part: float) -> frozenset[int]:
    least_us = least_part * max(by_line.values(), default=0)
    return frozenset(line for line, us in by_line.items() if us >= least_us)


def _caller(nodes: Sequence[Node], node: int) -> int:
    """The nearest caller that is neither the framework itself nor Python's own; none in the process that started this one."""
    current = nodes[node].parent
    while current != NO_PARENT:
        frame = nodes[current].frame
        if begins_process(frame):
            return NO_PARENT
        if not is_framework(installed_package(frame.file)) and (
            origin_of_file(frame.file) not in (Origin.STDLIB, Origin.RUNTIME)
        ):
            break
        current = nodes[current].parent
    return current


def _functions_above(nodes: Sequence[Node], below: Iterable[int]) -> set[_Function]:
    """The functions of all callers of ``below``."""
    seen: set[int] = set()
    for node in below:
        current = nodes[node].parent
        while current != NO_PARENT and current not in seen:
            seen.add(current)
            current = nodes[current].parent
    return {(nodes[each].frame.file, nodes[each].frame.function) for each in seen}


def _times_above(
    nodes: Sequence[Node], below: Sequence[int], total_us: Sequence[int]
) -> dict[str, dict[int, int]]:
    """The time of ``below`` by file and line of all callers."""
    lines: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for node in below:
        seen: set[_Line] = set()
        current = nodes[node].parent
        while current != NO_PARENT:
            frame = nodes[current].frame
            if (frame.file, frame.line) not in seen:
                seen.add((frame.file, frame.line))
                lines[frame.file][frame.line] += total_us[node]
            current = nodes[current].parent
    return lines
