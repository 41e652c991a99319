"""Prices of findings that were tried: what was measured while the training ran goes before what samples told.

A gain is the price itself. A ceiling is none, since the program's results were others: it only ends a price that is higher.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from rlprof.model.experiment import Experiment, MeasuredShare, TreatmentKind, TryOutcome
from rlprof.model.finding import Confidence, PricedFinding, Range
from rlprof.model.profile import PhaseKind, Profile
from rlprof.pricing.ranking import Priced, cautious_mean, most_saved, ranked, rate_after
from rlprof.units import percent, rough_duration

NOTHING_GAINED: Final = 0.03
"""High end of an interval around 0 below which a treatment gained nothing: no more than that could be saved at best."""


def with_experiments(priced: Priced, experiments: Sequence[Experiment], profile: Profile) -> Priced:
    """``priced`` at what was measured of it, in its new order."""
    entries = [*priced.listed, *priced.also_seen]
    measured = [each for each in experiments if each.outcome is TryOutcome.MEASURED]
    if not measured or not entries:
        return priced
    return ranked([_tried(entry, _of(entry, measured, entries), profile) for entry in entries])


def telling_experiment(
    entry: PricedFinding, experiments: Sequence[Experiment], entries: Sequence[PricedFinding]
) -> tuple[Experiment, MeasuredShare] | None:
    """Return the experiment that the price of ``entry`` goes by, and what it measured; None for one that was not tried.

    ``entries`` are all findings of the run, ``entry`` among them.
    """
    measured = [each for each in experiments if each.outcome is TryOutcome.MEASURED]
    return _telling(_of(entry, measured, entries))


def _of(
    entry: PricedFinding, experiments: Iterable[Experiment], entries: Sequence[PricedFinding]
) -> list[Experiment]:
    """Return the experiments of ``entry``: at its heaviest line, else where it is the only finding of its cause."""
    finding = entry.finding
    if finding.phase is not PhaseKind.STEADY:
        return []  # Slots are of the steady time; a start-up is paid once.
    alike = [other for other in entries if other.finding.detector == finding.detector]
    own = [each for each in experiments if each.finding and each.finding == finding.detector]
    at_its_line = [each for each in own if _is_at(entry, each)]
    return at_its_line or (own if len(alike) == 1 else [])


def _is_at(entry: PricedFinding, experiment: Experiment) -> bool:
    heaviest = next(iter(entry.finding.locations), None)
    return heaviest is not None and (heaviest.file, heaviest.line) == (
        experiment.file,
        experiment.line,
    )


def _tried(entry: PricedFinding, own: Sequence[Experiment], profile: Profile) -> PricedFinding:
    """Price ``entry`` by its best gain; else below its highest ceiling, as each treatment may leave some of the cost."""
    telling = _telling(own)
    if telling is None:
        return entry
    experiment, measured = telling
    if experiment.kind is TreatmentKind.GAIN:
        return _by_gain(entry, experiment, measured, profile)
    return _below_ceiling(entry, experiment, measured, profile)


def _telling(own: Sequence[Experiment]) -> tuple[Experiment, MeasuredShare] | None:
    """The best gain, else the highest ceiling."""
    by_kind = {
        kind: [
            (each, each.measured) for each in own if each.kind is kind and each.measured is not None
        ]
        for kind in TreatmentKind
    }
    if gains := by_kind[TreatmentKind.GAIN]:
        return max(gains, key=lambda pair: cautious_mean(_promised(pair[1])))
    return max(by_kind[TreatmentKind.CEILING], key=lambda pair: pair[1].high, default=None)


def _by_gain(
    entry: PricedFinding, gain: Experiment, measured: MeasuredShare, profile: Profile
) -> PricedFinding:
    saved = _promised(measured)
    told = f"samples had told {_share_range(gain.predicted or entry.saved_share)}"
    if is_nothing(measured):
        text = f"tried: nothing was gained in {_pairs(gain)} ({_interval(measured)}); {told}"
    else:
        text = f"tried in {_pairs(gain)}: saves {_with_interval(measured)}; {told}"
    finding = replace(
        entry.finding, confidence=Confidence.TRIED, evidence=(text, *entry.finding.evidence)
    )
    tried = replace(
        entry,
        finding=finding,
        # Its time is its own now: it was seen to go.
        counted_in=None,
        besides=None,
        tried_share=min(saved.high, max(saved.low, measured.median)),
    )
    return _at(tried, saved, profile)


def is_nothing(measured: MeasuredShare) -> bool:
    """Tell whether a treatment with this gain changed nothing, or made it worse."""
    return measured.low <= 0 and measured.high < NOTHING_GAINED


def _below_ceiling(
    entry: PricedFinding, ceiling: Experiment, measured: MeasuredShare, profile: Profile
) -> PricedFinding:
    low, high = entry.saved_share
    # The treatment may have reached the heaviest of its lines alone.
    elsewhere = sum(place.share for place in entry.finding.locations[1:])
    most = _share(measured.high + elsewhere)
    text = f"its ceiling was tried in {_pairs(ceiling)}: no fix saves more than {percent(most)}"
    if elsewhere:
        text += f", {percent(elsewhere)} of which is the time of its other lines"
    if most < high:
        text += f"; samples had told {_share_range(entry.saved_share)}"
        besides = entry.besides and Range(*(min(end, most) for end in entry.besides))
        entry = _at(replace(entry, besides=besides), Range(min(low, most), most), profile)
    finding = replace(entry.finding, evidence=(text, *entry.finding.evidence))
    return replace(entry, finding=finding)


def _at(entry: PricedFinding, saved: Range, profile: Profile) -> PricedFinding:
    rate = profile.throughput.rate_to_price
    return replace(
        entry,
        saved_share=saved,
        sps_after=None if rate is None else rate_after(rate, saved, most_saved([entry])),
        saved_us=saved.scaled(profile.steady_us),
    )


def _promised(measured: MeasuredShare) -> Range:
    return Range(_share(measured.low), _share(measured.high))


def _share(measured: float) -> float:
    return min(1.0, max(0.0, measured))


# --- evidence ------------------------------------------------------------------------------


def _pairs(experiment: Experiment) -> str:
    pairs = f"{experiment.pairs} pair{'' if experiment.pairs == 1 else 's'}"
    return f"{pairs} of slots of {rough_duration(experiment.slot_s * 1e6)}"


def _with_interval(measured: MeasuredShare) -> str:
    return f"{percent(measured.median)} ({_interval(measured)})"


def _interval(measured: MeasuredShare) -> str:
    return _ends(measured.low, measured.high)


def _share_range(share: Range) -> str:
    return _ends(*share) if share.low > 0 else f"up to {percent(share.high)}"


def _ends(low: float, high: float) -> str:
    least, most = percent(low), percent(high)
    return most if least == most else f"{least.removesuffix(' %')} to {most}"
