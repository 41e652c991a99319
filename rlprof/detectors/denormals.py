"""Products of arrays some of whose numbers have faded so far that a core multiplies them slowly."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.arrays.products import factors_of
from rlprof.detectors.recognisers.line_time import SteadySearch, own_time
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import Frame
from rlprof.source.lines import Line
from rlprof.source.value import Value
from rlprof.source.values import callee, value_of
from rlprof.syntax.module import SourceModule, Statement
from rlprof.syntax.nodes import given_to

MIN_SHARE: Final = 0.03
"""Least share of the critical time, on these lines."""

REMOVABLE: Final = calibrated(
    Range(0.45, 0.97),
    unit="part of the lines' time",
    source="benchmarks/replacements.py, numpy 2.4: of 512 numbers with a twentieth denormal 0.47 is left, of 4 096 0.15, of 65 000 0.06; with 30 % "
    "of them 0.25, 0.06 and 0.02",
    date="2026-11-29",
)
"""Part that goes where they are zero."""

_BY_ELEMENT: Final = frozenset({"numpy.multiply", "numpy.divide"})


def detect(profile: Profile) -> Iterable[Finding]:
    search = _Search(profile)
    found = search.causes_on_lines(search.product)
    time = own_time(profile, search.lines, found, MIN_SHARE)
    if time is None:
        return
    yield Finding(
        title=f"numbers too small for a core are multiplied ({time.place})",
        savings=tuple(Saving(frozenset(each.nodes), REMOVABLE) for each in found),
        locations=time.locations,
        evidence=(
            time.share_spent("on these lines"),
            f"looks found 5 % of its numbers or more to be denormal, near 1e-40: {time.most.seen}",
        ),
        fix="Set to zero what has faded, every hundred steps or so: traces[traces < 1e-20] = 0. Or let the core take such numbers for zero: "
        "torch.set_flush_denormal(True), once in each thread, holds for numpy, too.",
        confidence=Confidence.BOUNDED,
    )


@dataclass(slots=True)
class _Product:
    """A line that multiplies such an array."""

    place: Line
    seen: str
    """The array in words."""
    nodes: set[int] = field(default_factory=set)


class _Search(SteadySearch):
    def product(self, node: int, frame: Frame) -> _Product | None:
        module = self.lines.module(frame.file)
        for statement in self.lines.statements(frame):
            values = self.values.of(frame.file, statement)
            for factors in _multiplied(statement, values, module):
                for each in factors:
                    value = value_of(each, values)
                    if value is not None and value.has_denormals:
                        seen = f"{ast.unparse(each)}: {value.in_words()}"
                        return _Product(self.lines.line(node), seen)
        return None


def _multiplied(
    statement: Statement, values: Mapping[str, Value], module: SourceModule | None
) -> Iterator[Sequence[ast.expr]]:
    """Yield what a statement multiplies, or divides, with each other. Sums take no longer."""
    match statement.node:
        case ast.AugAssign(target=target, op=ast.Mult() | ast.Div(), value=value):
            yield target, value
    for node in statement.walk():
        match node:
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
                yield left, right
            case ast.Call() if callee(node, values, module).name in _BY_ELEMENT:
                yield given_to(node)
            case _:
                yield factors_of(node, values, module)


DETECTOR: Final = Detector(
    id="denormals",
    name="products of numbers that have faded below what a core computes fast",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES, Need.VALUES})),
)
