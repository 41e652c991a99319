"""Time of the critical threads in garbage collections, asked for or automatic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples
from rlprof.detectors.recognisers.line_time import LineTime
from rlprof.model.calibration import calibrated
from rlprof.model.counters import GC_COLLECTIONS
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import GC_FUNCTION, NO_PARENT
from rlprof.source.lines import Line, UserLines, heaviest_line, short_place
from rlprof.syntax.module import called_name
from rlprof.units import count, percent

MIN_SHARE: Final = 0.02
"""Least share of the critical time. Programs with some thousand live objects spend under 1 % in collections."""

MIN_US: Final = 100_000
"""Least time in collections: ten samples. In a run of less than a second what a few say is chance."""

SURE_SHARE: Final = 0.05
"""Share from which on one full collection in the steady phase is enough: below it, one says nothing of when the next will be."""

ASKED_FOR: Final = calibrated(
    Range(0.9, 1.0),
    unit="part of the time in gc.collect()",
    source="one program: 0.86 was shown, 0.87 saved",
    date="2026-11-21",
)
"""Part that goes with the call: Python's own collections take over what there is to do, and walk old
objects only when these have grown by a quarter."""

AUTOMATIC: Final = Range(0.5, 0.98)
"""Part that goes with ``gc.freeze()`` after set-up and thresholds some tens of times higher. It depends
on how many objects of the loop live on, which no sample shows."""


def detect(profile: Profile) -> Iterable[Finding]:
    tree, whole = profile.steady, profile.critical.wall_us
    lines = UserLines.of(profile)
    asked, automatic = LineTime(profile, lines), LineTime(profile, lines)
    for node, cost in tree.self_costs():
        # With no code above it, it is the interpreter's own at its end.
        if tree.frame(node).function != GC_FUNCTION or tree.nodes[node].parent == NO_PARENT:
            continue
        owner = lines.owner(node)
        kind = asked if _asks(lines, owner) else automatic
        line = lines.line(owner) if owner != NO_PARENT else Line("", 0, GC_FUNCTION)
        kind.add(line, cost.wall_us, [node])
    if asked.total_us + automatic.total_us < max(MIN_US, MIN_SHARE * whole):
        return
    is_one = 0 < profile.counts.get(GC_COLLECTIONS, 0.0) <= 1
    if is_one and asked.total_us + automatic.total_us < SURE_SHARE * whole:
        return
    heavier = asked if asked.total_us > automatic.total_us else automatic
    named = {line: us for line, us in heavier.weights.items() if line.file}
    yield Finding(
        title=_title(heavier is asked, named),
        savings=(
            Saving(asked.nodes, ASKED_FOR),
            Saving(automatic.nodes, AUTOMATIC),
        ),
        locations=lines.shown_locations(named, whole),
        evidence=tuple(_evidence(profile, asked, automatic)),
        fix="Take gc.collect() out of the loop; Python collects by itself."
        if heavier is asked
        else "Call gc.freeze() after set-up and gc.set_threshold(50_000, 20, 100): what lives on is not "
        "walked again and again. Or make fewer objects that live on in the loop (arrays, not objects).",
        confidence=Confidence.MEASURED if heavier is asked else Confidence.BOUNDED,
    )


def _asks(lines: UserLines, owner: int) -> bool:
    """Tell whether the user's line calls ``gc.collect()`` itself."""
    if owner == NO_PARENT:
        return False
    statement = lines.statement(lines.tree.frame(owner))
    return statement is not None and any(
        called_name(node) == "collect" for node in statement.calls()
    )


def _title(is_asked: bool, named: dict[Line, float]) -> str:
    at = short_place(heaviest_line(named)) if named else ""
    if is_asked:
        return f"gc.collect() at {at} runs in the loop"
    return f"garbage collection, most of it set off at {at}" if at else "garbage collection"


def _evidence(profile: Profile, asked: LineTime, automatic: LineTime) -> Iterable[str]:
    whole = profile.critical.wall_us
    yield (
        f"{percent((asked.total_us + automatic.total_us) / whole)} of the steady time is spent in collections, "
        f"{percent(asked.total_us / whole)} asked for and {percent(automatic.total_us / whole)} automatic"
    )
    collections = profile.counts.get(GC_COLLECTIONS, 0.0)
    if collections and profile.steady_us:
        per_s = collections * 1e6 / profile.steady_us
        yield f"{count(collections)} full collections in the steady phase, {count(per_s)} per second"


DETECTOR: Final = Detector(
    id="gc-pressure",
    name="garbage collections in the loop",
    in_samples=InSamples(detect),
)
