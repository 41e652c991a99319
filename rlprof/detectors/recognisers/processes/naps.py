"""Naps between questions: the time in which nobody works, and who else is held up by them, where there are free cores."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from rlprof.model.activity import Activity, Wait, WaitKind
from rlprof.model.calibration import calibrated
from rlprof.model.calltree import CallTree
from rlprof.model.counters import PROCESS_STARTS
from rlprof.model.finding import Range
from rlprof.model.profile import PhaseKind, Profile
from rlprof.profile.roles import SERVICES
from rlprof.source.lines import file_name, last_name
from rlprof.source.timed_waits import timed_waits
from rlprof.syntax.origin import Origin, origin

NO_DELAY: Final = calibrated(
    Range(0.3, 0.95),
    unit="part of the time asleep",
    source="a blocking wait wakes up after 50 to 100 µs",
    date="2026-11-21",
)
"""Part of the time asleep between two questions, when nobody works meanwhile, that a blocking wait saves;
the low is for waits that nobody's work explains."""

WAKE_UP_US: Final = calibrated(
    Range(50, 300),
    unit="µs",
    source="a blocking wait wakes up after 50 to 100 µs; torch's and numpy's first calls take 0.1 to 0.2 ms more on a core that slept",
    date="2026-11-25",
)
"""Delay that a blocking wait has in place of a nap."""

SEEN: Final = 0.9
"""Part of the time in which no sample saw anybody work that counts as a delay for the lower end: short work falls between samples."""

OUTSIDE: Final = 0.05
"""Part of its time that another thread sleeps for reasons outside of the run, from which on the
polling may well be a wait for that."""

IDLE: Final = 0.001
"""Part of its time that a thread works, below which nobody waits for it: a launcher that sleeps until the end."""

MOSTLY_FOR_ROOM: Final = 0.5
"""Part of the waits that has to be for room in a queue for all of them to be taken for it."""

_OUTSIDE_KINDS: Final = frozenset({WaitKind.SLEEP, WaitKind.SOCKET, WaitKind.UNKNOWN})


class HeldUp(NamedTuple):
    """Waits of other threads for one that naps."""

    nodes: frozenset[int] = frozenset()
    part: float = 0.0
    """Part of the waits that the naps explain, at most."""
    left: Range | None = None
    """Part of the steady phase that is left without the naps, where the waits are for room in a queue. Else None: an answer that is
    awaited comes after others' work, which fills most of the wait.
    """


def held_up_by(napping: Activity, busy_part: float, profile: Profile) -> HeldUp:
    """Return the waits of those who bound the run for ``napping``, which is none of them and busy for ``busy_part`` of its polling."""
    if napping.is_critical or only_watches(napping):
        return HeldUp()
    if profile.load.saturated or may_wait_for_outside(profile):
        return HeldUp()
    waits = _waits_for(napping, profile)
    unexplained_us = max((wait.wall_us * (1 - worked(wait)) for wait in waits), default=0.0)
    if not unexplained_us:
        return HeldUp()
    naps_us = sum(
        wait.wall_us * (1 - busy_part) * (1 - worked(wait))
        for wait in profile.waits
        if polls(wait, napping)
    )
    nodes = frozenset(node for wait in waits for node in wait.nodes)
    asleep_us = sum(
        wait.wall_us * (1 - busy_part) for wait in profile.waits if polls(wait, napping)
    )
    left = _left_with_room(waits, napping, asleep_us, profile)
    return HeldUp(nodes, min(1.0, naps_us / unexplained_us), left)


def held_up_by_sleep(sleeping: Activity, asleep_us: int, profile: Profile) -> HeldUp:
    """Return the waits for room in a queue that ``sleeping`` takes from, when it does not sleep for ``asleep_us``. Nothing of the gain
    is sure, since a plain sleep may keep a pace that has to be kept.
    """
    waits = _waits_for(sleeping, profile)
    if sleeping.is_critical or profile.load.saturated or not waits:
        return HeldUp()
    left = _left_with_room(waits, sleeping, asleep_us, profile)
    if left is None:
        return HeldUp()
    nodes = frozenset(node for wait in waits for node in wait.nodes)
    return HeldUp(nodes, 1 - left.low, Range(left.low, 1.0))


