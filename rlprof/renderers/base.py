"""The contract of a renderer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from rlprof.model.report import Report


class Renderer(Protocol):
    """One output format. It never opens a file, prints, samples or detects."""

    name: str
    """What ``--format`` takes."""
    suffixes: tuple[str, ...]
    """File endings that mean this format, with the dot."""
    options: Mapping[str, str]
    """Options given as ``-p key=value``: name to one line of help."""
    is_export: bool
    """Whether it is for another program to read (``rlprof export``), not a report of its own."""
    needs_detail: bool
    """Whether it draws from ``Report.detail``. Where that is None nevertheless, it says so and fails
    on nothing."""

    def render(self, report: Report, options: Mapping[str, str]) -> str | bytes:
        """The whole document. The same report and options give the same text."""
        ...
