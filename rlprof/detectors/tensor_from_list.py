"""Tensors made of Python lists: torch looks at every item of every row by itself."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.container_types import root_name
from rlprof.source.lines import Line, UserLines, heaviest_line, short_place
from rlprof.source.values import Value, Values, value_of
from rlprof.syntax.module import PARSED_FILES, Statement, called_name, parse
from rlprof.units import of_each_step, percent

MIN_SHARE: Final = 0.02
"""Of the critical time: twice what a report lists."""

REMOVABLE: Final = calibrated(
    Range(0.75, 0.97),
    unit="part of the line's time",
    source="benchmarks/replacements.py, torch 2.13: of 32 arrays of 4 36 µs and 5.4, of 128 134 "
    "and 16, of 128 arrays of 64 831 and 16; of 128 floats 15 and 3.9, of 2 048 210 and 33",
    date="2026-11-21",
)
"""Part that ``torch.as_tensor(np.array(items))`` saves."""

BESIDE_OTHERS: Final = Range(0.2, 0.97)
"""The same where the line calls something else, too: nobody knows which of them takes how much."""


def detect(profile: Profile) -> Iterable[Finding]:
    tree, whole = profile.steady, profile.critical.wall_us
    lines = UserLines(tree, profile.sources, profile.started_package)
    known = {
        file: statements
        for file, text in profile.sources.items()
        if (statements := tensors_of_lists(text))
    }
    values = Values(profile.values)
    alone: set[int] = set()
    shared: set[int] = set()
    weights: dict[Line, float] = defaultdict(float)
    seen: dict[Line, TensorOfList] = {}
    for node in tree.hot_nodes():
        frame = tree.frame(node)
        # It is done in C: the line's own time.
        us = tree.self_cost(node).wall_us
        if not us or not lines.is_yours(frame):
            continue
        made = known.get(frame.file, {}).get(frame.line)
        for statement in lines.statements(frame) if values.has(frame.file) else ():
            made = tensor_of_seen_list(statement, values.of(frame.file, statement)) or made
        if made is None:
            continue
        (alone if made.is_alone else shared).add(node)
        weights[lines.line(node)] += us
        seen[lines.line(node)] = made
    total = sum(weights.values())
    if not whole or total < MIN_SHARE * whole:
        return
    heaviest = heaviest_line(weights)
    each = of_each_step(total, profile.steady_steps)
    yield Finding(
        title=f"a tensor is made of a list, item by item ({short_place(heaviest)})",
        savings=tuple(
            Saving(frozenset(nodes), removable)
            for nodes, removable in ((alone, REMOVABLE), (shared, BESIDE_OTHERS))
            if nodes
        ),
        locations=lines.shown_locations(weights, whole),
        evidence=(
            f"{percent(total / whole)} of the steady time is spent on that line itself{each}",
            f"it is given a list: {seen[heaviest].name}",
        ),
        fix="Make one array first, torch.as_tensor(np.array(items)), or write into an array made once "
        "(buffer[t] = observation) and use torch.from_numpy(buffer).",
        confidence=Confidence.MEASURED,
    )


# --- the statements of a source file that make a tensor of a list ---------------------------


_LISTS: Final = frozenset({"list", "tuple"})
_TORCH: Final = frozenset({"torch", "th"})
_MAKES: Final = frozenset(
    {"tensor", "as_tensor", "Tensor", "FloatTensor", "LongTensor", "BoolTensor"}
)
_CHEAP: Final = frozenset(
    {
        "to",
        "float",
        "long",
        "bool",
        "unsqueeze",
        "squeeze",
        "view",
        "reshape",
        "len",
        "append",
        "int",
    }
)
"""Calls on such a line that take a microsecond, whatever the list."""

FEW: Final = 4
"""Items of a list that is written out, up to which making an array first gains nothing."""


class TensorOfList(NamedTuple):
    """One such statement."""

    name: str
    """What is made into a tensor, as written."""
    is_alone: bool
    """Whether nothing else is called on its lines that takes time."""


@lru_cache(maxsize=PARSED_FILES)
def tensors_of_lists(text: str) -> Mapping[int, TensorOfList]:
    """The statements by line number; empty when ``text`` cannot be read."""
    module = parse(text)
    if module is None or "torch" not in text:
        return {}
    found: dict[int, TensorOfList] = {}
    for statements in module.by_function():
        lists = _lists(statements)
        for statement in statements:
            made = _made(statement, lists)
            if made is not None:
                found |= dict.fromkeys(statement.lines, made)
    return found


def _made(statement: Statement, lists: frozenset[str]) -> TensorOfList | None:
    calls = [node for node in statement.walk() if isinstance(node, ast.Call)]
    makers = [
        call
        for call in calls
        if called_name(call) in _MAKES
        and root_name(call.func) in _TORCH
        and call.args
        and _is_long_list(call.args[0], lists)
    ]
    if not makers:
        return None
    others = {called_name(call) for call in calls if call not in makers} - _CHEAP
    return TensorOfList(ast.unparse(makers[0].args[0])[:60], not others)


def tensor_of_seen_list(statement: Statement, known: Mapping[str, Value]) -> TensorOfList | None:
    """The same by the values that were seen there, whatever the names; None where they tell of no list."""
    calls = [node for node in statement.walk() if isinstance(node, ast.Call)]
    for call in calls:
        callee, given = value_of(call.func, known), call.args and value_of(call.args[0], known)
        if callee is None or not given or not _makes_a_tensor(callee):
            continue
        if given.type in _LISTS and (given.length or 0) > FEW:
            others = {called_name(it) for it in calls if it is not call} - _CHEAP
            what = f"{ast.unparse(call.args[0])[:60]}, a {given.in_words()}"
            return TensorOfList(what, not others)
    return None


def _makes_a_tensor(callee: Value) -> bool:
    name = callee.function or callee.made
    return name.startswith("torch.") and name.rpartition(".")[2] in _MAKES


def _is_long_list(argument: ast.expr, lists: frozenset[str]) -> bool:
    if isinstance(argument, ast.List):
        return len(argument.elts) > FEW
    return isinstance(argument, ast.ListComp) or ast.unparse(argument) in lists


def _lists(statements: Iterable[Statement]) -> frozenset[str]:
    """Names that hold lists in one function: made as one there, or added to there."""
    names: set[str] = set()
    for statement in statements:
        node = statement.node
        if isinstance(node, ast.Assign):
            for target in node.targets:
                names.update(_list_targets(target, node.value))
        for call in statement.walk():
            match call:
                case ast.Call(func=ast.Attribute(value=container, attr="append")):
                    names.add(ast.unparse(container))
    return frozenset(names)


def _list_targets(target: ast.expr, value: ast.expr) -> Iterable[str]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for part, given in zip(target.elts, value.elts, strict=False):
            yield from _list_targets(part, given)
    elif isinstance(value, ast.List | ast.ListComp):
        yield ast.unparse(target)


DETECTOR: Final = Detector(
    id="tensor-from-list",
    name="tensors made of Python lists, item by item",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
