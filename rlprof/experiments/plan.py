"""Plan which findings of a run are tried, and how."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from rlprof.experiments.base import CannotTreatError, Patient, Treatment, call
from rlprof.experiments.parts import PartOfTraining, parts_of
from rlprof.experiments.untried import UNTRIED
from rlprof.libraries.step_sources import STEP_SOURCES, source_of
from rlprof.model.counters import ITERATIONS, OF_A_GPU, OUTPUT_STEPS, UPDATES
from rlprof.model.experiment import TreatmentKind
from rlprof.model.finding import Confidence, Finding, PricedFinding, Range
from rlprof.model.profile import PhaseKind, Profile
from rlprof.model.recording import Recording
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart
from rlprof.report.findings import look_into
from rlprof.source.values import Values
from rlprof.units import percent

STEADY_S: Final = 8.0
"""Length of the steady phase from which on its findings are worth a try: of 5 s of a training in SubprocVecEnv, with one update, its first finding was missing."""

_OF_FUNCTIONS: Final = ("module", "qualname", "attribute", "file", "line", "name")
"""Fields by which a part names a function."""

NO_TREATMENT: Final = "rlprof knows no way to try this one"


@dataclass(frozen=True, slots=True)
class PlannedOption:
    """A treatment, fitted to its finding. Plain types: it goes from one process to another."""

    treatment: str
    does: str
    kind: str
    parts: list[dict[str, str | int]]
    changes_load: bool = False
    """As in :class:`~rlprof.experiments.base.Treatment`."""
    restart: str = ""
    """The same."""
    leaves: float = 0.0
    """The same."""


@dataclass(frozen=True, slots=True)
class PlannedFinding:
    """A finding, with the treatments that could try it, the best first."""

    finding: str
    rank: int
    title: str
    file: str
    line: int
    function: str
    low: float
    high: float
    """Saved share as samples price it."""
    options: list[PlannedOption]
    refusal: str = ""
    """Why there are none."""

    @property
    def place(self) -> str:
        return f"{self.file.rpartition('/')[2]}:{self.line}" if self.line else ""


@dataclass(frozen=True, slots=True)
class Plan:
    """Experiments for a run that has come this far."""

    is_steady: bool
    """False where the steady phase has not begun, or is short: ask again later."""
    counter: str = ""
    """Name of the counter whose pace is measured; empty where nothing is counted."""
    findings: list[PlannedFinding] = field(default_factory=list)
    uses_gpu: bool = False


def plan_ceilings(recording: Recording) -> Plan:
    """Find out how far a run has come, and how to free it of each part of training in turn."""
    found = look_into(recording)
    if _steady_s(found.profile) < STEADY_S:
        return Plan(is_steady=False)
    return Plan(
        True,
        _counter(recording),
        [
            PlannedFinding(
                finding="",
                rank=rank,
                title=f"{part.component} takes {percent(part.share)} of the time",
                file=part.functions[0].file,
                line=part.functions[0].line,
                function=part.functions[0].name,
                low=part.share,
                high=part.share,
                options=[_freed(part)],
            )
            for rank, part in enumerate(parts_of(found.at_pace, found.profile), 1)
        ],
    )


def _freed(part: PartOfTraining) -> PlannedOption:
    names = ", ".join(function.name for function in part.functions)
    return PlannedOption(
        f"free-{part.component.replace(' ', '-')}",
        f"answers {names} from memory, so that {part.component} costs next to nothing",
        TreatmentKind.CEILING.value,
        [
            dict(call("from-memory", function.file, function.line, function.name, within=1))
            for function in part.functions
        ],
    )


def plan_experiments(recording: Recording, treatments: Iterable[Treatment]) -> Plan:
    """Find out how far a run has come, and which treatments fit its findings."""
    found = look_into(recording)
    if _steady_s(found.profile) < STEADY_S:
        return Plan(is_steady=False)
    sources, values = found.profile.sources, Values(found.profile.values)
    known = sorted(treatments, key=lambda treatment: (treatment.order, treatment.id))
    told = [each for each in found.priced.listed if each.finding.phase is PhaseKind.STEADY]
    suspected = [each for each in told if each.finding.confidence is Confidence.SUSPECTED]
    uses_gpu = any(each.name in OF_A_GPU and each.value > 0 for each in recording.counters)
    untold = _untold_on_gpus(told, known) if uses_gpu else []
    return Plan(
        True,
        _counter(recording),
        _each_once(
            _planned(priced, Patient(priced.finding, sources, values, recording.run.cwd), known)
            # What has no known cause last: nobody knows a fix that would come near its ceiling.
            for priced in [*(each for each in told if each not in suspected), *untold, *suspected]
        ),
        uses_gpu,
    )


def _each_once(planned: Iterable[PlannedFinding]) -> list[PlannedFinding]:
    """Leave out what an earlier finding has tried in the same way at the same functions."""
    tried: dict[tuple[str, bytes], PlannedFinding] = {}
    kept = []
    for finding in planned:
        keys = [(option.treatment, msgspec.json.encode(option.parts)) for option in finding.options]
        options = [
            option for option, key in zip(finding.options, keys, strict=True) if key not in tried
        ]
        refusal = finding.refusal
        if finding.options and not options:
            first = tried[keys[0]]
            refusal = f"it is tried with {first.finding} ({first.place})"
        kept.append(replace(finding, options=options, refusal=refusal))
        for key in keys:
            tried.setdefault(key, finding)
    return kept


def _untold_on_gpus(
    told: Sequence[PricedFinding], treatments: Sequence[Treatment]
) -> list[PricedFinding]:
    """Findings, without a rank and a price, that only traces of the GPU would tell, and that are tried in any case."""
    known = {each.finding.detector for each in told}
    return [
        PricedFinding(
            Finding(treatment.does, (), (), (), "", detector=detector),
            rank=0,
            saved_share=Range(0.0, 0.0),
            sps_after=None,
            saved_us=Range(0.0, 0.0),
            process_roles=(),
        )
        for treatment in treatments
        if treatment.on_gpus
        for detector in sorted(treatment.findings - known)
    ]


def _steady_s(profile: Profile) -> float:
    return sum(
        (phase.end_us - phase.start_us) / 1e6
        for phase in profile.phases
        if phase.kind is PhaseKind.STEADY
    )


def _counter(recording: Recording) -> str:
    """The counter to measure the pace by; empty where there is none. What a program prints comes too seldom for that."""
    counted = {counter.name for counter in recording.counters if counter.value > 0}
    steps = source_of(recording, (counted & STEP_SOURCES.keys()) - {OUTPUT_STEPS})
    if steps is not None:
        return steps
    return next((name for name in (UPDATES, ITERATIONS) if name in counted), "")


def _planned(
    priced: PricedFinding, patient: Patient, treatments: Sequence[Treatment]
) -> PlannedFinding:
    options, refusals = [], []
    for treatment in treatments:
        if priced.finding.detector not in treatment.findings:
            continue
        try:
            parts = treatment.parts(patient)
        except CannotTreatError as error:
            refusals.append(str(error))
            continue
        options.append(
            PlannedOption(
                treatment.id,
                treatment.does,
                treatment.kind.value,
                [dict(part) for part in _one_a_function(parts)],
                treatment.changes_load,
                treatment.restart,
                treatment.leaves,
            )
        )
    place = priced.finding.locations[0] if priced.finding.locations else None
    return PlannedFinding(
        finding=priced.finding.detector,
        rank=priced.rank,
        title=priced.finding.title,
        file="" if place is None else place.file,
        line=0 if place is None else place.line,
        function="" if place is None else place.function,
        low=priced.saved_share.low,
        high=priced.saved_share.high,
        options=options,
        refusal="" if options else _refusal(priced.finding.detector, refusals),
    )


def _one_a_function(parts: Iterable[TreatmentPart]) -> Iterator[TreatmentPart]:
    """Yield the first of those parts that change calls of the same function: an agent refuses to change it twice."""
    changed = set()
    for part in parts:
        function = tuple(part.get(name) for name in _OF_FUNCTIONS)
        if part["way"] != "call" or function not in changed:
            yield part
        changed.add(function)


def _refusal(detector: str, refusals: Sequence[str]) -> str:
    return refusals[0] if refusals else UNTRIED.get(detector, NO_TREATMENT)
