"""The cost of rlprof as JSON. ``docs/overhead.md`` describes the keys; within a version they are only added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from rlprof.overhead import cost as costs
from rlprof.overhead.cost import CONFIDENCE, Basis, MeasuredOverhead
from rlprof.renderers.json_report.values import Document, Number, as_json_text


class Loss(Struct, frozen=True):
    median: Number
    low: Number
    high: Number
    confidence: Number


class OwnCpu(Struct, frozen=True):
    cores: Number
    cores_per_process: Number
    parts: Mapping[str, Number]
    processes: Number
    wall_s: Number


class Pair(Struct, frozen=True):
    bare: Number
    recorded: Number
    loss: Number
    own_cpu: OwnCpu


class OverheadDocument(Document, frozen=True, kw_only=True):
    format: Literal["rlprof-overhead"] = "rlprof-overhead"
    command: Sequence[str]
    basis: Basis
    why_wall: str | None
    unit: str
    source: str | None
    loss: Loss
    bare: Number
    recorded: Number
    own_cpu: OwnCpu
    pairs: Sequence[Pair]


def cost_as_json(cost: MeasuredOverhead) -> str:
    loss = cost.loss
    confidence = None if loss.low is None else CONFIDENCE
    return as_json_text(
        OverheadDocument(
            command=cost.command,
            basis=cost.basis,
            why_wall=cost.why_wall or None,
            unit=cost.pairs[0].unit,
            source=cost.pairs[0].source or None,
            loss=Loss(loss.middle, loss.low, loss.high, confidence),
            bare=cost.bare,
            recorded=cost.recorded,
            own_cpu=_own(cost.own),
            pairs=[
                Pair(pair.bare, pair.recorded, pair.loss, _own(pair.own)) for pair in cost.pairs
            ],
        )
    )


def _own(own: costs.OwnCpu) -> OwnCpu:
    return OwnCpu(own.cores, own.per_process, dict(own.parts), own.processes, own.wall_s)
