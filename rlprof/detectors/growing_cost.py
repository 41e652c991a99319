"""Lines that take more and more of the time as the training goes on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from rlprof.detectors.base import Detector, InSamples
from rlprof.detectors.recognisers.how_often import may_run_more_often
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT
from rlprof.profile.components import ENVIRONMENT
from rlprof.source.lines import Line, UserLines, heaviest_line, last_name, short_place
from rlprof.source.values import Values
from rlprof.units import duration, percent, rough_count

MIN_SHARE: Final = 0.08
"""Least share of the critical time: less is too few samples in a quarter to tell how it goes."""

LEAST_GROWN: Final = calibrated(
    2.0,
    unit="times the first quarter",
    source="docs/accuracy.md: in 20 recordings of strangers' programs no line with a share like this grew by twice, but one whose hooks were added "
    "again and again: 4.0",
    date="2026-11-27",
)
"""Growth of the time per step from the first quarter to the last, over that of all else: a crowded machine slows all alike."""

STILL_GROWS: Final = 1.2
"""The same from the second quarter to the last: learning that begins within the first, or a buffer that fills up, has come to an end by then.
Each quarter has more than the one before it, too: a disk is slow at times."""

LEAST_AT_FIRST: Final = 0.05
"""Part of the last quarter's time per step that the first has: what begins later does not grow, it begins."""

LEAST_LONGER: Final = 0.8
"""Part of the line's growth by which the whole step is longer in the last quarter. Where it is not, the time moved from one line to another:
samples of lines of a few microseconds do, by turns of luck. By reason; of two lines that did grow the steps became longer by 0.98 and 1.6 of it."""

FEWEST_SAMPLES: Final = 40
"""Least samples of a line in the last quarter."""

MOST_REMOVED: Final = 0.97
"""Part of its time that goes at most."""

LEAST_REMOVED: Final = 0.5
"""The same at least, of what came on top of the first quarter's time per step; nothing in an environment, which may be meant to get harder.
By reason."""

_NAMED: Final = 24


@dataclass(slots=True)
class _UserLine:
    """One of the user's, with all that is called there, and what is defined there: a ``lambda``, a comprehension."""

    wall_us: list[int]
    """By quarter."""
    nodes: set[int] = field(default_factory=set)
    weights: dict[Line, float] = field(default_factory=lambda: defaultdict(float))


def detect(profile: Profile) -> Iterable[Finding]:
    whole = profile.critical.wall_us
    lines = UserLines.of(profile)
    values = Values(profile.values)
    for line in _lines(profile, lines) if whole and profile.quarters else ():
        weight = sum(line.weights.values())
        if weight < MIN_SHARE * whole or not _grows(line, profile):
            continue
        heaviest = _heaviest(line, profile)
        if may_run_more_often(profile.steady, lines, heaviest) and not _works_on_more(
            profile, lines, values, heaviest
        ):
            continue
        each = _per_step(line.wall_us, profile)
        unit = "a step" if profile.steady_steps else "an update"
        place = heaviest_line(line.weights)
        yield Finding(
            title=f"{_named(place)} takes ever longer ({short_place(place)})",
            savings=(Saving(frozenset(line.nodes), _removable(line, profile)),),
            locations=lines.shown_locations(line.weights, whole),
            evidence=(
                f"{percent(weight / whole)} of the steady time is spent there",
                f"it takes {', '.join(duration(us) for us in each)} {unit} in the quarters of the steady phase: "
                f"{rough_count(each[-1] / each[0])} times as long in the last as in the first",
                f"all else takes {', '.join(duration(us) for us in _rest(line, profile))}",
            ),
            fix="Look at what it goes through, and how often it is called: a list, a file or a table that only grows and is read as a whole; hooks, callbacks or "
            "wrappers that are added again in each epoch. Keep the last N, or running totals, and add such things once. If its work is meant to grow, leave it.",
            confidence=Confidence.BOUNDED,
        )


def _lines(profile: Profile, lines: UserLines) -> Iterable[_UserLine]:
    tree = profile.steady
    found: dict[tuple[str, int], _UserLine] = {}
    for node in tree.hot_nodes():
        owner = lines.owner(node)
        if owner == NO_PARENT:
            continue
        frame = tree.frame(owner)
        line = found.setdefault((frame.file, frame.line), _UserLine([0] * len(profile.quarters)))
        line.nodes.add(node)
        line.weights[lines.line(owner)] += tree.self_cost(node).wall_us
        for number, quarter in enumerate(profile.quarters):
            line.wall_us[number] += quarter.wall_us.get(node, 0)
    return found.values()


def _grows(line: _UserLine, profile: Profile) -> bool:
    if line.wall_us[-1] < FEWEST_SAMPLES * profile.critical.sample_interval_us:
        return False
    own, rest = _per_step(line.wall_us, profile), _rest(line, profile)
    first, second, third, last = (each / max(1e-9, of) for each, of in zip(own, rest, strict=True))
    return (
        own[0] >= LEAST_AT_FIRST * own[-1]
        and own[-1] >= LEAST_GROWN * own[0]
        and last >= LEAST_GROWN * first
        and first < second < third < last
        and last >= STILL_GROWS * second
        and rest[-1] + own[-1] - rest[0] - own[0] >= LEAST_LONGER * (own[-1] - own[0])
    )


def _heaviest(line: _UserLine, profile: Profile) -> int:
    return max(line.nodes, key=lambda node: profile.steady.self_cost(node).wall_us)


def _works_on_more(profile: Profile, lines: UserLines, values: Values, node: int) -> bool:
    """Tell whether something that the line works on was longer at each look."""
    frame = profile.steady.frame(lines.owner(node))
    return any(
        value.grows()
        for statement in lines.statements(frame)
        for value in values.of(frame.file, statement).values()
    )


def _removable(line: _UserLine, profile: Profile) -> Range:
    if profile.parts and profile.parts[_heaviest(line, profile)] == ENVIRONMENT:
        return Range(0.0, MOST_REMOVED)
    each = _per_step(line.wall_us, profile)
    steps = sum(quarter.steps for quarter in profile.quarters)
    on_top = 1 - each[0] * steps / sum(line.wall_us)
    return Range(LEAST_REMOVED * max(0.0, on_top), MOST_REMOVED)


def _per_step(wall_us: Sequence[int], profile: Profile) -> list[float]:
    return [us / quarter.steps for us, quarter in zip(wall_us, profile.quarters, strict=True)]


def _rest(line: _UserLine, profile: Profile) -> list[float]:
    """The time per step of everything else."""
    whole = [sum(quarter.wall_us.values()) for quarter in profile.quarters]
    rest = [all_us - us for all_us, us in zip(whole, line.wall_us, strict=True)]
    return _per_step(rest, profile)


def _named(line: Line) -> str:
    name = last_name(line.function)
    if name.startswith("<"):
        return "a line"
    return name if len(name) <= _NAMED else f"{name[: _NAMED - 1]}…"


DETECTOR: Final = Detector(
    id="growing-cost",
    name="lines that take longer and longer",
    in_samples=InSamples(detect),
)
