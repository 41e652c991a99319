"""Lines that switch autograd's anomaly detection on, as far as the text of a file tells."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Final, NamedTuple

from rlprof.syntax.module import PARSED_FILES, called_name, parse
from rlprof.syntax.nodes import calls_in, lines_of

_WITHIN: Final = "detect_anomaly"
"""Torch's context, on only within its ``with``; as a keyword it asks Lightning's Trainer to switch it on."""

_FOR_GOOD: Final = "set_detect_anomaly"
"""Switches it for all that follows, where it is no ``with``'s."""


class Switch(NamedTuple):
    line: int
    covers: range | None
    """Lines of the ``with`` that it is on for; None where it is on from there."""
    is_sure: bool
    """False where it depends on something, or is switched off elsewhere in the file: then it may be on now and then."""
    checks: bool
    """True if gradients are checked for NaN; ``check_nan=False`` leaves the stacks of the forward pass alone."""


@lru_cache(maxsize=PARSED_FILES)
def anomaly_switches(text: str) -> tuple[Switch, ...]:
    """Return those in ``text`` that switch it on, or may do so (``set_detect_anomaly(options.debug)``)."""
    module = parse(text) if _WITHIN in text else None
    if module is None:
        return ()
    blocks = {
        id(item.context_expr): lines_of(node)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.With | ast.AsyncWith)
        for item in node.items
    }
    calls = list(calls_in(module.tree))
    is_switched_off = any(
        called_name(call) == _FOR_GOOD and id(call) not in blocks and _is_false(_mode(call))
        for call in calls
    )
    found = (_switch(call, blocks.get(id(call))) for call in calls)
    return tuple(
        switch._replace(
            is_sure=switch.is_sure and (switch.covers is not None or not is_switched_off)
        )
        for switch in found
        if switch is not None
    )


def _switch(call: ast.Call, block: range | None) -> Switch | None:
    """Return what ``call`` switches on, in the lines of the ``with`` that it is for, if any."""
    name, keywords = called_name(call), {keyword.arg: keyword.value for keyword in call.keywords}
    if name == _FOR_GOOD:
        mode, position = _mode(call), 1
    elif name == _WITHIN and block is not None:
        mode, position = ast.Constant(True), 0
    elif name != _WITHIN and _WITHIN in keywords:
        mode, position = keywords[_WITHIN], len(call.args)
    else:
        return None
    if mode is None or _is_false(mode):
        return None
    checks = call.args[position] if len(call.args) > position else keywords.get("check_nan")
    is_sure = isinstance(mode, ast.Constant) and isinstance(checks, ast.Constant | None)
    return Switch(call.lineno, block, is_sure=is_sure, checks=not _is_false(checks))


def _mode(call: ast.Call) -> ast.expr | None:
    if call.args:
        return call.args[0]
    return next((keyword.value for keyword in call.keywords if keyword.arg == "mode"), None)


def _is_false(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and not node.value
