"""From a recording to its findings: profile, detect, price."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rlprof.detectors.base import Detector, InSamples, Need, detect_all
from rlprof.device.torch_windows import WindowView, view_windows
from rlprof.discovery import discover_detectors
from rlprof.model.crash import Crash
from rlprof.model.profile import PhaseKind, Profile
from rlprof.model.recording import Note, Recording
from rlprof.pace.called_threads import with_called_work
from rlprof.pace.own_pace import at_own_pace
from rlprof.pricing.experiments import with_experiments
from rlprof.pricing.ranking import Priced
from rlprof.pricing.sale import Sale
from rlprof.pricing.samples import without_nodes
from rlprof.pricing.windows import look_at_windows
from rlprof.profile.build import build_profile
from rlprof.report.crash import crash_of, without_a_steady_phase
from rlprof.syntax.origin import Origin, installed_package, origin_of_file


@dataclass(frozen=True, slots=True)
class Found:
    """Facts known of a run once it has been looked into."""

    at_pace: Recording
    """Without what windows of torch's profiler slowed down, and with native threads' work at the calls that wait for it."""
    is_cut: bool
    """True if windows of torch's profiler were left out."""
    profile: Profile
    priced: Priced
    windows: tuple[WindowView, ...]
    notes: tuple[Note, ...]
    """Notes on detectors that were left out, or failed."""
    crash: Crash | None
    """With nothing steady before it there are no findings: they would be of its start-up."""


def look_into(recording: Recording) -> Found:
    """A detector that fails costs its own findings, and a note says so."""
    undisturbed = at_own_pace(recording)
    at_pace = with_called_work(undisturbed)
    profile = build_profile(at_pace)
    detectors = discover_detectors()
    sale, notes = sell_samples(profile, detectors)
    windows = view_windows(recording.torch_windows)
    seen, failures = look_at_windows(windows, detectors, profile)
    sale.sell_windows(seen, recording.sync_sites)
    crash = crash_of(recording, profile, at_pace)
    is_too_early = crash is not None and crash.before_steady
    priced = with_experiments(sale.ranking(), recording.experiments, profile)
    priced = Priced((), ()) if is_too_early else priced
    profile = without_a_steady_phase(profile) if is_too_early else profile
    is_cut = undisturbed is not recording
    told = (*notes, *failures, *_slowed(windows))
    return Found(at_pace, is_cut, profile, priced, windows, told, crash)


def _slowed(windows: Iterable[WindowView]) -> Iterator[Note]:
    """Yield a note where windows have left CUDA's tracing library in the program."""
    views = [window.view for window in windows if window.view is not None]
    if any(view.has_device and not view.trace.header.is_rocm for view in views):
        yield Note(
            "warning",
            "torch-windows-slowed-cuda",
            "Windows of torch's profiler were taken in a process that uses CUDA. After the first one each launch of a kernel "
            "takes longer until the process ends: where launches bound the rate, it was up to a fifth lower in runs on an "
            "H200, and so is the rate given here. With TEARDOWN_CUPTI=1 in its environment torch takes that away again after each "
            "window (CUDA 12.6 or later; before, it may crash). --torch auto takes none there.",
        )


def sell_samples(profile: Profile, detectors: Iterable[Detector]) -> tuple[Sale, tuple[Note, ...]]:
    """Run ``detectors``; those that name only what nothing explains see what the others left."""
    profile = replace(profile, sources=_sources_to_read(profile))
    ordered = [
        (detector.id, detector.in_samples)
        for detector in sorted(detectors, key=lambda detector: detector.id)
        if detector.in_samples is not None
    ]
    able = [(id_, evidence) for id_, evidence in ordered if not _unmet(evidence, profile)]
    known, failures = detect_all(
        ((id_, evidence.detect) for id_, evidence in able if not evidence.is_fallback), profile
    )
    of_known = Sale(profile)
    of_known.sell(known)
    unexplained, more_failures = detect_all(
        ((id_, evidence.detect) for id_, evidence in able if evidence.is_fallback),
        without_nodes(profile, of_known.nodes_sold(PhaseKind.STEADY)),
    )
    notes = (*_skipped(ordered, profile), *failures.values(), *more_failures.values())
    # All anew: one that nothing explains may be dearer than a known cause beside it.
    sale = Sale(profile)
    sale.sell([*known, *unexplained])
    return sale, notes


def _sources_to_read(profile: Profile) -> Mapping[str, str]:
    """The user's files, be they a project's or those of the installed package that was started.

    Fixes are made there, and reading all of torch's takes seconds.
    """
    return {
        file: text
        for file, text in profile.sources.items()
        if origin_of_file(file) is Origin.YOURS
        or (profile.started_package and installed_package(file) == profile.started_package)
    }


def _unmet(evidence: InSamples, profile: Profile) -> frozenset[Need]:
    there = {
        Need.SAMPLES: profile.whole.total.wall_us > 0,
        Need.SOURCES: bool(profile.sources),
        Need.STEPS: profile.throughput.unit == "steps",
        Need.VALUES: bool(profile.values),
    }
    return frozenset(need for need in evidence.needs if not there[need])


def _skipped(detectors: Sequence[tuple[str, InSamples]], profile: Profile) -> Iterator[Note]:
    """Yield one note for each kind of data that is missing, with the detectors that need it."""
    for need in Need:
        ids = [id_ for id_, evidence in detectors if need in _unmet(evidence, profile)]
        if ids:
            yield Note(
                "info",
                "detector-skipped",
                f"The recording has no {need.value}, so these detectors were left out: "
                f"{', '.join(ids)}.",
            )
