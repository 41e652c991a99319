"""Lines of a source file that hand a model's weights to other processes, or take them from there."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from rlprof.syntax.module import PARSED_FILES, Statement, called_name, parse

_SENDS: Final = frozenset({"put", "put_nowait", "send", "send_bytes"})
_TAKES: Final = frozenset({"get", "get_nowait", "recv", "recv_bytes"})
_COPIES: Final = frozenset({"deepcopy", "get_weights", "parameters_to_vector"})
_LOADS: Final = frozenset({"load_state_dict", "set_weights", "vector_to_parameters"})
_SAVES: Final = frozenset({"save", "dump", "save_checkpoint", "save_model", "log_artifact"})
"""A checkpoint, which is no other process's."""

_MODEL: Final = re.compile(
    r"^(\w*_)?(model|net|network|policy|actor|critic|agent|learner)$", re.IGNORECASE
)
_WEIGHTS: Final = re.compile(
    r"^(\w*_)?(weights|params|parameters|state_dict|model_state|policy_state)$", re.IGNORECASE
)

_HINT: Final = re.compile(r"state_dict|deepcopy|weights|params|parameters|model_state|policy_state")


@lru_cache(maxsize=PARSED_FILES)
def publishing_lines(text: str) -> Mapping[int, str]:
    """Lines that copy, send, take or load weights: ``copy``, ``send``, ``take`` or ``load``.

    By function: what is sent has to be made of a ``state_dict`` there (or be named so), what is
    taken has to be loaded there. A target network that is copied in one statement is nobody else's.
    """
    # Most files know nothing of weights, and reading them all takes seconds.
    module = parse(text) if _HINT.search(text) else None
    lines: dict[int, str] = {}
    if module is None:
        return lines
    by_function: dict[int, list[Statement]] = defaultdict(list)
    for statement in module.statements:
        by_function[id(statement.function)].append(statement)
    for statements in by_function.values():
        kinds = list(_kinds(statements))
        passes_on = any(kind in ("send", "take") for _, kind in kinds)
        for statement, kind in kinds:
            # Copies and loads alone are those of a target network or a checkpoint.
            if kind in ("send", "take") or passes_on or _names_it(statement):
                for line in range(statement.first_line, statement.last_line + 1):
                    lines[line] = kind
    return lines


def _names_it(statement: Statement) -> bool:
    """Whether the function around it is there for passing weights on."""
    name = statement.function.node.name if statement.function else ""
    return bool(
        re.search(
            r"publish|broadcast|sync_?(weights|params|model|policy)|(push|pull|get)_weights", name
        )
    )


def _kinds(statements: list[Statement]) -> Iterator[tuple[Statement, str]]:
    weights = _weight_names(statements)
    loaded = _loaded_names(statements)
    for statement in statements:
        calls = [node for node in statement.walk() if isinstance(node, ast.Call)]
        names = {called_name(call) for call in calls}
        if names & _SAVES:
            continue
        if names & _LOADS:
            if not ({"state_dict", "get_weights", "parameters"} & names):
                yield statement, "take" if names & _TAKES else "load"
        elif any(_sends(call, weights) for call in calls):
            yield statement, "send"
        elif names & _TAKES and set(_targets(statement)) & loaded:
            yield statement, "take"
        elif _copies(calls):
            yield statement, "copy"


def _weight_names(statements: list[Statement]) -> set[str]:
    """Variables made of a model's weights, in the order in which they are made."""
    names: set[str] = set()
    for statement in statements:
        calls = [node for node in statement.walk() if isinstance(node, ast.Call)]
        if _copies(calls) or _names_in(statement) & names:
            names.update(_targets(statement))
    return names


def _loaded_names(statements: list[Statement]) -> set[str]:
    """Variables that are loaded into a model."""
    return {
        name.id
        for statement in statements
        for call in statement.walk()
        if isinstance(call, ast.Call) and called_name(call) in _LOADS
        for argument in call.args
        for name in ast.walk(argument)
        if isinstance(name, ast.Name)
    }


def _copies(calls: list[ast.Call]) -> bool:
    return any(
        called_name(call) == "state_dict"
        or (called_name(call) in _COPIES and (not call.args or _is_model(call.args[0])))
        for call in calls
    )


def _sends(call: ast.Call, weights: set[str]) -> bool:
    if called_name(call) not in _SENDS:
        return False
    return any(
        (isinstance(node, ast.Name) and node.id in weights)
        or (isinstance(node, ast.Call) and _copies([node]))
        for argument in call.args
        for node in ast.walk(argument)
    ) or any(_WEIGHTS.match(_own_name(argument)) for argument in call.args)


def _own_name(node: ast.expr) -> str:
    """``weights`` of ``weights``, ``self.weights`` and ``weights.copy()``; of a tuple nothing."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _own_name(node.func.value)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _is_model(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return called_name(node) in ("parameters", "state_dict")
    return bool(_MODEL.match(_own_name(node)))


def _targets(statement: Statement) -> Iterator[str]:
    node = statement.node
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
        targets = [node.target]
    for target in targets:
        for name in ast.walk(target):
            if isinstance(name, ast.Name):
                yield name.id


def _names_in(statement: Statement) -> set[str]:
    """Names that the value of an assignment reads."""
    value = getattr(statement.node, "value", None)
    if not isinstance(statement.node, ast.Assign | ast.AnnAssign) or value is None:
        return set()
    return {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
