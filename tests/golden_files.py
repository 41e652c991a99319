"""Comparison with files in ``tests/golden``; its README says how to accept a change."""

from __future__ import annotations

import os
import re
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"

_ASSETS = re.compile(r"(<(style|script)[^>]*>).+?(</\2>)", re.DOTALL)
_FROM_DOCS = re.compile(r"(<pre class=\"(?:before|after)\"[^>]*>).+?(</pre>)", re.DOTALL)
_HASHES = re.compile(r"'sha256-[^']+'")


def check_golden(name: str | Path, text: str) -> None:
    """Compare ``text`` with the golden file of that name, or with another file by its whole path."""
    expected = GOLDEN / name
    actual = GOLDEN / f"{expected.name}.actual"
    if os.environ.get("RLPROF_ACCEPT_GOLDEN"):
        expected.write_text(text, encoding="utf-8")
    if not expected.exists() or expected.read_text(encoding="utf-8") != text:
        actual.write_text(text, encoding="utf-8")
        how = (
            f"differs from {actual}" if expected.exists() else f"does not exist yet; {actual} does"
        )
        raise AssertionError(
            f"{expected} {how}. If that is meant: run this test with RLPROF_ACCEPT_GOLDEN=1 (tests/golden/README.md)"
        )
    actual.unlink(missing_ok=True)


def without_assets(text: str) -> str:
    """A page or a picture without its scripts, styles and packed data, which have tests of their own, and
    without the detectors' pages, which change by themselves.
    """
    if not text.startswith(("<!DOCTYPE html>", "<svg ")):
        return text
    text = _FROM_DOCS.sub(r"\1…\2", _ASSETS.sub(r"\1…\3", text))
    return _HASHES.sub("'sha256-…'", text)
