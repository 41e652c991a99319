"""Products of arrays of which nearly all numbers are zeros: features of which few are active, states written as one 1 among zeros."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.arrays.products import factors_of
from rlprof.detectors.recognisers.line_time import SteadySearch, own_time
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import Frame
from rlprof.source.lines import Line, UserLines
from rlprof.source.value import Value
from rlprof.source.values import value_of
from rlprof.syntax.module import SourceModule, Statement
from rlprof.syntax.nodes import operands_of

LOOKS: Final = 2
"""That found zeros; the second comes when the time of its line has doubled."""

MIN_SHARE: Final = 0.03
"""Least share of the critical time, on these lines."""

LARGE_PRODUCT: Final = calibrated(
    30_000,
    unit="numbers of the larger array",
    source="benchmarks/replacements.py, numpy 2.4: to pick 8 places of a table takes as long as its product with 10 000 numbers",
    date="2026-11-29",
)
"""Size from which on a product is told."""

LARGE_MULTIPLE: Final = calibrated(
    5_000,
    unit="numbers of the array",
    source="benchmarks/replacements.py, numpy 2.4: of 2 000 numbers that are added 0.6 is left, of 18 000 0.17",
    date="2026-11-29",
)
"""The same of what a multiple is added of."""

REMOVABLE: Final = calibrated(
    Range(0.4, 0.98),
    unit="part of the lines' time",
    source="benchmarks/replacements.py, numpy 2.4: of a product with 90 000 numbers 0.18 is left, and of 18 000 that are added 0.17; larger ones leave less",
    date="2026-11-29",
)
"""Part that goes with the places of the others: to pick them takes 1 to 3 µs each time."""


def detect(profile: Profile) -> Iterable[Finding]:
    lines = UserLines.of(profile)
    found = _Search(profile, lines).found()
    time = own_time(profile, lines, found, MIN_SHARE)
    if time is None:
        return
    yield Finding(
        title=f"arrays that are nearly all zeros are multiplied ({time.place})",
        savings=(Saving(frozenset(node for each in found for node in each.nodes), REMOVABLE),),
        locations=time.locations,
        evidence=(
            time.share_spent("on these lines"),
            f"each look found 95 % of its numbers or more to be zeros: {time.most.seen}",
        ),
        fix="Keep the places of those that are not, and pick what belongs to them: weights[:, active].sum(axis=1) for weights @ features, "
        "weights[active] += step for weights += step * features. Of larger tables scipy.sparse does the same.",
        confidence=Confidence.BOUNDED,
    )


@dataclass(slots=True)
class SparseProduct:
    """A line that multiplies one."""

    place: Line
    seen: str
    """The array in words."""
    shape: tuple[int, ...] | None
    is_sure: bool
    """True if looks enough have found it so; of others of its shape one look is."""
    nodes: set[int] = field(default_factory=set)


class _Search(SteadySearch):
    """Finds them in the steady phase."""

    def found(self) -> Collection[SparseProduct]:
        products = self.causes_on_lines(self._product)
        sure = {each.shape for each in products if each.is_sure}
        return [each for each in products if each.shape in sure]

    def _product(self, node: int, frame: Frame) -> SparseProduct | None:
        module = self.lines.module(frame.file)
        for statement in self.lines.statements(frame):
            values = self.values.of(frame.file, statement)
            for factors, fewest in multiplied(statement, values, module):
                seen = {ast.unparse(each): value_of(each, values) for each in factors}
                arrays = {text: value for text, value in seen.items() if value and value.is_array}
                if all(len(value.shape or ()) > 1 for value in arrays.values()):
                    continue  # Of two tables each row would pick places of its own, which takes longer.
                if max((value.numbers or 0 for value in arrays.values()), default=0) < fewest:
                    continue
                for text, value in arrays.items():
                    if value.is_mostly_zeros(1):
                        told, is_sure = f"{text}: {value.in_words()}", value.is_mostly_zeros(LOOKS)
                        return SparseProduct(self.lines.line(node), told, value.shape, is_sure)
        return None


def multiplied(
    statement: Statement, values: Mapping[str, Value], module: SourceModule | None
) -> Iterator[tuple[Sequence[ast.expr], int]]:
    """Yield the factors of products, ``weights @ features``, and of what a multiple is added of, ``weights += step * features``, each with the
    numbers from which on it is worth to leave out zeros.
    """
    for node in statement.walk():
        if factors := factors_of(node, values, module):
            yield factors, LARGE_PRODUCT
    match statement.node:
        case ast.AugAssign(op=ast.Add() | ast.Sub(), value=value):
            yield [*operands_of(value, ast.Mult)], LARGE_MULTIPLE


DETECTOR: Final = Detector(
    id="mostly-zeros",
    name="products of arrays that are nearly all zeros",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES, Need.VALUES})),
)
