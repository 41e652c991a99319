"""What runs that vary too much to tell count as."""

from __future__ import annotations

from enum import Enum


class OnInconclusive(str, Enum):
    PASS = "pass"
    FAIL = "fail"
