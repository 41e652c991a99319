"""The flamegraph as one self-contained, interactive SVG.

The root is at the top (an icicle): names of processes and threads are then in sight at
once, stacks are read downwards like a traceback, and a recursion a thousand frames deep
grows the page at its end instead of pushing the start out of view.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from rlprof import units
from rlprof.model.report import Report
from rlprof.names import cut_middle, printable
from rlprof.renderers.base import Renderer
from rlprof.renderers.svg.document import LINE_CHARACTERS, Drawing, svg_document
from rlprof.report import wording

_NOTES: Final = 3


def _render(report: Report, options: Mapping[str, str]) -> str:  # noqa: ARG001 - every renderer takes them
    flame = report.flame
    return svg_document(
        Drawing(
            title=flame.title,
            subtitle=_subtitle(report),
            alerts=tuple(_not_seen(report)),
            frames=flame.frames,
            metric=flame.metric,
            cwd=report.run.cwd,
            pruned_share=flame.pruned_share,
        )
    )


def _subtitle(report: Report) -> str:
    what = "wall time" if report.flame.metric == "wall" else "time on a CPU"
    speed = wording.unglued(wording.speed(report)) or "steps/s not known"
    command = cut_middle(wording.command(report), LINE_CHARACTERS - 10)
    selected = printable(report.flame.selection) or "all processes"
    return f"{what} of {selected} · {speed} · ran {units.duration(report.run.wall_us)} · {command}"


def _not_seen(report: Report) -> Iterable[str]:
    missed = len(wording.missed(report))
    if missed:
        yield f"Not seen: {missed} of {len(report.processes)} processes."
    notes = [note for note in report.notes if note.level in ("warning", "error")]
    for note in notes[:_NOTES]:
        yield cut_middle(printable(note.text), 3 * LINE_CHARACTERS)
    if len(notes) > _NOTES:
        yield f"And {len(notes) - _NOTES} more remarks: see `rlprof report`."
    if not wording.has_samples(report):
        yield "No samples: there is nothing to draw."


RENDERER: Final = Renderer(
    name="svg",
    suffixes=(".svg",),
    render=_render,
)
