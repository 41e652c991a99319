"""A check as JSON: its keys, in order, and their values. ``check.schema.json`` is made from these.

Within a version keys are only added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from rlprof.comparison.compare import Comparison
from rlprof.comparison.outline import GrownFunction
from rlprof.documents.json import (
    Interval,
    Note,
    Number,
    document_as_text,
    filled,
    means,
    one_of,
)
from rlprof.errors import EXIT_INCONCLUSIVE
from rlprof.gate import causes, decision, words
from rlprof.gate.decision import Verdict
from rlprof.gate.outcome import Outcome, exit_code
from rlprof.gate.program import Side


def _verdict(verdict: Verdict) -> str:
    return verdict.value.replace(" ", "-")


class MeasuredSide(Struct, frozen=True):
    name: Annotated[str, means("Commit, command or baseline file.")]
    sps: Annotated[
        Interval | None, means("Over its runs: their median, with a range that holds all of them.")
    ]


class Decision(Struct, frozen=True):
    ratio: Annotated[Interval, means("Rate of head over that of base.")]
    asked_effect: Annotated[
        float,
        means(
            "Smallest slowdown that matters (0.05 is 5 %): a pass has shown that there is none as large."
        ),
    ]
    min_effect: Annotated[
        float,
        means(
            "Slowdown beyond which the interval must lie for a failure: more than asked_effect in much noise."
        ),
    ]
    minimum_detectable_effect: Number
    noise: Annotated[Number, means("Standard deviation of the ratio of one pair.")]
    pairs: Annotated[int, Meta(ge=1)]
    confirmed: Annotated[bool, means("Whether it is a regression: fresh pairs showed it too.")]
    reasons: Sequence[str]


class Run(Struct, frozen=True):
    pair: Annotated[int, Meta(ge=1)]
    side: Side
    sps: Interval | None
    steps: float
    source: str
    wall_s: float


class Counter(Struct, frozen=True):
    name: str
    base: Number
    head: Number
    allowed: Annotated[
        Number,
        means(
            "The most that head may have in as many steps as it made; null where the counter is not judged."
        ),
    ]
    fails: bool
    reason: str


class Finding(Struct, frozen=True):
    fate: Annotated[str, one_of(*(fate.value for fate in causes.WORSE))]
    id: str
    text: str


class FindingInHead(Struct, frozen=True):
    id: str
    text: str


class SlowerFunction(Struct, frozen=True):
    function: str
    file: Annotated[str, means("From the folder of the run on, or from the package on.")]
    line: Annotated[
        int,
        means(
            "The one that calls `inside`; without that the one that surely takes longer. 0 where no line is known."
        ),
    ]
    inside: Annotated[
        str,
        means("The function that it calls in which it takes longer; empty for none in particular."),
    ]
    per: Annotated[
        str,
        one_of("step", "second"),
        means("What the costs are for: a step, or a second of steady time."),
    ]
    base_us: Annotated[float, means("0 where it was not seen: it may have been too brief.")]
    head_us: float
    waits: Annotated[bool, means("Whether most of it is waiting.")]
    text: str


class Read(Struct, frozen=True):
    counter: str
    file: str
    line: int
    function: str
    method: str
    base: float
    head: float
    text: str


class RecordedPair(Struct, frozen=True):
    is_comparable: Annotated[bool, means("Whether both runs were long enough for a steady rate.")]
    text: Annotated[Sequence[str], means("Sentences that begin what is told of it.")]
    slower_functions: Annotated[
        Sequence[SlowerFunction],
        means(
            "The few that clearly take longer in head, with what they call; empty where findings explain it."
        ),
    ]
    findings_in_head_only: Annotated[
        Sequence[FindingInHead],
        means("Where the pair is not comparable: what base has nothing like."),
    ]
    reads: Annotated[
        Sequence[Read],
        means("Lines of head behind a failing counter of reads of tensors, per step."),
    ]
    notes: Annotated[Sequence[Note], means("What to know before believing it; the gravest first.")]


class Failure(Struct, frozen=True):
    slug: str
    message: str
    hint: str


class CheckDocument(Struct, frozen=True):
    """Document of `rlprof check --json FILE`. Within a version keys are only ever added: ignore those you do not know. A value that could not be measured is null."""

    format: Literal["rlprof-check"]
    version: Literal[1]
    """1: the first."""
    rlprof: str
    verdict: Annotated[str, one_of(*map(_verdict, Verdict))]
    text: Annotated[str, means("The verdict in a sentence.")]
    exit_code: Annotated[
        int, Meta(ge=0, le=255), means("0, 1, 3 or 4; 128 + n where signal n ended the check.")
    ]
    command: Sequence[str]
    unit: Annotated[str, one_of("steps", "updates", "iterations")]
    base: MeasuredSide
    head: MeasuredSide
    decision: Annotated[
        Decision | None,
        means("On the rates; null where counters decided alone, or nothing could be measured."),
    ]
    runs: Sequence[Run]
    counters_per_step: Sequence[Counter]
    findings: Annotated[
        Sequence[Finding], means("Those that appeared in head or grew; empty without --profile.")
    ]
    recorded_pair: Annotated[
        RecordedPair | None,
        means("Of the pair that was recorded in full, beside findings; null without one."),
    ]
    failure: Annotated[Failure | None, means("Why nothing could be measured.")]
    notes: Sequence[Note]


def outcome_as_json(outcome: Outcome, *, inconclusive: int = EXIT_INCONCLUSIVE) -> str:
    found = outcome.comparison
    return document_as_text(
        CheckDocument,
        outcome,
        verdict=_verdict(outcome.verdict),
        text=words.verdict(outcome),
        exit_code=exit_code(outcome, inconclusive=inconclusive),
        base=_side(outcome, Side.BASE, outcome.base),
        head=_side(outcome, Side.HEAD, outcome.head),
        decision=None if outcome.decision is None else _decision(outcome, outcome.decision),
        counters_per_step=outcome.counters,
        findings=[] if found is None else _findings(outcome, found),
        recorded_pair=None if found is None else _pair(outcome, found),
    )


def _side(outcome: Outcome, side: Side, name: str) -> MeasuredSide:
    return filled(MeasuredSide, outcome, name=name, sps=outcome.sps(side))


def _decision(outcome: Outcome, made: decision.Decision) -> Decision:
    return filled(
        Decision,
        made,
        asked_effect=made.asked,
        minimum_detectable_effect=made.mde,
        confirmed=made.state is Verdict.REGRESSION,
        reasons=words.reasons(outcome),
    )


def _findings(outcome: Outcome, found: Comparison) -> list[Finding]:
    return [
        Finding(change.fate.value, change.shown.finding.detector, words.finding(change, found))
        for change in causes.worse_findings(outcome)
    ]


def _pair(outcome: Outcome, found: Comparison) -> RecordedPair:
    return filled(
        RecordedPair,
        found,
        is_comparable=found.rate is not None,
        text=[told.heading for told in words.causes(outcome)],
        slower_functions=[
            _function(function, found) for function in causes.slower_functions(outcome)
        ],
        findings_in_head_only=[
            FindingInHead(change.shown.finding.detector, words.finding_in_head(change, found))
            for change in causes.in_head_only(outcome)
        ],
        reads=[Read(*more, words.read(more, found)) for more in causes.reads_of(outcome)],
    )


def _function(function: GrownFunction, found: Comparison) -> SlowerFunction:
    assert found.tree is not None, "functions come from a tree"
    return filled(
        SlowerFunction,
        function,
        function=function.label,
        file=function.place,
        per=found.tree.per,
        head_us=function.new_us,
        text=words.function(function, found),
    )
