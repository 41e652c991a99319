"""Eligibility traces that are kept for a whole table, where a step touches a few of its entries."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import own_time
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.lines import Line, UserLines
from rlprof.source.value import Value
from rlprof.source.values import Values, value_of
from rlprof.syntax.module import SourceModule, Statement
from rlprof.syntax.nodes import assigned, items_of, mentions

MIN_SHARE: Final = 0.03
"""Least share of the critical time, in these operations."""

LARGE: Final = 10_000
"""Numbers of a table: to fade and add as many takes 5 µs, three times as long as the same for a hundred entries."""

_FEW: Final = 16
"""Entries that are set at once, as of as many tilings."""

REMOVABLE: Final = calibrated(
    Range(0.4, 0.97),
    unit="part of the operations' time",
    source="benchmarks/replacements.py, numpy 2.4: of tables of 10 000 to 200 000 numbers 0.03 to 0.36 is left with the last hundred entries in "
    "an array of indices, which has to be kept besides",
    date="2026-11-27",
)
"""Part that goes where only entries that were visited lately are faded and added."""


@dataclass(slots=True)
class _DenseTraces:
    """A line that works on a whole table of traces."""

    place: Line
    table: str
    """In words."""
    nodes: set[int] = field(default_factory=set)


def detect(profile: Profile) -> Iterable[Finding]:
    lines = UserLines.of(profile)
    found = _found(profile, lines)
    time = own_time(profile, lines, found, MIN_SHARE)
    if time is None:
        return
    yield Finding(
        title=f"traces of a whole table are updated at each step ({time.place})",
        savings=tuple(Saving(frozenset(traces.nodes), REMOVABLE) for traces in found),
        locations=time.locations,
        evidence=(
            time.share_spent("in fading and adding them"),
            f"seen there: {time.most.table}",
            "one entry is set at a time: most of the others are zero, or nearly so",
        ),
        fix="Fade and add only entries that were visited lately: keep their indices and traces in two short arrays, drop a trace that has faded below 0.001, "
        "and write table[indices] += step_size * error * traces. With gamma * lambda = 0.9 some 65 of them are left.",
        confidence=Confidence.MEASURED,
    )


def _found(profile: Profile, lines: UserLines) -> list[_DenseTraces]:
    tree, values = profile.steady, Values(profile.values)
    found: dict[Line, _DenseTraces] = {}
    for node in tree.hot_nodes():
        frame = tree.frame(node)
        module = lines.module(frame.file) if lines.is_yours(frame) else None
        statement = module.statement_at(frame.line) if module else None
        if module is None or statement is None:
            continue
        known = values.within(frame.file, frame.function)
        for traces in _traces(module, statement, known):
            seen = value_of(traces, known)
            if seen is not None and _works_on_all(statement, traces, known):
                place = lines.line(node)
                words = f"{ast.unparse(traces)}: {seen.in_words()}"
                found.setdefault(place, _DenseTraces(place, words)).nodes.add(node)
                break
    return list(found.values())


def _traces(
    module: SourceModule, statement: Statement, known: Mapping[str, Value]
) -> Iterator[ast.expr]:
    """Yield large arrays that the function around ``statement`` fades as a whole, and sets one entry of at a time."""
    own = module.of_function(statement.function)
    entered = {text for other in own for text in _entered(other, known)}
    for other in own:
        faded = _faded(other, known)
        text = ast.unparse(faded) if faded is not None else ""
        if faded is None or text not in entered or any(_adds_to(each, text) for each in own):
            continue
        # Counts that fade, and pheromones, are needed whole.
        seen = value_of(faded, known)
        is_sparse = seen is not None and seen.is_mostly_zeros(1)
        if is_sparse or any(_adds_all_of(each, faded, known) for each in own):
            yield faded


def _adds_to(statement: Statement, table: str) -> bool:
    """Tell whether something is added to all of ``table``, as features are."""
    match statement.node:
        case ast.AugAssign(target=target, op=ast.Add() | ast.Sub()):
            return ast.unparse(target) == table
    return False


def _faded(statement: Statement, known: Mapping[str, Value]) -> ast.expr | None:
    """Return the large array that is multiplied by numbers, and stands for the product from then on."""
    match statement.node:
        case ast.AugAssign(target=target, op=ast.Mult(), value=by):
            pass
        case ast.Assign(targets=[target], value=ast.BinOp(op=ast.Mult()) as by):
            if not mentions(by, ast.unparse(target)):
                return None
        case _:
            return None
    is_large = _is_large(value_of(target, known))
    return target if is_large and _is_of_numbers(by, target, known) else None


def _entered(statement: Statement, known: Mapping[str, Value]) -> Iterator[str]:
    """Yield arrays of which one entry is set, or added to."""
    targets = [each.target for each in assigned(statement.node)]
    if isinstance(statement.node, ast.AugAssign):
        targets.append(statement.node.target)
    for target in targets:
        if isinstance(target, ast.Subscript) and _is_one(target.slice, known):
            yield ast.unparse(target.value)


def _is_one(index: ast.expr, known: Mapping[str, Value]) -> bool:
    """Tell whether an index picks one entry, or a few: numbers that were seen, or names side by side."""
    parts = items_of(index)
    for part in parts:
        value = value_of(part, known)
        if value is not None:
            if (value.numbers or LARGE) > _FEW or "bool" in value.in_words():
                return False
        elif isinstance(part, ast.Constant):
            if not isinstance(part.value, int):
                return False
        elif len(parts) == 1 or not isinstance(part, ast.Name | ast.Attribute):
            return False
    return True


def _works_on_all(statement: Statement, traces: ast.expr, known: Mapping[str, Value]) -> bool:
    """Tell whether a statement fades all traces, or adds them to as large a table."""
    if (faded := _faded(statement, known)) is not None:
        return ast.unparse(faded) == ast.unparse(traces)
    return _adds_all_of(statement, traces, known)


def _adds_all_of(statement: Statement, traces: ast.expr, known: Mapping[str, Value]) -> bool:
    """Tell whether a statement adds the traces to a table as large."""
    match statement.node:
        case ast.AugAssign(target=target, op=ast.Add() | ast.Sub(), value=by):
            table = value_of(target, known)
            return (
                _is_large(table)
                and mentions(by, ast.unparse(traces))
                and _is_of_numbers(by, traces, known)
            )
    return False


def _is_of_numbers(product: ast.expr, table: ast.expr, known: Mapping[str, Value]) -> bool:
    """Tell whether nothing that is multiplied, but for ``table``, was seen to be more than a number, or has to be called for."""
    if isinstance(product, ast.BinOp):
        sides = (product.left, product.right)
        is_product = isinstance(product.op, ast.Mult | ast.Div | ast.Add | ast.Sub)
        return is_product and all(_is_of_numbers(side, table, known) for side in sides)
    if isinstance(product, ast.Constant) or ast.unparse(product) == ast.unparse(table):
        return True
    value = value_of(product, known)
    is_name = isinstance(product, ast.Name | ast.Attribute)
    return is_name and (value is None or value.numbers == 1)


def _is_large(value: Value | None) -> bool:
    return value is not None and value.type == "numpy.ndarray" and (value.numbers or 0) >= LARGE


DETECTOR: Final = Detector(
    id="dense-traces",
    name="eligibility traces of a whole table",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES, Need.VALUES})),
)
