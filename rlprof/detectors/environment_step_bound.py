"""The environment itself takes most of the time: nothing to gain around it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from rlprof.detectors.base import Detector, InSamples
from rlprof.libraries.known import files_of, packages_of
from rlprof.model.activity import Component
from rlprof.model.calltree import CallTree
from rlprof.model.finding import Confidence, Finding
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT
from rlprof.profile.components import ENVIRONMENT
from rlprof.source.lines import Line, UserLines, heaviest_line, short_place
from rlprof.syntax.origin import Origin, installed_package, origin
from rlprof.units import count, duration, percent

MIN_SHARE: Final = 0.5
"""Least share of the critical time: from here on all else together is worth less than a factor of two."""

SHOWN_LINES: Final = 5

LEAST_NAMED: Final = 0.05
"""Part of the environment's time from which its wrappers, or whose code it is, are worth a word."""

_does_callers_work: Final = packages_of(lambda library: library.does_callers_work)
_wraps: Final = files_of(lambda library: library.wrappers)


class _Environment:
    """The time of the environment, by line."""

    def __init__(self, profile: Profile) -> None:
        self.lines = UserLines.of(profile)
        self.weights: dict[Line, float] = defaultdict(float)
        self.wrappers_us = 0.0
        self.total_us = 0.0
        """Busy time alone."""
        tree = profile.steady
        names = profile.parts
        for node, cost in tree.self_costs():
            if names[node] != ENVIRONMENT or not cost.busy_us:
                continue
            place = _place(tree, node, names)
            self.weights[self.lines.line(place)] += cost.busy_us
            self.total_us += cost.busy_us
            if _wraps(tree.frame(place).file):
                self.wrappers_us += cost.busy_us


def _place(tree: CallTree, node: int, names: Sequence[str]) -> int:
    """The line of the environment that has to do with it: not numpy's, that it called."""
    current = node
    while current != NO_PARENT and names[current] == ENVIRONMENT:
        frame = tree.frame(current)
        has_lines = origin(frame) in (Origin.YOURS, Origin.LIBRARY)
        if has_lines and not _does_callers_work(installed_package(frame.file)):
            return current
        current = tree.nodes[current].parent
    return node


def detect(profile: Profile) -> Iterable[Finding]:
    component = next(
        (
            candidate
            for candidate in profile.components
            if candidate.name == ENVIRONMENT and not candidate.is_marked
        ),
        None,
    )
    if component is None or component.priced_share < MIN_SHARE:
        return
    environment = _Environment(profile)
    # A component's share holds its sleep: an environment in real time is not busy, nor to be hurried.
    share = environment.total_us / profile.critical.wall_us
    if share < MIN_SHARE:
        return
    locations = environment.lines.locations(environment.weights, profile.critical.wall_us)
    heaviest = heaviest_line(environment.weights)
    yield Finding(
        title=f"the environment takes {percent(share)} of the time ({short_place(heaviest)})",
        savings=(),
        locations=locations[:SHOWN_LINES],
        evidence=tuple(_evidence(component, environment)),
        fix="Only a faster environment makes this training much faster: begin with its heaviest lines, "
        "above. A simulator that steps many environments in one call may be worth a look.",
        confidence=Confidence.MEASURED,
    )


def _evidence(component: Component, environment: _Environment) -> Iterable[str]:
    if component.per_step_us:
        side_by_side = f", {component.parallel:.0f} at a time" if component.parallel >= 1.5 else ""
        yield f"{duration(component.per_step_us)} a step in the environment{side_by_side}"
    else:
        yield "no steps were counted: what one step takes is not known"
    if component.ceiling_sps is not None:
        yield f"were all else free, it would allow {count(component.ceiling_sps)} steps per second"
    if environment.wrappers_us >= LEAST_NAMED * environment.total_us:
        part = environment.wrappers_us / environment.total_us
        yield f"{percent(part)} of it is in wrappers around the environment"


DETECTOR: Final = Detector(
    id="environment-step-bound",
    name="the environment itself takes most of the time",
    in_samples=InSamples(detect),
)
"""No price: what of an environment's own work can be saved, its author knows."""
