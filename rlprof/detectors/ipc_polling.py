"""Asking again and again whether something has happened, by what it really costs: often nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from rlprof.detectors.base import Detector, InSamples
from rlprof.detectors.recognisers.processes.lock_pollers import LockTaken, lock_taken
from rlprof.detectors.recognisers.processes.naps import (
    NO_DELAY,
    HeldUp,
    delay_of,
    held_up_by,
    left_by_waiting,
    only_watches,
    polls,
    worked,
)
from rlprof.detectors.recognisers.processes.plain_sleeps import plain_sleep
from rlprof.detectors.recognisers.processes.questions import (
    asked_share,
    asks,
    questions_between_steps,
    worth_naming,
)
from rlprof.libraries.known import library_of
from rlprof.model.activity import Activity, HostLoad, WaitKind
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Remainder, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.pace.load import wants_more_cores
from rlprof.profile.roles import SERVICES
from rlprof.source.lines import (
    Line,
    UserLines,
    added_up,
    file_name,
    heaviest_line,
    last_name,
    short_place,
)
from rlprof.source.waiting import polled
from rlprof.syntax.origin import Origin, installed_package, origin
from rlprof.units import percent

MIN_POLLING: Final = 0.05
"""Part of some thread's steady time in loops that ask, from which on they are named."""

BLOCKING: Final = calibrated(
    Range(0.9, 1.0),
    unit="part of the CPU time of a busy loop",
    source="an Event.wait costs 20 to 40 µs each time",
    date="2026-11-21",
)
"""Part that a blocking wait saves: the loop takes a core for as long as it waits."""

FEWER_QUESTIONS: Final = calibrated(
    Range(0.8, 1.0),
    unit="part of the time of the questions",
    source="is_alive 1.2 µs, is_set 0.6 µs, empty and poll 4.3 µs each",
    date="2026-11-21",
)
"""Part of the questions between steps that goes when they are asked once a second."""

LONG_NAPS: Final = 0.1
"""Part of the time of polling in which nobody works, from which on the report says so."""


@dataclass(slots=True)
class _Polling:
    """Polling of the whole run."""

    loops: set[int] = field(default_factory=set)
    """Nodes in loops that do nothing but ask."""
    questions: set[int] = field(default_factory=set)
    """Nodes of questions elsewhere."""
    worst: Activity | None = None
    """The thread with the largest part of its time in such loops."""
    part: float = 0.0
    """That part."""
    busy_part: float = 0.0
    """Part of it that is not asleep."""
    lock: LockTaken | None = None
    """The interpreter lock, where a thread that polls has taken it."""


def detect(profile: Profile) -> Iterable[Finding]:
    if not profile.critical.wall_us:
        return
    found = _find(profile)
    if found.part >= MIN_POLLING:
        yield _finding(profile, replace(found, questions=set()))
    questions = _Polling(questions=worth_naming(profile, found.questions))
    if questions.questions:
        yield _finding(profile, questions)
    if sleep := plain_sleep(profile):
        yield sleep


def _finding(profile: Profile, found: _Polling) -> Finding:
    whole = profile.critical.wall_us
    weights = _weights(profile, found)
    lines = UserLines.of(profile)
    theirs = _loop_of_a_library(profile, found)
    remainder = _without_naps(profile, found)
    return Finding(
        title=_title(weights, found, profile) if theirs is None else f"{_of(theirs)} polls",
        savings=() if remainder else tuple(_savings(profile, found)),
        remainder=remainder,
        locations=lines.shown_locations(
            {line: min(us, whole) for line, us in weights.items()}, whole
        ),
        evidence=tuple(_evidence(profile, found)),
        fix=_fix(found) if theirs is None else _fix_of_a_library(theirs),
        confidence=Confidence.BOUNDED if remainder and found.lock else Confidence.MEASURED,
    )


def _loop_of_a_library(profile: Profile, found: _Polling) -> Frame | None:
    """Return where most of the time of the loops is, if that is in a library: no line of the user's can be changed there."""
    times: dict[Frame, int] = defaultdict(int)
    for node in found.loops:
        times[profile.steady.frame(node)] += profile.steady.self_cost(node).wall_us
    theirs = {frame: us for frame, us in times.items() if origin(frame) is Origin.LIBRARY}
    # A sample now and then has the end of a stack of before.
    if sum(theirs.values()) <= sum(times.values()) / 2:
        return None
    return max(theirs, key=lambda frame: (theirs[frame], frame))


