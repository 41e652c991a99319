"""The cost of rlprof as JSON. ``docs/overhead.md`` describes the keys; within a version they are only added."""

from __future__ import annotations

from typing import Final

import rlprof
from rlprof.overhead.cost import CONFIDENCE, Cost, OwnCpu, Pair
from rlprof.renderers.json_report.values import Json, as_json_text, known, number

FORMAT: Final = "rlprof-overhead"
FORMAT_VERSION: Final = 1
"""1: the first."""


def cost_as_json(cost: Cost) -> str:
    loss = cost.loss
    return as_json_text(
        {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "rlprof": rlprof.__version__,
            "command": list(cost.command),
            "basis": cost.basis.value,
            "why_wall": cost.why_wall or None,
            "unit": cost.pairs[0].unit,
            "source": cost.pairs[0].source or None,
            "loss": {
                "median": number(loss.middle),
                "low": known(loss.low),
                "high": known(loss.high),
                "confidence": None if loss.low is None else CONFIDENCE,
            },
            "bare": number(cost.bare),
            "recorded": number(cost.recorded),
            "own_cpu": _own(cost.own),
            "pairs": [_pair(pair) for pair in cost.pairs],
        },
        is_rounded=True,
    )


def _pair(pair: Pair) -> Json:
    return {
        "bare": number(pair.bare),
        "recorded": number(pair.recorded),
        "loss": number(pair.loss),
        "own_cpu": _own(pair.own),
    }


def _own(own: OwnCpu) -> Json:
    return {
        "cores": number(own.cores),
        "cores_per_process": number(own.per_process),
        "parts": {part: number(cores) for part, cores in own.parts.items()},
        "processes": number(own.processes),
        "wall_s": number(own.wall_s),
    }
