"""Traces that are not quite JSON: cut off when the run was killed, or with characters unescaped."""

from __future__ import annotations

import json
import re
from typing import Final, NamedTuple

_CUTS: Final = 64
"""Ends of objects that are tried, from the end: a row has a few nested ones."""

_BAD_ESCAPE: Final = re.compile(r'\\(?!["\\/bfnrtu])')
"""A backslash of a Windows path (pytorch issue 98432)."""

_NAME: Final = re.compile(
    r'("cat":\s*"[^"]*"\s*,\s*"name":\s*")(.*?)("\s*,\s*"(?:pid|ph|tid|ts|id|s)":)'
)
"""The name of a row up to the key after it: quotes within are not escaped (pytorch issue 130622)."""


class NotATraceError(Exception):
    """Nothing of it can be read as a trace."""


class Repair(NamedTuple):
    document: object
    damage: tuple[str, ...]
    """Faults, in words."""


def repaired(data: bytes) -> Repair:
    """The JSON document that ``data`` was meant to be.

    Raises :class:`NotATraceError`.
    """
    text = data.decode("utf-8", errors="replace")
    start = text.find('"traceEvents"')
    if start < 0 and not text.lstrip().startswith("["):
        raise NotATraceError("it has no traceEvents")
    mended = _NAME.sub(_escaped, _BAD_ESCAPE.sub(r"\\\\", text))
    if (document := _loads(text)) is not None:
        return Repair(document, ("control characters in names were mended",))
    if (document := _loads(mended)) is not None:
        return Repair(document, ("names with unescaped characters were mended",))
    for whole in (text, mended):
        if (document := _cut(whole, is_list=start < 0)) is not None:
            return Repair(document, ("the file ends too early: rows after the cut are missing",))
    raise NotATraceError("it is damaged beyond its end")


def _loads(text: str) -> object | None:
    try:
        document: object = json.loads(text, strict=False)
    except ValueError:
        return None
    return document


def _escaped(match: re.Match[str]) -> str:
    name = re.sub(r'(?<!\\)"', lambda _: '\\"', match[2])
    return f"{match[1]}{name}{match[3]}"


def _cut(text: str, *, is_list: bool) -> object | None:
    """Return what is left when the row that was being written is left out."""
    closing = "]" if is_list else "]}"
    end = len(text)
    for _ in range(_CUTS):
        end = text.rfind("}", 0, end)
        if end < 0:
            break
        document = _loads(text[: end + 1] + closing)
        if isinstance(document, list) or (isinstance(document, dict) and "traceEvents" in document):
            return document
    return None
