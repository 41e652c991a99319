"""Small pictures of a page that need no script, as SVG: bars of prices, lives and causes.

Colours come from classes, as the page's policy allows no style of an element's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from markupsafe import Markup, escape

from rlprof.model.finding import Range
from rlprof.units import percent

BAR: Final = 1000
"""Units in the width of a bar; it is as wide on the page as there is room."""


_LEAST_RANGE: Final = 12.0
"""Units in the width of a range of nothing."""


class BarPart(NamedTuple):
    """A part of a bar, 0 to 1."""

    start: float
    end: float
    look: str
    """Its class."""


def bar(parts: Iterable[BarPart], look: str) -> Markup:
    """A bar from parts. Words beside it say the same, so readers of the screen are spared it."""
    shape = Markup('<rect class="{}" x="{}" width="{}" height="10"/>')
    return _drawn(
        look,
        (
            shape.format(part.look, _units(part.start), _units(max(0.0, part.end - part.start)))
            for part in parts
        ),
    )


def price_bar(share: Range) -> Markup:
    """Return what is saved for sure, what may be saved, and what stays."""
    low, high = _clip(share.low), _clip(max(share.low, share.high))
    return bar(
        (BarPart(0, 1, "rest"), BarPart(0, high, "maybe"), BarPart(0, low, "sure")),
        "price",
    )


def share_bar(share: float) -> Markup:
    return bar((BarPart(0, 1, "rest"), BarPart(0, _clip(share), "part")), "share")


def compared_bar(predicted: Range | None, measured: Range | None) -> Markup:
    """Two ranges one below the other: what was predicted above, what was measured below it."""
    ranges = [
        # A range of nothing is a good one, and is seen too.
        _box(
            look,
            _clip(share.low),
            top,
            max(_LEAST_RANGE / BAR, _clip(share.high) - _clip(share.low)),
            4,
        )
        for share, look, top in ((predicted, "maybe", 0), (measured, "sure", 6))
        if share is not None
    ]
    rests = Markup(
        '<rect class="rest" width="{}" height="4"/><rect class="rest" y="6" width="{}" height="4"/>'
    )
    return _drawn("compared", [rests.format(BAR, BAR), *ranges])


def life_bar(lives: Sequence[tuple[float, float, float]]) -> Markup:
    """(start, end of the start-up, end) of processes, each 0 to 1 of the run, one below the other."""
    tall = 10 / max(1, len(lives))
    parts = [
        _box(look, start, round(row * tall, 3), end - start, round(tall, 3))
        for row, (begun, ready, ended) in enumerate(lives)
        for look, start, end in (("start-up", begun, ready), ("living", ready, ended))
        if end > start
    ]
    rest = Markup('<rect class="rest" width="{}" height="10"/>').format(BAR)
    return _drawn("life", [rest, *parts])


def _box(look: str, left: float, top: float, width: float, height: float) -> Markup:
    """A part of a bar; ``left`` and ``width`` are 0 to 1 of it."""
    return Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>').format(
        look, _units(left), top, _units(width), height
    )


def _drawn(look: str, shapes: Iterable[Markup]) -> Markup:
    return Markup(
        '<svg class="bar {}" viewBox="0 0 {} 10" preserveAspectRatio="none" aria-hidden="true">{}</svg>'
    ).format(look, BAR, Markup("").join(shapes))


class Edge(NamedTuple):
    """One waits for another, both by their place among the names."""

    start: int
    end: int
    share: float
    kind: str


GRAPH_WIDTH: Final = 400
GRAPH_ROW: Final = 46
_NAME_END: Final = 190
"""Where names end and arcs begin."""
_LABEL_ROW: Final = 14
_DEEPEST: Final = 130
"""How far arcs are drawn to at most."""
_NEAREST: Final = 44
_UPWARDS: Final = 28


def wait_graph(names: Sequence[str], edges: Sequence[Edge]) -> Markup:
    """Names below each other, and an arc from each that waits to what it waits for."""
    texts = Markup("").join(
        Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(
            _NAME_END - 8, _row(number) + 4, escape(name)
        )
        for number, name in enumerate(names)
    )
    arcs = Markup("").join(_arc(edge, len(names)) for edge in edges)
    lowest, labels = _labels(edges, len(names))
    height = max(GRAPH_ROW * len(names), lowest + 8)
    told = ". ".join(
        f"{names[edge.start]}, {percent(edge.share)} in {edge.kind}, for {names[edge.end]}"
        for edge in edges
    )
    return Markup(
        '<svg class="graph" viewBox="0 0 {} {}" width="{}" height="{}" role="img" aria-label="Waits: {}">'
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"'
        ' markerUnits="userSpaceOnUse" orient="auto"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>'
        "{}{}{}</svg>"
    ).format(GRAPH_WIDTH, height, GRAPH_WIDTH, height, escape(told), texts, arcs, labels)


def _arc(edge: Edge, names: int) -> Markup:
    start, end = _ends(edge)
    out = _NAME_END + _reach(edge, names)
    return Markup(
        '<path class="wait" d="M{} {}C{} {} {} {} {} {}" stroke-width="{}" marker-end="url(#arrow)"/>'
    ).format(
        _NAME_END, start, out, start, out, end, _NAME_END + 2, end,
        round(0.8 + 2.6 * _clip(edge.share), 2),
    )  # fmt: skip


def _labels(edges: Sequence[Edge], names: int) -> tuple[int, Markup]:
    """The shares, at the arcs and below each other; and how far down that goes."""
    middles = sorted(edges, key=lambda arc: (sum(_ends(arc)), arc.end - arc.start))
    lowest = -_LABEL_ROW
    texts = Markup("")
    for edge in middles:
        lowest = max(sum(_ends(edge)) // 2 + 4, lowest + _LABEL_ROW)
        # A curve of this kind goes out to three quarters of where it is drawn to.
        texts += Markup('<text class="label" x="{}" y="{}">{}</text>').format(
            round(_NAME_END + 0.75 * _reach(edge, names) - 8, 1), lowest, percent(edge.share)
        )
    return lowest, texts


def _ends(edge: Edge) -> tuple[int, int]:
    """From a little below the middle of a row to a little above that of another: arcs of both
    directions stay apart.
    """
    if edge.start == edge.end:
        return _row(edge.start) - 6, _row(edge.end) + 6
    return _row(edge.start) + 5, _row(edge.end) - 5


def _reach(edge: Edge, names: int) -> float:
    """Return how far to the right an arc is drawn: the longer the farther, and upwards farther than down."""
    far = abs(edge.end - edge.start) / max(1, names - 1)
    return round(
        _NEAREST + (_DEEPEST - _NEAREST) * far + (_UPWARDS if edge.end < edge.start else 0), 1
    )


def _row(number: int) -> int:
    return GRAPH_ROW * number + GRAPH_ROW // 2


def _clip(share: float) -> float:
    return min(1.0, max(0.0, share))


def _units(part: float) -> float:
    return round(BAR * part, 1)
