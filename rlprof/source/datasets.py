"""Datasets that only take items out of what they hold, as far as the text of a file tells."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Final

from rlprof.model.recording import Frame
from rlprof.source.lines import last_name
from rlprof.syntax.module import PARSED_FILES, Function, called_name, parse
from rlprof.syntax.nodes import names_in, nodes_in

GETITEM: Final = "__getitem__"

_CONVERTS: Final = (
    frozenset(
        (
            "tensor",
            "as_tensor",
            "Tensor",
            "FloatTensor",
            "LongTensor",
            "from_numpy",
            "asarray",
            "array",
        )
    )
    | frozenset(
        (
            "float",
            "int",
            "bool",
            "long",
            "float32",
            "int64",
            "astype",
            "to",
            "item",
            "clone",
            "copy",
        )
    )
    | frozenset(
        (
            "tuple",
            "list",
            "dict",
            "zip",
            "items",
            "values",
            "squeeze",
            "unsqueeze",
            "view",
            "reshape",
        )
    )
)
"""Calls that can be made of all rows at once, or once and for all."""

_DOES_MORE: Final = (
    *(ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try),
    *(ast.Yield, ast.YieldFrom, ast.Await, ast.AugAssign, ast.Delete, ast.Lambda),
)


def only_indexes(text: str, frame: Frame) -> bool:
    """Tell whether ``frame`` is in a ``__getitem__`` that indexes, converts and reckons, and nothing else."""
    return frame.line in _indexing_lines(text)


@lru_cache(maxsize=PARSED_FILES)
def _indexing_lines(text: str) -> frozenset[int]:
    module = parse(text) if GETITEM in text else None
    return frozenset(
        line
        for function in (module.functions if module else ())
        if last_name(function.qualname) == GETITEM and _indexes(function)
        for line in range(function.first_line, function.last_line + 1)
    )


def _indexes(function: Function) -> bool:
    given = [argument.arg for argument in function.node.args.args]
    inside = list(nodes_in(*function.node.body))
    if len(given) != 2 or any(isinstance(inner, _DOES_MORE) for inner in inside):
        return False
    calls = [inner for inner in inside if isinstance(inner, ast.Call)]
    return all(called_name(call) in _CONVERTS for call in calls) and any(
        isinstance(inner, ast.Subscript) and (given[1] in names_in(inner.slice)) for inner in inside
    )
