"""The cost of rlprof as JSON: its keys, in order, and their values. ``overhead.schema.json`` is made from these.

Within a version keys are only added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import Struct

from rlprof.documents.json import Number, document_as_text, filled, means
from rlprof.overhead import cost as costs
from rlprof.overhead.cost import CONFIDENCE, Basis, MeasuredOverhead


class Loss(Struct, frozen=True):
    median: Annotated[
        Number,
        means(
            "Part of the speed that goes; negative where the runs with rlprof were the faster ones."
        ),
    ]
    low: Annotated[Number, means("Null with fewer than five pairs.")]
    high: Annotated[Number, means("As `low`.")]
    confidence: Annotated[Number, means("Of the interval; null without one.")]


class OwnCpu(Struct, frozen=True):
    cores: Annotated[Number, means("Cores that rlprof itself took: the sum of its parts.")]
    cores_per_process: Number
    parts: Annotated[Mapping[str, Number], means("Cores by part of rlprof.")]
    processes: Annotated[Number, means("Processes that lived at a time.")]
    wall_s: Number


class Pair(Struct, frozen=True):
    bare: Number
    recorded: Number
    loss: Number
    own_cpu: OwnCpu


class OverheadDocument(Struct, frozen=True):
    """Document of `rlprof overhead --format json`. Within a version keys are only ever added: ignore those you do not know. A value that could not be measured is null."""

    format: Literal["rlprof-overhead"]
    version: Literal[1]
    """1: the first."""
    rlprof: str
    command: Annotated[Sequence[str], means("What was run, without its secrets.")]
    basis: Annotated[Basis, means("What speed is measured by.")]
    why_wall: Annotated[
        str | None, means("Why whole runs were timed though nobody asked for that.")
    ]
    unit: Annotated[
        str, means("Of `bare` and `recorded`: `steps` or `updates` per second, or `s`.")
    ]
    source: Annotated[str | None, means("What counted the steps; null for whole runs.")]
    loss: Loss
    bare: Annotated[Number, means("Median without rlprof.")]
    recorded: Annotated[Number, means("Median with it.")]
    own_cpu: Annotated[OwnCpu, means("Medians.")]
    pairs: Sequence[Pair]


def cost_as_json(cost: MeasuredOverhead) -> str:
    loss = cost.loss
    confidence = None if loss.low is None else CONFIDENCE
    return document_as_text(
        OverheadDocument,
        cost,
        why_wall=cost.why_wall or None,
        unit=cost.pairs[0].unit,
        source=cost.pairs[0].source or None,
        loss=Loss(loss.middle, loss.low, loss.high, confidence),
        own_cpu=_own(cost.own),
        pairs=[filled(Pair, pair, own_cpu=_own(pair.own)) for pair in cost.pairs],
    )


def _own(own: costs.OwnCpu) -> OwnCpu:
    return OwnCpu(own.cores, own.per_process, dict(own.parts), own.processes, own.wall_s)
