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

    def render(self, report: Report, options: Mapping[str, str]) -> str:
        """The whole document. The same report and options give the same text."""
        ...