def _waits_for(napping: Activity, profile: Profile) -> list[Wait]:
    """Return the waits of those who make the steps for a thread's process, and no other one."""
    makers = {activity.process for activity in profile.activities if activity.is_critical}
    critical = {activity.thread for activity in profile.activities if activity.is_critical}
    return [
        wait
        for wait in profile.waits
        # One that naps as well has its own price.
        if wait.thread in critical
        and wait.kind is not WaitKind.POLL
        # Not for each other, as in prices: those that make the steps do so side by side.
        and _awaited(wait, but=makers) == {napping.process}
    ]


def _left_with_room(
    waits: Sequence[Wait], napping: Activity, naps_us: float, profile: Profile
) -> Range | None:
    """Return what is left of the steady phase where ``napping``, which takes from full queues, no longer naps; None where the waits
    are for something else than room.

    Who puts and who takes work side by side, so up to all of the waits may go: as long as the one that takes naps meanwhile.
    """
    nodes = {node for wait in waits for node in wait.nodes if _puts(node, profile.steady)}
    makers = [activity for activity in profile.activities if activity.is_critical]
    waited_us = sum(maker.tree.cost_of(nodes).idle_us for maker in makers)
    if waited_us < MOSTLY_FOR_ROOM * sum(wait.wall_us for wait in waits):
        return None
    busy = max(dict(wait.on).get(napping.process, 0.0) for wait in waits)
    part = waited_us / sum(maker.wall_us for maker in makers)
    naps = naps_us / napping.wall_us
    low = min(NO_DELAY.low * min(part * (1 - busy), naps), _room_on_the_cores(profile))
    return Range(1 - min(part, naps), 1 - low)


def _puts(node: int, tree: CallTree) -> bool:
    """Tell whether a wait is for room in a queue."""
    frames = (tree.frame(number) for number in (node, *tree.ancestors(node)))
    library = takewhile(lambda frame: origin(frame) is Origin.STDLIB, frames)
    return any(
        last_name(frame.function) == "put" and file_name(frame.file) in ("queue.py", "queues.py")
        for frame in library
    )


def _awaited(wait: Wait, but: Collection[int] = ()) -> set[int]:
    """Return the processes that a wait may be for: its own only where no other is, and none of ``but``."""
    own = {process for process, _ in wait.on}
    return own - {wait.process, *but} or own


def only_watches(napping: Activity) -> bool:
    """Tell whether a thread does nothing but nap, as a watchdog: nobody waits for it."""
    # It works a little later than it wakes up where others have the cores; so does its polling, whose part of the delay is its own.
    busy_us = max(1, napping.working_us + napping.polling_us)
    working_us = napping.working_us * (1 - min(1.0, napping.run_queue_us / busy_us))
    return not napping.is_critical and working_us < IDLE * napping.wall_us


def polls(wait: Wait, activity: Activity) -> bool:
    """Tell whether a wait is the polling of a thread."""
    return wait.kind is WaitKind.POLL and wait.thread == activity.thread


def worked(wait: Wait) -> float:
    """Return the part of a wait in which somebody worked whom it may be for."""
    return min(1.0, max((part for _, part in wait.on), default=0.0))


def left_by_waiting(loops: Collection[int], profile: Profile) -> Range | None:
    """Return the part of the steady phase that is left when ``loops`` wait without naps, where there are free cores; None where
    nothing tells how long a nap is, or whom it is for.
    """
    delay_us = _delay_per_nap_us(loops, profile) if delay_of(loops, profile) else 0.0
    if not delay_us:
        return None
    asleep = profile.steady.cost_of(loops).idle_us
    asleep_part = asleep / profile.critical.wall_us
    low = max(NO_DELAY.low, SEEN * (1 - WAKE_UP_US.high / delay_us))
    high = max(NO_DELAY.high, 1 - WAKE_UP_US.low / delay_us) + _more_at_most(loops, profile)
    room = max(NO_DELAY.low * asleep_part, _room_on_the_cores(profile))
    return Range(1 - min(1.0, high * asleep_part), 1 - min(low * asleep_part, room))


