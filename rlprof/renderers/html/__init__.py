"""The report as one HTML file: it opens anywhere, with the network off, and says first what to fix.

What needs no script (findings, processes, torch, notes) is made here, in ``page.html.jinja``; the
flamegraph, the timeline and the table of functions are drawn in the browser from packed data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from rlprof.model.report import Report


@dataclass(frozen=True)
class HtmlRenderer:
    name: str = "html"
    suffixes: tuple[str, ...] = (".html", ".htm")
    options: Mapping[str, str] = field(default_factory=dict)
    is_export: bool = False
    needs_detail: bool = True

    def render(self, report: Report, options: Mapping[str, str]) -> str:  # noqa: ARG002 - every renderer takes them
        # Every command that lists formats comes by here: templates are loaded for a page alone.
        from rlprof.renderers.html.page import page

        return page(report)


RENDERER: Final = HtmlRenderer()
