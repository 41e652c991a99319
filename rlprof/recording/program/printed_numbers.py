"""Numbers as programs print them."""

from __future__ import annotations

import re
from typing import Final

_MOST: Final = 1e15
"""Steps, and steps per second, beyond what any training makes."""

_BETWEEN_THOUSANDS: Final = rb"(?:[,_']|\xe2\x80\x99|\xe2\x80\xaf|\xc2\xa0)"
"""Also the apostrophe and the two spaces that do not break, in UTF-8."""

_NUMBER: Final = re.compile(
    rb"\+?(?P<whole>\d{1,3}(?:" + _BETWEEN_THOUSANDS + rb"\d{3})+|\d[\d_]*|(?=\.\d))"
    rb"(?P<rest>(?:\.\d*)?(?:[eE][+-]?\d+)?)\s?(?P<scale>[kKM]?)"
)
_SCALES: Final = {b"": 1.0, b"k": 1e3, b"K": 1e3, b"M": 1e6}


def number(text: bytes) -> float | None:
    """``1,234.5``, ``1_234`` and ``1.2k`` are numbers too; None for anything else: what is negative, nan, what no program reaches, lists
    (``60,59``), and what is written in more than one way (``1.234,5``, ``12 480``).
    """
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return None
    whole = b"".join(re.findall(rb"\d", found["whole"]))
    value = float(whole + found["rest"]) * _SCALES[found["scale"]]
    return value if value < _MOST else None
