"""Training that waits for a DataLoader: without workers, or a device for one with too few."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import Final

from rlprof.detectors.base import Detector, InSamples, InTrace
from rlprof.detectors.recognisers.networks.loaded_batches import LoadedBatches
from rlprof.device.intervals import common, total, union
from rlprof.device.view import TraceView
from rlprof.model.counters import BATCHES
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Confidence, Finding, Range, Remainder
from rlprof.model.profile import Profile
from rlprof.model.trace import Row
from rlprof.source.lines import heaviest_line, short_place
from rlprof.tracefile.regions import LOADER
from rlprof.units import count, duration, percent, rough_count

MIN_SHARE: Final = 0.05
"""Least share of the wall time (the threshold of the TensorBoard plugin for data loading)."""

FEWEST_BATCHES: Final = 2

STARTING: Final = 2.0
"""Times the median of the others: a first batch that takes longer waits for its workers to start."""


LEAST_OF_TRAINING: Final = 0.08
"""Least share of the critical time in batches that are made where it trains."""

LEAST_BATCH_US: Final = 3_000.0
"""Time that a batch takes to make from which on a worker is worth its message: some tenths of a millisecond."""

LEAST_FREE: Final = 0.7
"""Cores that nobody uses, at least: a worker needs one."""

MOST_WORKERS: Final = 8

RECEIVED: Final = Range(0.02, 0.2)
"""Part of the loader's time that stays where it trains, for batches are fetched and unpacked there. By reason."""

SLOWER: Final = 1.5
"""Times as long as now a worker takes at most: cores share caches, and a clock that falls. By reason."""


def detect_in_samples(profile: Profile) -> Iterable[Finding]:
    loaded, load, whole = LoadedBatches(profile), profile.load, profile.critical.wall_us
    made = loaded.whole
    us = sum(made.values())
    # Of items that just lie in memory replay-sampling tells: workers would send what is quicker to pick out.
    if not whole or us < LEAST_OF_TRAINING * whole or loaded.removable is not None:
        return
    batches = profile.counts.get(BATCHES, 0.0)
    free = load.cores - load.got_us / max(1, profile.steady_us)
    if load.saturated or free < LEAST_FREE or us < LEAST_BATCH_US * batches:
        return
    workers = min(MOST_WORKERS, max(1, int(free)))
    share = min(1.0, us / whole)
    quick = share / workers
    left = Range(
        max(1 - share + share * RECEIVED.low, quick),
        min(1.0, max(1 - share + share * RECEIVED.high, SLOWER * quick)),
    )
    place = heaviest_line(made)
    yield Finding(
        title=f"batches are made where it trains ({short_place(place)})",
        savings=(),
        locations=loaded.lines.shown_locations(made, whole),
        evidence=(
            f"{percent(share)} of the steady time makes batches for a DataLoader without workers"
            + (f", {duration(us / batches)} each" if batches else ""),
            f"{rough_count(free)} of {count(load.cores)} cores are free meanwhile",
        ),
        fix=f"DataLoader(num_workers={workers}, persistent_workers=True): batches are made beside the training. On a GPU also pin_memory=True. Or "
        "decode the data once, before the loop, and keep it as tensors.",
        confidence=Confidence.BOUNDED,
        remainder=Remainder(frozenset(loaded.nodes | loaded.other_nodes), left),
    )


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    idle = idle_while_loading(view)
    if not idle:
        return
    loading = _loading(view)
    in_turn = any("SingleProcess" in event.name for event in loading)
    evidence = [
        f"{count(len(loading))} batches hold the host for {duration(sum(event.dur for event in loading))}; for "
        f"{duration(idle)} of it, {percent(idle / view.wall.length)} of the trace, the GPU has nothing to do",
        "they are made in the main process, one after the other"
        if in_turn
        else "the workers do not keep up",
    ]
    if any(transfer.is_upload and transfer.memory == "pageable" for transfer in view.transfers):
        evidence.append("they go to the GPU through pageable memory")
    yield DeviceFinding(
        title="the GPU waits for a DataLoader without workers"
        if in_turn
        else "the GPU waits for a DataLoader's workers",
        saved_us=Range(0.0, idle),
        evidence=tuple(evidence),
        fix="DataLoader(num_workers=4, pin_memory=True, persistent_workers=True): batches are made beside the "
        "training."
        if in_turn
        else "More workers while CPUs are free, less work for each sample, pin_memory=True, a larger "
        "prefetch_factor; or data that is decoded once and kept.",
        causes=(IdleCause.DATA,),
    )


def idle_while_loading(view: TraceView) -> float:
    """Time in µs in which a device waits for a DataLoader and nothing else; 0 where that is not much."""
    loading = _loading(view)
    spans = union((event.ts, event.end) for event in loading)
    idle = max(
        (total(common(device.by_cause.get(IdleCause.DATA, ()), spans)) for device in view.idle),
        default=0.0,
    )
    is_much = idle >= MIN_SHARE * view.wall.length and len(loading) >= FEWEST_BATCHES
    return idle if is_much else 0.0


def _loading(view: TraceView) -> list[Row]:
    """The waits for batches, without one for a loader that starts."""
    rows = [
        annotation for annotation in view.trace.annotations if annotation.name.startswith(LOADER)
    ]
    if len(rows) > 1 and rows[0].dur > STARTING * median(row.dur for row in rows[1:]):
        return rows[1:]
    return rows


DETECTOR: Final = Detector(
    id="dataloader-workers",
    name="a DataLoader with too few workers",
    in_samples=InSamples(detect_in_samples),
    in_trace=InTrace(detect),
)
