"""From what a window of torch's profiler promises to what the whole run would gain.

A window is a few updates, or what lies between two bursts of them. What it saves counts for the part of the
steady time that is spent in such stretches: updates per second times the length of an update for the one,
the rest for the other. Time that findings of samples sell already is not sold again, and a process that the
run does not wait for has nothing to sell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final, NamedTuple

from rlprof.detectors.base import Detector
from rlprof.device.torch_windows import UPDATE_KINDS, WindowView
from rlprof.model.device import DeviceFinding, IdleCause, TracePlace
from rlprof.model.finding import Finding, Location, PricedFinding, Range
from rlprof.model.profile import PhaseKind, Profile
from rlprof.model.recording import TO_THE_GPU, Note, SyncSite
from rlprof.pricing.ranking import rate_after
from rlprof.pricing.traces import TraceFindings, find_in
from rlprof.source.lines import Line, UserLines
from rlprof.units import count, duration

MOST_SITES: Final = 3


@dataclass(frozen=True, slots=True)
class SeenInWindows:
    """A finding of the windows of one process, on the scale of the run."""

    found: DeviceFinding
    window: WindowView
    """The one that shows most of it."""
    share: Range
    """Share of the steady time that it would save, had nobody sold any."""

    @property
    def detector(self) -> str:
        return self.found.detector

    @property
    def is_host_work(self) -> bool:
        """True if the GPU waits for what the host does."""
        return bool({IdleCause.DATA, IdleCause.LAUNCH_BOUND} & set(self.found.causes))

    def priced(self, share: Range, profile: Profile, sites: Sequence[SyncSite]) -> PricedFinding:
        """It at the price of ``share``, not ranked yet."""
        found, window = self.found, self.window.window
        reads = _reads(window.process, sites) if found.is_of_reads else []
        rate = profile.throughput.rate_to_price
        return PricedFinding(
            finding=Finding(
                detector=found.detector,
                title=found.title,
                phase=PhaseKind.STEADY,
                savings=(),
                locations=tuple(_read_locations(reads, profile) or self._locations()),
                evidence=(
                    self._where(),
                    *(_read_text(site) for site in reads[:1]),
                    *found.evidence,
                ),
                fix=found.fix,
                confidence=found.confidence,
            ),
            rank=0,
            saved_share=share,
            sps_after=None if rate is None else rate_after(rate, share),
            saved_us=share.scaled(profile.steady_us),
            process_roles=(profile.process_roles[window.process],),
        )

    def added_to(self, known: PricedFinding) -> PricedFinding:
        """``known``, with this as one more evidence of the same cause."""
        text = ": ".join([self._where(), *self.found.evidence[:1]])
        finding = replace(known.finding, evidence=(*known.finding.evidence, text))
        return replace(known, finding=finding)

    def _where(self) -> str:
        window, view = self.window.window, self.window.view
        assert view is not None, "findings come from traces"
        what = f"of {count(window.updates)} updates" if window.updates else "between updates"
        length = duration(view.wall.length)
        return f"seen in a window of torch's profiler {what}, {length} long"

    def _locations(self) -> list[Location]:
        view = self.window.view
        length = view.wall.length if view is not None else 1.0
        return [
            Location(place.file, place.line, place.function, place.time_us / length)
            for place in self.found.places
            if place.file
        ]


class _LookedAt(NamedTuple):
    """A window, and what detectors find in it; nothing in one without a trace."""

    window: WindowView
    findings: TraceFindings


def look_at_windows(
    windows: Sequence[WindowView], detectors: Sequence[Detector], profile: Profile
) -> tuple[list[SeenInWindows], tuple[Note, ...]]:
    """Return what detectors find in them, the heaviest first; and notes on detectors that failed."""
    looked_at = [_look_at(window, detectors) for window in windows]
    failures: dict[str, Note] = {}
    for _, findings in looked_at:
        failures |= findings.failures
    return _heaviest_of_each(looked_at, profile), tuple(failures.values())


def _look_at(window: WindowView, detectors: Sequence[Detector]) -> _LookedAt:
    if window.view is None or not window.view.wall.length:
        return _LookedAt(window, TraceFindings((), ()))
    return _LookedAt(window, find_in(window.view, detectors))


def _heaviest_of_each(looked_at: Sequence[_LookedAt], profile: Profile) -> list[SeenInWindows]:
    """Each finding once, of the process that would gain most: ranks of one training do the same."""
    heaviest: dict[str, SeenInWindows] = {}
    for process in dict.fromkeys(look.window.window.process for look in looked_at):
        for detector, seen in _by_detector(process, looked_at, profile).items():
            merged = _merged(seen)
            before = heaviest.get(detector)
            if before is None or merged.share.high > before.share.high:
                heaviest[detector] = merged
    return sorted(heaviest.values(), key=lambda seen: (-seen.share.high, seen.found.detector))


def _by_detector(
    process: int, looked_at: Sequence[_LookedAt], profile: Profile
) -> Mapping[str, list[SeenInWindows]]:
    found: dict[str, list[SeenInWindows]] = {}
    own = [look for look in looked_at if look.window.window.process == process]
    others = [look.window for look in looked_at if look.window.window.process != process]
    parts = _parts([look.window for look in own], profile)
    for window, findings in own:
        beside_others = any(_overlap(window, other) for other in others)
        for each in (*findings.listed, *findings.also_seen):
            if each.waits_for_ranks and beside_others:
                continue
            # Of what is only mentioned nothing can be gained, whatever its bound: the GPU is busy.
            is_worth_it = each in findings.listed
            length = window.view.wall.length if window.view is not None else 0.0
            part = parts[window.window.kind] / length if is_worth_it else 0.0
            seen = SeenInWindows(each, window, each.saved_us.scaled(part))
            found.setdefault(each.detector, []).append(seen)
    return found


def _overlap(one: WindowView, other: WindowView) -> bool:
    return (
        one.window.begun_us < other.window.ended_us and other.window.begun_us < one.window.ended_us
    )


def _parts(windows: Sequence[WindowView], profile: Profile) -> Mapping[str, float]:
    """Return the part of the steady time that windows of each kind stand for."""
    process = windows[0].window.process
    if not any(
        activity.process == process and activity.is_critical for activity in profile.activities
    ):
        return dict.fromkeys((*UPDATE_KINDS, "rollout", "timed"), 0.0)
    updates = profile.process_counts.get(process, {}).get("updates", 0.0)
    lengths = [
        window.view.wall.length / window.window.updates
        for window in windows
        if window.view is not None and window.window.kind == "plain" and window.window.updates
    ]
    if not lengths or not profile.steady_us:
        # With stacks updates take twice as long as they do.
        return {**dict.fromkeys((*UPDATE_KINDS, "rollout"), 0.0), "timed": 1.0}
    updating = min(1.0, updates * median(lengths) / profile.steady_us)
    return {"plain": updating, "stacks": updating, "rollout": 1 - updating, "timed": 1.0}


def _merged(seen: Sequence[SeenInWindows]) -> SeenInWindows:
    """The windows of one process: those of updates beside each other, and rollouts besides."""
    kinds = {one.window.window.kind for one in seen}
    # Stacks make the host slower, and so the device idle for longer.
    updating = [
        one
        for one in seen
        if one.window.window.kind in UPDATE_KINDS
        and (one.window.window.kind == "plain" or "plain" not in kinds)
    ]
    others = [one for one in seen if one.window.window.kind not in UPDATE_KINDS]
    groups = [group for group in (updating, others) if group]
    heaviest = max(seen, key=lambda one: (one.share.high, -one.window.window.number))
    return replace(
        heaviest,
        found=replace(heaviest.found, places=_best_places(seen)),
        share=Range(
            sum(min(one.share.low for one in group) for group in groups),
            min(1.0, sum(max(one.share.high for one in group) for group in groups)),
        ),
    )


def _best_places(seen: Sequence[SeenInWindows]) -> tuple[TracePlace, ...]:
    """Those with a line, which only stacks tell."""
    with_lines = [one.found.places for one in seen if any(place.file for place in one.found.places)]
    return with_lines[0] if with_lines else ()


def _reads(process: int, sites: Iterable[SyncSite]) -> list[SyncSite]:
    """Places where this process waits for a GPU to read a tensor, the longest waits first."""
    own = [
        site
        for site in sites
        if site.process == process and site.device == "gpu" and TO_THE_GPU not in site.method
    ]
    return sorted(own, key=lambda site: -site.wait_us)[:MOST_SITES]


def _read_text(site: SyncSite) -> str:
    each = duration(site.wait_us / site.calls)
    return (
        f"{site.method} in {site.function}: {count(site.calls)} times in the run, {each} each in "
        "the call, which is not what is saved"
    )


def _read_locations(sites: Sequence[SyncSite], profile: Profile) -> list[Location]:
    whole = sum(site.wait_us for site in sites) or 1
    lines = UserLines.of(profile)
    places = ((Line(site.file, site.line, site.function), site.wait_us) for site in sites)
    return [Location(*line, us / whole, lines.text(line)) for line, us in places]
