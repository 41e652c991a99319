"""The report as one HTML file: it opens anywhere, with the network off, and says first what to fix.

What needs no script (findings, processes, torch, notes) is made here, in ``page.html.jinja``; the
flamegraph, the timeline and the table of functions are drawn in the browser from packed data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rlprof.model.report import Report
from rlprof.renderers.base import Renderer


def _render(report: Report, options: Mapping[str, str]) -> str:  # noqa: ARG001 - every renderer takes them
    # Every command that lists formats comes by here: templates are loaded for a page alone.
    from rlprof.renderers.html.page import page

    return page(report)


RENDERER: Final = Renderer(
    name="html",
    suffixes=(".html", ".htm"),
    render=_render,
    needs_detail=True,
)
