"""Make one array of a list before torch makes a tensor of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

import libcst as cst

from rlprof.fixes.base import CannotFixError, Case, Fix, Place, Rewriting
from rlprof.fixes.source_tree import SourceTree, rewritten
from rlprof.source.values import callee

_MAKES: Final = frozenset({"torch.tensor", "torch.as_tensor"})
_OF_TYPE: Final = {
    "torch.FloatTensor": "float32",
    "torch.DoubleTensor": "float64",
    "torch.LongTensor": "int64",
    "torch.IntTensor": "int32",
    "torch.BoolTensor": "bool",
    "torch.Tensor": "",
}
"""Type of the elements that a class gives; torch's default one where it is empty."""
_LISTS: Final = frozenset({"list", "tuple"})

_ARRAY: Final = "numpy.ndarray"
_IN_DEFAULT_TYPE: Final = frozenset({"float"})
"""Numbers of which torch makes ``float32``, and numpy ``float64``."""
_IN_OWN_TYPE: Final = frozenset(
    {"int", "bool", "numpy.int64", "numpy.int32", "numpy.float32", "numpy.float64", "numpy.bool", "numpy.bool_", _ARRAY}
)  # fmt: skip


def _rewrite(case: Case) -> Rewriting:
    return rewritten(case, _change)


def _change(tree: SourceTree, place: Place) -> None:
    refusals = []
    changed = False
    for call in tree.calls(tree.statement(place.line)):
        name = callee(_as_call(tree, call), place.known, tree.names).name
        if name not in _MAKES and name not in _OF_TYPE:
            continue
        try:
            if not tree.is_changed(call):
                _change_call(tree, call, name, place)
            changed = True
        except CannotFixError as error:
            refusals.append(error)
    if not changed:
        raise refusals[0] if refusals else CannotFixError("its line calls no torch.tensor")


def _as_call(tree: SourceTree, node: cst.Call) -> ast.Call:
    call = tree.expression(node)
    assert isinstance(call, ast.Call)
    return call


def _change_call(tree: SourceTree, call: cst.Call, name: str, place: Place) -> None:
    if not call.args:
        raise CannotFixError("its line calls no torch.tensor of a list")
    first, *others = call.args
    if first.star or first.keyword or any(argument.keyword is None for argument in others):
        raise CannotFixError("what its tensor is made of is not given first, by itself")
    if not isinstance(call.func, cst.Attribute) or not isinstance(call.func.value, cst.Name):
        raise CannotFixError(f"{name} is not called by its module's name")
    torch = call.func.value.value
    dtype = next(
        (argument.value for argument in others if argument.keyword and argument.keyword.value == "dtype"),
        None,
    )  # fmt: skip
    has_type = dtype is not None and tree.code(dtype) != "None"
    elements = _elements(tree, first.value, place)
    if elements not in (_IN_OWN_TYPE | _IN_DEFAULT_TYPE):
        raise CannotFixError(
            f"{_short(tree, first.value)} holds {elements}, of which numpy would make something else"
        )
    wanted = ""
    if name in _OF_TYPE:
        if others:
            raise CannotFixError(f"{name} is given more than a list")
        of_type = _OF_TYPE[name]
        wanted = f"{torch}.{of_type}" if of_type else f"{torch}.get_default_dtype()"
    elif not has_type:
        if dtype is not None:
            raise CannotFixError("its dtype is given as None")
        _check_type_is_sure(tree, first.value, elements, place)
    if not wanted and elements in _IN_DEFAULT_TYPE and not has_type:
        wanted = f"{torch}.get_default_dtype()"

    numpy = tree.name_of("numpy", "np")

    def change(updated: cst.Call) -> cst.Call:
        given = updated.args[0]
        array = cst.Call(cst.parse_expression(f"{numpy}.array"), [cst.Arg(given.value)])
        args = [given.with_changes(value=array), *updated.args[1:]]
        if wanted:
            args = _with_type(args, wanted)
        if name not in _OF_TYPE:
            return updated.with_changes(args=args)
        return updated.with_changes(func=cst.parse_expression(f"{torch}.as_tensor"), args=args)

    tree.replace(call, change)


def _check_type_is_sure(
    tree: SourceTree, given: cst.BaseExpression, elements: str, place: Place
) -> None:
    """Raise where others than the first elements, or none at all, would make numpy choose another type than torch."""
    seen = place.known.get(tree.written(given))
    if seen is None or elements in _IN_DEFAULT_TYPE:
        return
    if elements != _ARRAY:
        raise CannotFixError(
            f"only the first elements of {_short(tree, given)} were looked at, and no dtype is given"
        )
    if 0 in seen.counts:
        raise CannotFixError(f"{_short(tree, given)} is empty at times, and no dtype is given")


def _with_type(args: list[cst.Arg], wanted: str) -> list[cst.Arg]:
    given, *others = args
    dtype = cst.Arg(
        cst.parse_expression(wanted),
        keyword=cst.Name("dtype"),
        equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")),
        comma=given.comma,
        whitespace_after_arg=given.whitespace_after_arg,
    )
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    return [
        given.with_changes(comma=comma, whitespace_after_arg=cst.SimpleWhitespace("")),
        dtype,
        *others,
    ]


def _elements(tree: SourceTree, given: cst.BaseExpression, place: Place) -> str:
    """Return the type of all elements of what is given."""
    match given:
        case cst.ListComp(elt=element):
            kinds = {_kind(tree, element, place)}
        case cst.List(elements=elements) if elements:
            kinds = {_kind(tree, each.value, place) for each in elements}
        case _:
            kinds = {*_seen_elements(tree, given, place)}
    if len(kinds) != 1:
        raise CannotFixError(f"{_short(tree, given)} holds elements of several types")
    return kinds.pop()


def _seen_elements(tree: SourceTree, given: cst.BaseExpression, place: Place) -> Iterator[str]:
    seen = place.known.get(tree.written(given))
    if seen is None or not seen.items:
        raise CannotFixError(f"what {_short(tree, given)} holds was not seen")
    if not seen.types <= _LISTS:
        raise CannotFixError(f"{_short(tree, given)} was seen to be no list")
    yield seen.items
    if seen.is_mixed:
        yield "others"


def _kind(tree: SourceTree, element: cst.BaseExpression, place: Place) -> str:
    match element:
        case cst.Call(func=cst.Name("float" | "int" | "bool" | "len" as name)):
            return "int" if name == "len" else name
        case cst.Integer():
            return "int"
        case cst.Float():
            return "float"
    seen = place.known.get(tree.written(element))
    if seen is None or len(seen.types) != 1:
        raise CannotFixError(f"{_short(tree, element)} was not seen")
    return seen.type


def _short(tree: SourceTree, node: cst.BaseExpression) -> str:
    text = tree.written(node)
    return text if len(text) <= 40 else f"{text[:39]}…"


FIX: Final = Fix(
    id="one-array-first",
    does="makes one array of the list before torch makes a tensor of it",
    findings=frozenset({"tensor-from-list"}),
    rewrite=_rewrite,
)
