"""A comparison as one SVG file: the flamegraph of both runs, coloured by what changed."""

from __future__ import annotations

from typing import Final

from rlprof.comparison import words
from rlprof.comparison.calltree import ChangeBox, ChangeTree
from rlprof.comparison.compare import Comparison
from rlprof.comparison.outline import drawn
from rlprof.model.flame import FlameFrame
from rlprof.renderers.svg.document import Drawing, svg_document
from rlprof.renderers.svg.shapes import GrowthShare
from rlprof.report import wording

_STEPS: Final = 1_000
"""Widths are for so many steps, since whole microseconds of one step are too coarse."""

_MOST_ALERTS: Final = 4


def comparison_as_svg(found: Comparison) -> str:
    """A picture that says why there is nothing to draw where there is nothing."""
    names = [report.run.label or words.command_of(report) for report in (found.base, found.new)]
    alerts = [note.text for note in found.notes if note.level != "info"]
    tree = found.tree
    boxes, pruned = ((), 0.0) if tree is None else drawn(tree)[:2]
    whole = _whole(boxes)
    drawing = Drawing(
        title=" → ".join(names),
        subtitle=wording.unglued(_subtitle(found)),
        frames=tuple(map(_frame, boxes)) or (_EMPTY,),
        alerts=tuple(alerts[:_MOST_ALERTS]),
        pruned_share=pruned,
        changes=tuple(_change(box, whole, tree) for box in boxes)
        or (GrowthShare(0.0, 0.0, is_clear=False),),
    )
    return svg_document(drawing)


def _subtitle(found: Comparison) -> str:
    verdicts = f"{words.verdict(found)} {words.findings_verdict(found)}"
    return verdicts if found.tree is None else f"{verdicts} Widths: {_widths(found.tree)}."


def _widths(tree: ChangeTree) -> str:
    per = f"{_STEPS:,} steps" if tree.per == "step" else f"{_STEPS:,} s of the steady phase"
    return f"{words.metric(tree)} per {per.replace(',', ' ')}, mean of both runs"


def _whole(boxes: tuple[ChangeBox, ...]) -> float:
    """Return what changes are shares of."""
    return (boxes[0].base.us or boxes[0].new.us or 1.0) if boxes else 1.0


def _change(box: ChangeBox, whole: float, tree: ChangeTree | None) -> GrowthShare:
    assert tree is not None, "boxes are those of a tree"
    costs = f"{words.cost(tree, box.base.us)} → {words.cost(tree, box.new.us)}"
    told = f"{costs} {words.metric(tree)} {words.per(tree)}"
    return GrowthShare(
        box.change_us / whole, box.noise_us / whole, box.is_clear, wording.unglued(told)
    )


def _frame(box: ChangeBox) -> FlameFrame:
    us = round((box.base.us + box.new.us) / 2 * _STEPS)
    idle_us = round((box.base.idle_us + box.new.idle_us) / 2 * _STEPS)
    return FlameFrame(
        parent=box.parent,
        depth=box.depth,
        label=box.label,
        file=box.place,
        line=box.line,
        kind=box.kind,
        wall_us=us,
        idle_us=min(us, idle_us),
        cpu_us=us - min(us, idle_us),
    )


_EMPTY: Final = FlameFrame(-1, 0, "nothing to compare", "", 0, "root", 0, 0, 0)
