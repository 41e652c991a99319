"""The contract of a renderer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rlprof.model.report import Report


@dataclass(frozen=True, kw_only=True)
class Renderer:
    """One output format. It never opens a file, prints, samples or detects."""

    name: str
    """Name that ``--format`` takes."""
    suffixes: tuple[str, ...]
    """File endings that mean this format, with the dot."""
    render: Callable[[Report, Mapping[str, str]], str | bytes]
    """The whole document. The same report and options give the same text."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options given as ``-p key=value``: name to one line of help."""
    is_export: bool = False
    """True if it is for another program to read (``rlprof export``), not a report of its own."""
    needs_detail: bool = False
    """True if it draws from ``Report.detail``. Where that is None nevertheless, it says so and fails
    on nothing."""
