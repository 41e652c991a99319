"""What is kept of a treatment that was measured, and told beside its figure."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rlprof.experiments.outcomes import UnderWay, experiment_of, told_of_others
from rlprof.experiments.plan import PlannedFinding, PlannedOption
from rlprof.experiments.trying import TryEnd
from rlprof.model.experiment import Experiment, MeasuredShare, TreatmentKind, TryOutcome
from rlprof.recording.experimenting import CpuTimes

NOTHING = MeasuredShare(0.01, -0.01, 0.03)
DOUBT = "the treatment may not have reached all of it"


def kept(
    measured: MeasuredShare,
    kind: TreatmentKind,
    outcome: TryOutcome = TryOutcome.MEASURED,
    *,
    low: float = 0.0,
    treated: float = 0.0,
) -> Experiment:
    option = PlannedOption("lazy-log-text", "builds texts late", kind.value, [])
    planned = PlannedFinding("eager-log-format", 1, "", "train.py", 7, "step", low, 0.9, [option])
    turns = SimpleNamespace(measured=measured, pairs=8, longest_s=0.8)
    trying: Any = SimpleNamespace(turns=turns, begun_s=0.0, treated_share=treated)
    under_way = UnderWay(planned, option, (), trying, CpuTimes(0.0, 0.0))
    return experiment_of(under_way, TryEnd(outcome), 9.0, "")


@pytest.mark.parametrize(
    ("measured", "low", "kind", "outcome", "note"),
    [
        (NOTHING, 0.2, TreatmentKind.GAIN, TryOutcome.MEASURED, DOUBT),
        (NOTHING, 0.19, TreatmentKind.GAIN, TryOutcome.MEASURED, ""),
        (MeasuredShare(0.1, 0.05, 0.15), 0.6, TreatmentKind.GAIN, TryOutcome.MEASURED, ""),
        # A ceiling ends a price that is too high: that is what it is for.
        (NOTHING, 0.2, TreatmentKind.CEILING, TryOutcome.MEASURED, ""),
        (NOTHING, 0.2, TreatmentKind.GAIN, TryOutcome.NOT_CLEAR, ""),
    ],
)
def test_a_gain_of_nothing_where_samples_told_of_much_is_doubted(
    measured, low, kind, outcome, note
):
    assert kept(measured, kind, outcome, low=low).note == note


def a_bench(of_run: float, of_host: float) -> Any:
    return SimpleNamespace(cpu_times=lambda: CpuTimes(of_run, of_host))


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ((15.0, 21.0), "other programs used 0.8 cores meanwhile"),
        ((15.0, 16.0), ""),
        # The training has ended: what it used is in the host's time alone.
        ((0.0, 20.0), ""),
    ],
)
def test_cores_that_others_used(now: tuple[float, float], told: str):
    assert told_of_others(CpuTimes(10.0, 12.0), a_bench(*now), now_s=5.0, begun_s=0.0) == told


@pytest.mark.parametrize(
    ("kind", "treated", "outcome"),
    [
        (TreatmentKind.CEILING, 0.4, TryOutcome.NOT_CLEAR),
        (TreatmentKind.CEILING, 0.2, TryOutcome.MEASURED),
        # What a gain takes itself is known well enough.
        (TreatmentKind.GAIN, 0.4, TryOutcome.MEASURED),
    ],
)
def test_a_ceiling_that_takes_as_long_as_what_it_leaves_out_prices_nothing(
    kind: TreatmentKind, treated: float, outcome: TryOutcome
):
    assert kept(MeasuredShare(0.2, 0.15, 0.25), kind, treated=treated).outcome is outcome
