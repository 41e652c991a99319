"""A batch that is waited for until a time-out ends the wait, while all who could fill it wait for the one that gathers it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.processes.naps import OUTSIDE, may_wait_for_outside, worked
from rlprof.model.activity import FOR_OTHERS, Activity
from rlprof.model.finding import Confidence, Finding, Range, Remainder
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT
from rlprof.source.gathers import gathering_waits
from rlprof.source.lines import Line, UserLines, heaviest_line, short_place
from rlprof.units import percent

MIN_SHARE: Final = 0.1
"""Part of the critical time in which nobody works, and part of its own time that the gathering thread waits, from which on it is told: less is
the give and take of a queue.
"""

WITH_WAKE_UPS: Final = 1.15
"""Times the wait that goes at most: who wakes up for nothing at its end takes time, too. By reason."""


MOST: Final = 0.98
"""Part of the time that is ever said to go."""


class _Gathering(NamedTuple):
    """A thread that gathers batches, and waits for more."""

    activity: Activity
    line: Line
    waited_us: float

    @property
    def part(self) -> float:
        return self.waited_us / self.activity.wall_us


def detect(profile: Profile) -> Iterable[Finding]:
    whole = profile.critical.wall_us
    # Work of a GPU, or of threads without Python, may be what all wait for, and no sample shows it.
    is_unseen = profile.gpus or profile.load.native_us >= OUTSIDE * whole
    if not whole or profile.load.saturated or is_unseen or may_wait_for_outside(profile):
        return
    waits = [
        wait
        for wait in profile.waits
        if wait.thread in profile.critical.threads and wait.kind in FOR_OTHERS
    ]
    idle_us = sum(wait.wall_us * (1 - worked(wait)) for wait in waits)
    theirs = {wait.process for wait in waits}.union(on for wait in waits for on, _ in wait.on)
    asked = (each for each in _gathering(profile) if each.activity.process in theirs)
    most = max(asked, key=lambda each: each.part, default=None)
    if most is None or min(most.part, idle_us / whole) < MIN_SHARE:
        return
    idle = idle_us / whole
    # Of two parts of one time that much at least is in both.
    least, both = max(0.0, idle + most.part - 1), min(idle, most.part)
    nodes = frozenset(node for wait in waits for node in wait.nodes)
    yield Finding(
        title=f"a batch is waited for until a time-out ({short_place(most.line)})",
        savings=(),
        remainder=Remainder(nodes, Range(1 - min(MOST, WITH_WAKE_UPS * both), 1 - least)),
        locations=UserLines.of(profile, most.activity.tree).locations(
            {most.line: most.waited_us}, most.activity.wall_us
        ),
        evidence=(
            f"the thread that gathers it waits {percent(most.part)} of its time there, for more than has come",
            f"for {percent(idle)} of the critical time all others wait as well, and nobody works: nobody is left who could send more",
        ),
        fix="Go on when all have sent theirs: gather no more than there are senders with nothing else to do. Or take what is there (get_nowait), and wait "
        "for the first alone.",
        confidence=Confidence.BOUNDED,
    )


def _gathering(profile: Profile) -> Iterator[_Gathering]:
    for activity in profile.activities:
        lines = UserLines.of(profile, activity.tree)
        waited: dict[Line, float] = defaultdict(float)
        for node, cost in activity.tree.self_costs():
            owner = lines.owner(node) if cost.idle_us else NO_PARENT
            if owner == NO_PARENT or profile.wait_kinds.get(node) not in FOR_OTHERS:
                continue
            frame = activity.tree.frame(owner)
            if frame.line in gathering_waits(profile.sources.get(frame.file, "")):
                waited[lines.line(owner)] += cost.idle_us
        if waited and activity.wall_us:
            line = heaviest_line(waited)
            yield _Gathering(activity, line, waited[line])


DETECTOR: Final = Detector(
    id="expired-waits",
    name="batches that are waited for until a time-out",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
