"""Much data copied to the device at each step, while the device waits for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from rlprof.detectors.base import Detector, InSamples, InTrace, Need
from rlprof.detectors.recognisers.line_time import lines_time
from rlprof.detectors.recognisers.uploads import HostWork, Upload, uploads_of_worked_on
from rlprof.device.intervals import CoveredTime, union
from rlprof.device.places import per_step
from rlprof.device.timeline import without_by_device
from rlprof.device.transfers import find_transfers
from rlprof.device.transfers import uploads as uploads_in
from rlprof.device.view import TraceView
from rlprof.model.calibration import calibrated
from rlprof.model.device import DeviceFinding
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.trace import Row
from rlprof.source.lines import UserLines, heaviest_line, short_place
from rlprof.units import count, duration, of_each_step, percent, size

MIN_SHARE: Final = 0.05
"""Least share of the wall time, spent in copies to the device, by it or by the host."""

MIN_BYTES_PER_STEP: Final = 1 << 20
FEWEST_STEPS: Final = 2
"""A single step may be the one that brings what all others use."""

COPIES_LEFT: Final = calibrated(
    {HostWork.MADE_FLOATS: Range(0.25, 1.0), HostWork.PICKED: Range(0.0, 0.8)},
    unit="part of the time in copies",
    source="single bytes are a quarter of floats; what is picked goes up once, and not at each use: by reason. One program each on an H200: "
    "0.67 saved where 0.48 to 0.85 is told, 0.41 where 0.25 to 0.65 is",
    date="2026-11-26",
)
"""What is left of the copies themselves."""

WORK_LEFT: Final = Range(0.02, 0.12)
"""Part of a line's time that the same takes on the GPU, as launches."""

MOST_OF_MEMORY: Final = 0.5
"""Part of a GPU's memory that what is picked from may fill, to be kept there."""

_TITLES: Final = {
    HostWork.MADE_FLOATS: "single bytes are made floats on the host before they are copied to the GPU",
    HostWork.PICKED: "batches are picked out on the host and copied to the GPU",
}
_FIXES: Final = {
    HostWork.MADE_FLOATS: "Copy them as they are, a quarter of the bytes or less, and make them floats there: torch.from_numpy(frames).to(device).float().",
    HostWork.PICKED: "Copy the whole to the GPU once, when it is new, and pick the rows there, with indices drawn on the GPU: "
    "rollout = rollout.to(device); batch = rollout[torch.randperm(n, device=device)[:m]].",
}


def detect_in_samples(profile: Profile) -> Iterable[Finding]:
    lines = UserLines(profile.steady, profile.sources, profile.started_package)
    found: dict[HostWork, list[Upload]] = defaultdict(list)
    for upload in uploads_of_worked_on(profile, lines):
        if upload.work is HostWork.MADE_FLOATS or _fits(upload, profile):
            found[upload.work].append(upload)
    for work, uploads in found.items():
        yield from _of_lines(work, uploads, profile, lines)


def _fits(upload: Upload, profile: Profile) -> bool:
    sizes = [gpu.memory_total_bytes for gpu in profile.gpus if gpu.memory_total_bytes]
    return bool(sizes) and upload.source_bytes <= MOST_OF_MEMORY * min(sizes)


def _of_lines(
    work: HostWork, uploads: Sequence[Upload], profile: Profile, lines: UserLines
) -> Iterable[Finding]:
    places: dict[str, set[int]] = defaultdict(set)
    for upload in uploads:
        places[upload.site.file] |= upload.lines
    time = lines_time(profile.steady, lines, places)
    whole = profile.critical.wall_us
    if not whole or time.total_us < MIN_SHARE * whole:
        return
    in_run = lines_time(
        profile.whole, UserLines(profile.whole, profile.sources, profile.started_package), places
    )
    waiting = min(1.0, sum(upload.site.wait_us for upload in uploads) / max(1.0, in_run.total_us))
    copies = COPIES_LEFT[work]
    heaviest = max(uploads, key=lambda candidate: candidate.site.bytes)
    calls, moved = (
        sum(upload.site.calls for upload in uploads),
        sum(upload.site.bytes for upload in uploads),
    )
    yield Finding(
        title=f"{_TITLES[work]} ({short_place(heaviest_line(time.weights))})",
        savings=(
            Saving(
                time.nodes,
                Range(
                    max(0.0, 1 - copies.high * waiting - WORK_LEFT.high),
                    1 - copies.low * waiting - WORK_LEFT.low,
                ),
            ),
        ),
        locations=lines.shown_locations(time.weights, whole),
        evidence=(
            f"{percent(time.total_us / whole)} of the steady time is spent there"
            + of_each_step(time.total_us, profile.steady_steps),
            f"{count(calls)} copies, {size(moved)} in the run: they are {percent(waiting)} of that time, and the rest is work on the host",
            heaviest.source,
        ),
        fix=_FIXES[work],
        confidence=Confidence.BOUNDED,
    )


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    rows = _beside_rollouts(view)
    copies = find_transfers(replace(view.trace, copies=rows))
    moved = sum(copy.bytes for copy in copies)
    on_host = sum(copy.host_us for copy in copies)
    on_device = sum(copy.device_us for copy in copies)
    if (
        max(on_host, on_device) < MIN_SHARE * view.wall.length
        or view.step_count < FEWEST_STEPS
        or per_step(moved, view) < MIN_BYTES_PER_STEP
    ):
        return
    alone = without_by_device(rows, view.trace.kernels)
    number = sum(copy.count for copy in copies)
    aside = ", observations left out" if view.round_trips else ""
    yield DeviceFinding(
        title=f"{size(per_step(moved, view))} are copied to the GPU at each step",
        saved_us=Range(0.0, alone),
        evidence=(
            f"{count(number)} copies, {size(moved)}{aside}: {duration(on_device)} on the GPU, "
            f"{duration(on_host)} on the host",
            f"for {duration(alone)} of it, {percent(alone / on_device if on_device else 0.0)}, no kernel runs: "
            + ("copies and kernels never overlap" if alone > 0.9 * on_device else "they overlap"),
            "whether the same data comes again the trace does not show",
        ),
        fix="If it does (a data set, replay, rollouts of several epochs), keep it on the GPU, where it takes "
        "less than half of the memory. Data that is new at each step: images as uint8, converted there; the "
        "next batch copied on a stream of its own, from pinned memory, while this one is learned from.",
        causes=(),
    )


def _beside_rollouts(view: TraceView) -> Sequence[Row]:
    """The copies to the device, without those of observations, which are new each time."""
    asking = CoveredTime(union(trip.asking for trip in view.round_trips))
    observed = {
        call.args.correlation
        for call in view.trace.calls
        if call.args.correlation and asking.inside(call.ts, call.end)
    }
    return [upload for upload in uploads_in(view.trace) if upload.args.correlation not in observed]


DETECTOR: Final = Detector(
    id="dataset-crosses-bus",
    name="data copied to the GPU at every step",
    in_samples=InSamples(detect_in_samples, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
    in_trace=InTrace(detect),
)