def _of(frame: Frame) -> str:
    """``TorchRL's _wait_for_workers (batched_envs.py:1934)``."""
    library = library_of(installed_package(frame.file))
    name = library.name if library else installed_package(frame.file)
    return f"{name}'s {last_name(frame.function)} ({file_name(frame.file)}:{frame.line})"


def _fix_of_a_library(frame: Frame) -> str:
    library = library_of(installed_package(frame.file))
    if library and library.instead_of_polling:
        return library.instead_of_polling
    in_process = f" ({library.in_process_envs})" if library and library.in_process_envs else ""
    return (
        "The loop is the library's, so leave it a core: take fewer workers than there are cores, or step the environments in one "
        f"process{in_process} where their steps are short."
    )


def _find(profile: Profile) -> _Polling:
    found = _Polling()
    for activity in profile.activities:
        if activity.role in SERVICES or not activity.wall_us or _is_a_watchdog(activity):
            continue
        us = busy = 0
        for node, cost in activity.tree.self_costs():
            if profile.wait_kinds.get(node) is WaitKind.POLL:
                found.loops.add(node)
                us += cost.wall_us
                busy += cost.busy_us
        if us > found.part * activity.wall_us:
            found.worst, found.part, found.busy_part = activity, us / activity.wall_us, busy / us
    found.lock = lock_taken(profile) if found.loops else None
    found.questions = questions_between_steps(profile.steady, profile.wait_kinds)
    return found


def _is_a_watchdog(activity: Activity) -> bool:
    """Tell whether a thread naps and does nothing else: nobody waits for it, and it takes no core."""
    return only_watches(activity) and activity.polling_us < MIN_POLLING * activity.wall_us


def _savings(profile: Profile, found: _Polling) -> Iterable[Saving]:
    tree = profile.steady
    if found.questions:
        yield Saving(frozenset(found.questions), FEWER_QUESTIONS)
    held_up = _held_up(profile, found)
    if held_up.nodes and not held_up.left:
        yield Saving(held_up.nodes, NO_DELAY.scaled(held_up.part))
    nodes = frozenset(found.loops)
    wall = tree.cost_of(nodes).wall_us
    if not wall:
        return
    if profile.load.saturated:
        most = min(1.0, _left_to_save(profile) * profile.critical.wall_us / wall)
        yield Saving(nodes, Range(min(BLOCKING.low, most), min(BLOCKING.high, most)))
        return
    yield Saving(nodes, NO_DELAY.scaled(delay_of(nodes, profile)))


def _without_naps(profile: Profile, found: _Polling) -> Remainder | None:
    """Return what is left where the interpreter lock, or naps, are all that there is to price, and enough is known of them."""
    if found.lock is not None:
        return Remainder(found.lock.nodes | found.loops, found.lock.left)
    held_up = _held_up(profile, found)
    if held_up.left:
        return Remainder(held_up.nodes | found.loops, held_up.left)
    if profile.load.saturated or found.questions or held_up.nodes:
        return None
    left = left_by_waiting(found.loops, profile)
    return Remainder(frozenset(found.loops), left) if left else None


def _held_up(profile: Profile, found: _Polling) -> HeldUp:
    if found.worst is None or not found.loops:
        return HeldUp()
    return held_up_by(found.worst, found.busy_part, profile)


def _left_to_save(profile: Profile) -> float:
    """No thread gets faster than the CPU time that it needs for its own work."""
    own = (
        activity.on_cpu_us - _polled_cpu_us(activity, profile) for activity in profile.activities
    )
    longest = max(own, default=0)
    return max(0.0, 1 - longest / max(1, profile.steady_us))


def _polled_cpu_us(activity: Activity, profile: Profile) -> int:
    return sum(
        cost.cpu_us
        for node, cost in activity.tree.self_costs()
        if profile.wait_kinds.get(node) is WaitKind.POLL
    )


def _is_crowded(load: HostLoad) -> bool:
    """Tell whether the run wants more cores than there are, and others have a good part of them."""
    return not load.saturated and wants_more_cores(load)


def _weights(profile: Profile, found: _Polling) -> dict[Line, float]:
    """Time of the lines that ask: of loops in the thread that asks most and in the critical ones, of questions as they are priced."""
    trees = [
        activity.tree
        for activity in profile.activities
        if found.loops and (activity is found.worst or activity.is_critical)
    ]
    asking = found.loops or found.questions
    return added_up(
        UserLines.of(profile, tree).times(
            (node, cost.wall_us) for node, cost in tree.self_costs() if node in asking
        )
        for tree in trees or [profile.steady]
    )


