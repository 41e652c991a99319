"""Comparison with files in ``tests/golden``; its README says how to accept a change."""

from __future__ import annotations

import os
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"


def check_golden(name: str, text: str) -> None:
    expected = GOLDEN / name
    actual = GOLDEN / f"{name}.actual"
    if os.environ.get("RLPROF_ACCEPT_GOLDEN"):
        expected.write_text(text, encoding="utf-8")
    if not expected.exists() or expected.read_text(encoding="utf-8") != text:
        actual.write_text(text, encoding="utf-8")
        raise AssertionError(f"{expected} differs from {actual}; tests/golden/README.md tells more")
    actual.unlink(missing_ok=True)
