"""Tell what the transforms hand on while a profile is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rlprof.model.activity import (
    NO_LOAD,
    NOT_BOUND,
    Activity,
    Bound,
    Component,
    HostLoad,
    Wait,
    WaitKind,
)
from rlprof.model.calltree import CallTree
from rlprof.model.profile import Critical
from rlprof.model.recording import Recording
from rlprof.pace.pace import Pace
from rlprof.profile.activities import SteadyThreads
from rlprof.profile.critical import CriticalThreads
from rlprof.profile.fold import Folded


@dataclass(slots=True)
class Draft:
    """Each field is set by the transform that finds it, for those after it; ``Profile`` says what they mean."""

    recording: Recording
    pace: Pace
    wait_kinds: Mapping[int, WaitKind] = field(default_factory=dict)
    parts: Sequence[str] = ()
    """The part of training of each node, by its number."""
    critical: CriticalThreads = field(init=False)
    threads: SteadyThreads = field(init=False)
    load: HostLoad = NO_LOAD
    counts: dict[int, dict[str, float]] = field(default_factory=dict)
    """By process and name, of the steady phase."""
    roles: Mapping[int, str] = field(default_factory=dict)
    folded: Folded = field(init=False)
    steady: CallTree = field(init=False)
    described: Critical = field(init=False)
    activities: tuple[Activity, ...] = ()
    waits: tuple[Wait, ...] = ()
    bound: Bound = NOT_BOUND
    components: tuple[Component, ...] = ()

    @property
    def working(self) -> set[int]:
        """Processes of the critical threads."""
        return {self.recording.threads[thread].process for thread in self.critical.threads}