def _more_at_most(loops: Collection[int], profile: Profile) -> float:
    """Return what more may be saved, as part of the time in which nobody works.

    The work that is waited for was taken to fall all into the naps, and some of it may be done while the thread that naps works.
    And who wakes up waits for a core where others have them. Never more than that time itself: where work explains the naps,
    they are a wait for it.
    """
    steady = profile.steady
    trees = [activity.tree for activity in profile.activities if activity.is_critical]
    waited = sum(tree.cost_of(loops).wall_us for tree in trees)
    left = steady.cost_of(loops).wall_us
    side_by_side = max(0, min(waited - left, profile.critical.wall_us - waited))
    queued = sum(
        max(0, cost.busy_us - cost.cpu_us)
        for node, cost in steady.self_costs()
        if node not in loops
    )
    return min(left, side_by_side + queued) / left if left else 0.0


def _delay_per_nap_us(loops: Collection[int], profile: Profile) -> float:
    """Return the time of one nap in which nobody works, at least, on average; 0 where it is not known, nor whom the nap is for.

    A thread naps at most as often as it gives its CPU away.
    """
    waits = [wait for wait in profile.waits if not wait.nodes.isdisjoint(loops)]
    on_somebody = {wait.thread for wait in waits if wait.on}
    napping = [
        activity
        for activity in profile.activities
        if activity.is_critical and activity.thread in {wait.thread for wait in waits}
    ]
    switches = [profile.switches.get(activity.process, 0.0) for activity in napping]
    is_known = all(activity.is_main and activity.thread in on_somebody for activity in napping)
    # Work of threads without Python, or of a GPU, may be what the naps are for, and no sample shows it.
    is_unseen = profile.gpus or profile.load.native_us >= OUTSIDE * profile.critical.wall_us
    if not napping or not is_known or not all(switches) or is_unseen:
        return 0.0
    return profile.steady.cost_of(loops).idle_us / sum(switches)


def _room_on_the_cores(profile: Profile) -> float:
    """Return the share that can be saved until the run fills all cores."""
    load = profile.load
    wanted_us = load.got_us + load.queued_us
    return max(0.0, 1 - wanted_us / load.available_us) if load.available_us else 0.0


def delay_of(loops: Collection[int], profile: Profile) -> float:
    """Return the part of the time of ``loops`` in which they sleep and nobody works, where there are free cores.

    A busy loop only waits then; what it waits for, others' work, is taken out already.
    """
    cost = profile.steady.cost_of(loops)
    if not cost.wall_us or may_wait_for_outside(profile):
        return 0.0
    return cost.idle_us / cost.wall_us


def may_wait_for_outside(profile: Profile) -> bool:
    """Tell whether somebody sleeps, is not seen, or nobody is there who could be waited for."""
    if any(
        process.fate not in ("sampled", "probe-only")
        for process in profile.processes
        if profile.process_roles.get(process.id) not in SERVICES
    ):
        return True
    if _starts_unseen_programs(profile):
        return True
    others = [
        activity
        for activity in profile.activities
        if activity.role not in SERVICES and activity.working_us >= IDLE * activity.wall_us
    ]
    if len(others) < 2:
        return True
    return any(_asleep_outside(other, profile) >= OUTSIDE * other.wall_us for other in others)


def _starts_unseen_programs(profile: Profile) -> bool:
    """Tell whether processes were started in the steady phase that were not seen: programs that are not Python's."""
    steady = [phase for phase in profile.phases if phase.kind is PhaseKind.STEADY]
    seen = sum(
        phase.start_us <= process.started_us <= phase.end_us
        for process in profile.processes
        for phase in steady
    )
    return profile.counts.get(PROCESS_STARTS, 0.0) > seen


def _asleep_outside(activity: Activity, profile: Profile) -> int:
    return sum(
        cost.idle_us
        for node, cost in activity.tree.self_costs()
        if cost.idle_us and _may_end_by_itself(node, activity, profile)
    )


def _may_end_by_itself(node: int, activity: Activity, profile: Profile) -> bool:
    kind = profile.wait_kinds.get(node, WaitKind.UNKNOWN)
    return kind in _OUTSIDE_KINDS or (kind is WaitKind.EVENT and _is_timed(node, activity, profile))


def _is_timed(node: int, activity: Activity, profile: Profile) -> bool:
    """Tell whether the user's line that waits says for how long."""
    tree = activity.tree
    frames = (tree.frame(number) for number in (node, *tree.ancestors(node)))
    line = next((frame for frame in frames if origin(frame) is Origin.YOURS), None)
    text = profile.sources.get(line.file) if line is not None else None
    return line is not None and text is not None and line.line in timed_waits(text)