def _title(weights: Mapping[Line, float], found: _Polling, profile: Profile) -> str:
    line = heaviest_line(weights) if weights else None
    at = f" at {short_place(line)}" if line else ""
    asked = _names(line, found, profile)[:2] if line else []
    names = " and ".join(f"{name}()" for name in asked)
    if not found.loops:
        return f"other processes are asked{f' {names}' if names else ''} between steps{at}"
    how = "busily " if found.busy_part >= 0.5 else ""
    return f"a loop{at} {how}polls{f' {names}' if names else ''} instead of waiting"


def _names(line: Line, found: _Polling, profile: Profile) -> list[str]:
    """Return what a line asks, by what it was seen to call, the longest first, then by its text."""
    steady = profile.steady
    lines = UserLines.of(profile)
    times: dict[str, float] = defaultdict(float)
    for node in found.questions | found.loops:
        owner = lines.owner(node) if asks(steady.frame(node)) else NO_PARENT
        if owner != NO_PARENT and lines.line(owner) == line:
            times[last_name(steady.frame(node).function)] += steady.total_cost(node).wall_us
    text = profile.sources.get(line.file)
    written = polled(text, line.line) if text else ()
    # Of a question that asks another one (``empty`` does ``poll``) the line says which is its own.
    names = set(written) or set(times)
    return sorted(names, key=lambda name: (-times[name], name))


def _evidence(profile: Profile, found: _Polling) -> Iterable[str]:
    if found.worst is not None and found.loops:
        who = next(process for process in profile.processes if process.id == found.worst.process)
        yield (
            f"the {found.worst.role} process (pid {who.pid}) spends {percent(found.part)} of its steady "
            f"time in loops that only ask, {percent(found.busy_part)} of that busy"
        )
        yield _verdict(profile, found)
    if found.questions:
        yield (
            f"{percent(asked_share(profile, found.questions))} of the critical time asks between steps "
            "how other processes are"
        )


def _verdict(profile: Profile, found: _Polling) -> str:
    """Return what the loops' time is on this host: somebody's core, a delay, or nothing."""
    load = profile.load
    if load.saturated:
        cpu = profile.steady.cost_of(found.loops).wall_us
        return (
            f"the {load.cores:g} cores are full, and the loops take "
            f"{percent(cpu / max(1, profile.critical.wall_us))} of the CPU time"
        )
    if _is_crowded(load):
        burnt = sum(_polled_cpu_us(activity, profile) for activity in profile.activities)
        return (
            f"the loops take {percent(burnt / max(1, load.got_us))} of the run's CPU time, but other programs "
            "fill the cores too and would get most of it: record again on a quiet machine"
        )
    worst = found.worst
    if found.lock is not None:
        return (
            f"it has the interpreter lock meanwhile: the main thread is asleep for {percent(found.lock.share)} of the steady time on "
            "lines that wait for nothing"
        )
    at_work = max(
        (worked(wait) for wait in profile.waits if worst and polls(wait, worst)), default=0.0
    )
    if not at_work and delay_of(found.loops, profile) > LONG_NAPS:
        return "there are free cores, and it sleeps on when what it waits for is there"
    if not at_work:
        return "there are free cores, so asking takes nothing from others"
    working = f"there are free cores, and what it waits for is at work for {percent(at_work)} of that time: "
    if _held_up(profile, found).nodes:
        return f"{working}for the rest it sleeps on, and those who bound the run wait for it"
    if delay_of(found.loops, profile) > LONG_NAPS:
        return f"{working}for the rest it sleeps on"
    return f"{working}asking costs no more than waiting would"


def _fix(found: _Polling) -> str:
    if found.loops:
        return (
            "Wait instead of asking: event.wait(timeout), condition.wait_for(...), queue.get(timeout=...), "
            "concurrent.futures.wait(futures), or multiprocessing.connection.wait() on pipes and process sentinels; look at is_alive() only "
            "when the time-out has passed."
        )
    return (
        "Ask once a second, or when a message is late; "
        "multiprocessing.connection.wait([process.sentinel, ...], 0) asks for all processes at once."
    )


DETECTOR: Final = Detector(
    id="ipc-polling",
    name="loops and steps that ask again and again instead of waiting",
    in_samples=InSamples(detect),
)
