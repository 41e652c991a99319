"""A comparison as JSON: its keys, in order, and their values. ``diff.schema.json`` is made from these.

Within a version keys are only added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

from msgspec import Struct, field

from rlprof.comparison.calltree import ChangeTree
from rlprof.comparison.compare import METRICS, Comparison
from rlprof.comparison.findings import Fate, FindingChange
from rlprof.comparison.outline import drawn
from rlprof.documents.json import (
    Interval,
    Note,
    Number,
    document_as_text,
    filled,
    means,
    one_of,
)
from rlprof.model import finding
from rlprof.model.finding import Confidence, PricedFinding
from rlprof.model.report import Report
from rlprof.renderers.svg.shapes import KINDS
from rlprof.report import wording

MOST_FUNCTIONS: Final = 200
THINNEST_SHARE: Final = 0.001
"""Share of the root: the document is for programs that say what changed, not for drawing."""

UNITS: Final = {"step": "us_per_step", "share": "share", "run": "us"}
"""Units of the cost of a finding."""

_PLACE: Final = means(
    "The file, from the project or the package on; empty for roles and what is no function."
)
_NOISE: Final = means("Half-width of the band around no change in which nothing is claimed.")
_IS_CLEAR: Final = means("Whether the change is outside of that band.")


class Range(Struct, frozen=True):
    low: float
    high: float


class Run(Struct, frozen=True):
    id: str
    file: str | None
    label: str | None
    git: str | None
    command: Sequence[str]
    started: str
    exit_code: int | None
    complete: bool
    host: Mapping[str, str]
    unit: str
    steady_sps: Interval | None
    steady_rate: Annotated[Interval | None, means("`unit` per second of the steady phase.")]
    why_no_sps: str | None


class Rate(Struct, frozen=True):
    ratio: Interval
    crowding_ratio: Annotated[
        float, means("What other programs on the machine explain of the ratio.")
    ]
    is_clear: Annotated[
        bool, means("Whether the ratio is more than noise, crowding, and five per cent.")
    ]


class Place(Struct, frozen=True):
    file: str
    line: int
    function: str


class Priced(Struct, frozen=True):
    title: str
    phase: str
    confidence: Confidence
    cost: Annotated[Range, means("What its fix would save, in the finding's unit.")]
    saved_share: Range
    locations: Sequence[Place]


class Finding(Struct, frozen=True):
    fate: Fate
    id: str
    unit: Annotated[str, one_of(*UNITS.values())]
    base: Priced | None
    new: Priced | None


class Counter(Struct, frozen=True):
    name: str
    base: Number
    new: Number
    is_clear: bool


class Quantity(Struct, frozen=True):
    name: str
    unit: Annotated[str, one_of("us", "bytes", "cores")]
    base: Number
    new: Number


class Cost(Struct, frozen=True):
    """µs per step (or per second), and the part of it that is waiting."""

    us: float
    idle_us: float = field(name="waiting_us")


class Box(Struct, frozen=True):
    parent: Annotated[int, means("Place in this list; -1 for the root.")]
    label: str
    place: Annotated[str, _PLACE]
    kind: Annotated[str, one_of(*KINDS)]
    base: Cost
    new: Cost
    noise_us: Annotated[float, _NOISE]
    is_clear: Annotated[bool, _IS_CLEAR]


class Function(Struct, frozen=True):
    label: str
    place: Annotated[str, _PLACE]
    kind: Annotated[str, one_of(*KINDS)]
    base: Cost
    new: Cost
    noise_us: Annotated[float, _NOISE]
    is_clear: Annotated[bool, _IS_CLEAR]
    is_waiting: bool


class Tree(Struct, frozen=True):
    per: Annotated[
        str,
        one_of("step", "second"),
        means(
            "What the costs are for: a step, or a second of steady time where steps are not known in both."
        ),
    ]
    common_ratio: Annotated[
        float, means("New over base of what all functions have in common, and none is blamed for.")
    ]
    pruned_share: float
    boxes: Annotated[
        Sequence[Box],
        means(
            "Preorder; costs include what is called. Boxes under a thousandth of the root are left out."
        ),
    ]
    functions: Annotated[
        Sequence[Function],
        means(
            f"Own time, in all places together; the most changed first, at most {MOST_FUNCTIONS}."
        ),
    ]


class DiffDocument(Struct, frozen=True):
    """Document of `rlprof diff --format json`. Within a version keys are only ever added: ignore those you do not know. A value that could not be measured is null."""

    format: Literal["rlprof-diff"]
    version: Literal[1]
    """1: the first."""
    rlprof: str
    metric: Annotated[str, one_of(*METRICS)]
    base: Run
    new: Run
    rate: Annotated[
        Rate | None,
        means("Steps per second, new over base; null unless both are known and count the same."),
    ]
    findings: Sequence[Finding]
    counters_per_step: Sequence[Counter]
    quantities: Sequence[Quantity]
    calltree: Annotated[
        Tree | None,
        means("Of the steady phase, processes of a role and lines of a function merged."),
    ]
    notes: Sequence[Note]


def comparison_as_json(found: Comparison) -> str:
    return document_as_text(
        DiffDocument,
        found,
        base=_run(found.base),
        new=_run(found.new),
        findings=[_finding(change) for change in found.findings],
        counters_per_step=found.counters,
        calltree=None if found.tree is None else _tree(found.tree),
    )


def _run(report: Report) -> Run:
    run = report.run
    return filled(
        Run,
        run,
        file=report.run_file or None,
        started=run.started.isoformat(timespec="seconds"),
        host=dict(run.host),
        unit=report.throughput.unit,
        steady_sps=report.throughput.steps_per_s,
        steady_rate=report.throughput.steady_sps,
        why_no_sps=wording.unglued(wording.lack_of_steps(report.throughput)) or None,
    )


def _finding(change: FindingChange) -> Finding:
    return filled(
        Finding,
        change,
        id=change.shown.finding.detector,
        unit=UNITS[change.unit],
        base=_priced(change.base, change.base_cost),
        new=_priced(change.new, change.new_cost),
    )


def _priced(priced: PricedFinding | None, cost: finding.Range | None) -> Priced | None:
    if priced is None or cost is None:
        return None
    return filled(
        Priced,
        priced.finding,
        cost=cost,
        saved_share=priced.saved_share,
    )


def _tree(tree: ChangeTree) -> Tree:
    shown = drawn(tree, THINNEST_SHARE)
    return filled(
        Tree,
        tree,
        pruned_share=shown.pruned_share,
        boxes=shown.boxes,
        functions=tree.functions[:MOST_FUNCTIONS],
    )
