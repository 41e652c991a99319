"""Steps of a trace, the optimizer's among them, and what torch.compile did meanwhile."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from rlprof.device.idle import COMPILING
from rlprof.device.intervals import Span, TimeSpan, total, union
from rlprof.model.trace import Row, Trace
from rlprof.tracefile.regions import OPTIMIZER_STEP, PROFILER_STEP

_OPTIMIZER_STEP: Final = re.compile(rf"^{re.escape(OPTIMIZER_STEP)}(?P<name>\w+)\.step$")
_REGION: Final = re.compile(r"^Torch-Compiled Region(: (?P<frame>\d+)/(?P<recompile>\d+))?$")
_FEW_LAUNCHES: Final = 20
"""Launches of a step of an optimizer up to which it does not matter how it is written."""


class OptimizerKind(Enum):
    FUSED = "fused"
    """One kernel for all parameters."""
    FOREACH = "foreach"
    """A kernel for each operation, over all parameters."""
    FOR_LOOP = "for-loop"
    """Kernels for each parameter."""
    SMALL = "small"
    """With so few launches that it does not matter."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class OptimizerFacts:
    """Steps of the optimizers. Times in µs."""

    name: str
    kind: OptimizerKind
    steps: int
    host_us: float
    launches: int

    @property
    def launches_per_step(self) -> float:
        return self.launches / self.steps if self.steps else 0.0


@dataclass(frozen=True, slots=True)
class CompileFacts:
    """Work of torch.compile in the trace."""

    compiling_us: float
    """In compilation, outermost only."""
    regions: int
    """Distinct compiled pieces that ran."""
    regions_per_call: float
    """Pieces that run for one outer call: more than one are graph breaks."""
    recompiled: int
    """Pieces compiled again for other shapes or values."""


def profiler_steps(trace: Trace) -> tuple[TimeSpan, ...]:
    """The steps that the profiler's schedule marked, in order."""
    return tuple(
        TimeSpan(row.ts, row.end) for row in trace.annotations if row.name.startswith(PROFILER_STEP)
    )


def first_step_end(trace: Trace) -> float | None:
    """End of the first of several steps, in which things are set up; none where it is not marked."""
    steps = profiler_steps(trace) or [
        row for row in trace.annotations if _OPTIMIZER_STEP.match(row.name)
    ]
    return steps[0].end if len(steps) > 1 else None


def optimizer_step_ends(trace: Trace) -> list[float]:
    """Ends of the optimizers' steps, in order."""
    return sorted(row.end for row in trace.annotations if _OPTIMIZER_STEP.match(row.name))


def describe_optimizer(trace: Trace, launches: Sequence[Row]) -> OptimizerFacts | None:
    steps = [
        (row, match) for row in trace.annotations if (match := _OPTIMIZER_STEP.match(row.name))
    ]
    if not steps:
        return None
    spans = union((row.ts, row.end) for row, _ in steps)
    threads = {row.thread for row, _ in steps}
    inside = _inside(spans, [launch for launch in launches if launch.thread in threads])
    names = [
        row.name
        for row in _inside(
            spans, [operator for operator in trace.ops if operator.thread in threads]
        )
    ]
    fused = "Fused" in steps[0][1]["name"]
    # On a CPU there are no launches: an op in place is as good.
    calls = len(inside) or sum(name.startswith("aten::") and name.endswith("_") for name in names)
    kind = OptimizerKind.FUSED if fused else _kind(set(names), calls / len(steps))
    return OptimizerFacts(
        name=steps[0][1]["name"],
        kind=kind,
        steps=len(steps),
        host_us=total(spans),
        launches=len(inside),
    )


def _kind(names: set[str], calls_per_step: float) -> OptimizerKind:
    if any(name.startswith("aten::_fused_") for name in names):
        return OptimizerKind.FUSED
    if any(name.startswith("aten::_foreach_") for name in names):
        return OptimizerKind.FOREACH
    if calls_per_step > _FEW_LAUNCHES:
        return OptimizerKind.FOR_LOOP
    return OptimizerKind.SMALL if calls_per_step else OptimizerKind.UNKNOWN


def _inside(spans: Sequence[Span], rows: Sequence[Row]) -> list[Row]:
    """Return, of ``rows`` in order of their start, those that start in one of the disjoint ``spans``."""
    found = []
    at = 0
    for row in rows:
        while at < len(spans) and spans[at][1] < row.ts:
            at += 1
        if at == len(spans):
            break
        if spans[at][0] <= row.ts:
            found.append(row)
    return found


def describe_compiling(trace: Trace) -> CompileFacts:
    rows = [*trace.ops, *trace.annotations]
    spans = union((row.ts, row.end) for row in rows if row.name.endswith(COMPILING))
    matches = [match for row in trace.ops if (match := _REGION.match(row.name))]
    pieces = {match["frame"] or "" for match in matches}
    calls = max(
        (sum((match_["frame"] or "") == piece for match_ in matches) for piece in pieces), default=0
    )
    return CompileFacts(
        compiling_us=total(spans),
        regions=len(pieces),
        regions_per_call=len(matches) / calls if calls else 0.0,
        recompiled=len({match_[0] for match_ in matches if match_["recompile"] not in (None, "0")}),
    )
