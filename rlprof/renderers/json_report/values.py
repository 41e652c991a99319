"""Values of JSON documents: numbers as far as they are known, and text that strict readers take."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Final

_DIGITS: Final = 6
"""Significant digits of a measured value: more than any measurement here has."""

_UNUSUAL = re.compile(r"[^\n\x20-\x7e]")

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def as_json_text(document: Mapping[str, Json], *, indent: int = 2) -> str:
    """``document`` as text that strict readers take; with ``indent`` 0 on one line."""
    text = json.dumps(document, indent=indent or None, ensure_ascii=False, allow_nan=False)
    return _UNUSUAL.sub(_spelled_out, text) + "\n"


def seconds(us: float) -> Json:
    return number(us / 1_000_000)


def known(value: float | None) -> Json:
    return None if value is None else number(value)


def number(value: float) -> Json:
    """``value`` rounded to what can be known; whole numbers stay whole; infinite ones are null."""
    if not math.isfinite(value):
        return None
    if value == int(value):
        return int(value)
    return float(f"{value:.{_DIGITS}g}")


def _spelled_out(match: re.Match[str]) -> str:
    """A character as a JSON escape when it is not printable; a lone surrogate as its name."""
    character = match[0]
    if character.isprintable():
        return character
    escaped = json.dumps(character)[1:-1]
    return f"\\{escaped}" if "\ud800" <= character <= "\udfff" else escaped
