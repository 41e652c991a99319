"""An SVG file with a flamegraph that its reader can zoom and search, of one run or of a comparison.

The file holds the boxes twice: as shapes, for readers without scripts, those wide enough
to tell apart; and all of them as columns of numbers, from which ``svg.js`` draws when it runs.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from rlprof import units
from rlprof.model.flame import FlameFrame
from rlprof.names import cut_middle, printable, short_path
from rlprof.profile.flame import widest_frames
from rlprof.renderers.browser_scripts import TextTable, bundle
from rlprof.renderers.svg.shapes import (
    BASELINE,
    CHARACTER,
    GAP,
    KINDS,
    MARGIN,
    ROW,
    WIDTH,
    Frames,
    GrowthShare,
    kind_of,
    shapes,
)
from rlprof.resources import asset

LINE_CHARACTERS: Final = 130
"""Characters of a header line: that fits the window of a small laptop at 12 px."""
MAX_BYTES: Final = 1_000_000
"""Size that mail and chat programs show without asking, whatever the size of the run."""
MOST_BOXES: Final = 7_000
"""Those and their names are about 600 kB."""

_FEWER: Final = 0.7
"""Part of the boxes that remains in each further attempt to stay below ``MAX_BYTES``."""
_PACKAGE_LEGEND: Final = (
    ("yours j0", "your code"),
    ("library j0", "libraries"),
    ("stdlib j0", "standard library"),
    ("runtime j0", "runtime"),
    ("thread j0", "processes, threads"),
)
_WAITING: Final = ("yours j0 waiting", "mostly waiting")
_CHANGE_LEGEND: Final = (
    ("less3", "less: by 2 % of the base's step or more"),
    ("less2", "by 0.5 to 2 %"),
    ("less1", "by under 0.5 %"),
    ("same", "within the noise"),
    ("more1", "more: by under 0.5 %"),
    ("more2", "by 0.5 to 2 %"),
    ("more3", "by 2 % or more"),
)


@dataclass(frozen=True, slots=True)
class Drawing:
    """Content of a file. Texts may be anyone's: they are made printable and escaped here."""

    title: str
    subtitle: str
    frames: tuple[FlameFrame, ...]
    """As ``Flame.frames``: preorder, the root first."""
    metric: str = "wall"
    alerts: tuple[str, ...] = ()
    """Facts that the reader must know: what was not seen."""
    cwd: str = ""
    """Files below it are named from it."""
    pruned_share: float = 0.0
    """Share of the time in boxes that were left out before."""
    changes: tuple[GrowthShare, ...] | None = None
    """One for each frame; then colours say what changed, not whose code it is."""


def svg_document(drawing: Drawing) -> str:
    """The whole file, less than ``MAX_BYTES`` of UTF-8: the thinnest boxes are left out, as many as it
    takes. The share of their time stands in the header.
    """
    most = MOST_BOXES
    while True:
        text = _document(_with_widest(drawing, most))
        if len(text.encode()) < MAX_BYTES or most == 1:
            return text
        most = max(1, int(most * _FEWER))


def _with_widest(drawing: Drawing, most: int) -> Drawing:
    kept, pruned = widest_frames(drawing.frames, drawing.metric, most)
    if len(kept) == len(drawing.frames):
        return drawing
    place = {old: new for new, old in enumerate(kept)}
    frames = [drawing.frames[old] for old in kept]
    changes = drawing.changes
    return replace(
        drawing,
        frames=tuple(frame._replace(parent=place.get(frame.parent, -1)) for frame in frames),
        changes=tuple(changes[old] for old in kept) if changes is not None else None,
        pruned_share=drawing.pruned_share + pruned,
    )


def _document(drawing: Drawing) -> str:
    head, top = _header(drawing)
    frames = Frames(drawing.frames, drawing.metric, drawing.cwd, drawing.changes)
    height = top + (max((f.depth for f in drawing.frames), default=0) + 1) * ROW + MARGIN
    title = f"{_title(drawing)}: flamegraph"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="flamegraph" width="{WIDTH}" height="{height}"'
        f' viewBox="0 0 {WIDTH} {height}" role="img" aria-label={quoteattr(title)}>',
        f"<title>{escape(title)}</title>",
        f"<style>{_style()}</style>",
        '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse"'
        ' patternTransform="rotate(45)"><line class="hatching" y2="6"/></pattern></defs>',
        '<rect class="page" width="100%" height="100%"/>',
        '<g id="frames">',
        *shapes(frames, top),
        "</g>",
        head,
        f'<metadata id="data">{escape(_data(drawing, top))}</metadata>',
        f"<script>{_script()}</script>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


# --- the header ----------------------------------------------------------------------------


def _header(drawing: Drawing) -> tuple[str, int]:
    """The header as SVG, and its height."""
    lines = [
        ("subtitle", line) for line in _wrapped(printable(drawing.subtitle, 4 * LINE_CHARACTERS))
    ]
    lines += [
        ("note alert", line)
        for alert in drawing.alerts
        for line in _wrapped(printable(alert, 4 * LINE_CHARACTERS))
    ]
    lines += [("note quiet", line) for line in _wrapped(_left_out(drawing.pruned_share))]
    texts = [
        f'<text class="title" x="{MARGIN}" y="28">{escape(_title(drawing))}</text>',
    ]
    y = 50
    for names, line in lines:
        texts.append(f'<text class="{names}" x="{MARGIN}" y="{y}">{escape(line)}</text>')
        y += 17
    texts.append(_legend(drawing, y + 4))
    texts.append(f'<text id="hint" class="hint quiet" x="{MARGIN}" y="{y + 24}"></text>')
    top = y + 34
    page = f'<rect class="page" width="100%" height="{top - 3}"/>'
    return f'<g id="header">{page}{"".join(texts)}</g>', top


def _title(drawing: Drawing) -> str:
    return cut_middle(printable(drawing.title), 70)


def _left_out(pruned_share: float) -> str:
    if pruned_share < units.LEAST_PERCENT:
        return ""
    return (
        f"Boxes are left out ({units.percent(pruned_share)} in all), the thinnest first; "
        "their time stays with their callers."
    )


def _wrapped(text: str) -> Sequence[str]:
    return textwrap.wrap(text, LINE_CHARACTERS)


def _legend(drawing: Drawing, y: int) -> str:
    """One swatch for each kind of box, in a row."""
    entries: tuple[tuple[str, str], ...] = (*_PACKAGE_LEGEND, _WAITING)
    if drawing.changes is not None:
        entries = _CHANGE_LEGEND
    elif drawing.metric != "wall":
        entries = _PACKAGE_LEGEND
    parts = []
    x = MARGIN
    for names, words in entries:
        swatch = f'x="{x}" y="{y - 10}" width="14" height="12"'
        hatch = f'<rect class="hatch" {swatch}/>' if names.endswith(" waiting") else ""
        parts.append(f'<g class="frame {names}"><rect {swatch}/>{hatch}</g>')
        parts.append(f'<text x="{x + 19}" y="{y}">{words}</text>')
        x += 40 + round(6.6 * len(words))
    return f'<g class="legend">{"".join(parts)}</g>'


# --- what scripts get ----------------------------------------------------------------------


def _data(drawing: Drawing, top: int) -> str:
    frames = drawing.frames
    strings = TextTable()
    columns_of: dict[str, list[int] | list[float]] = {
        "parent": [f.parent for f in frames],
        "label": [strings.number(f.label) for f in frames],
        "file": [strings.number(f.file) for f in frames],
        "short": [
            strings.number(short_path(f.file, drawing.cwd) if f.file else "") for f in frames
        ],
        "line": [f.line for f in frames],
        "kind": [KINDS.index(kind_of(f)) for f in frames],
        "wall": [f.wall_us for f in frames],
        "idle": [f.idle_us for f in frames],
        "cpu": [f.cpu_us for f in frames],
    }
    if drawing.changes is not None:
        columns_of["change"] = [round(change.change, 5) for change in drawing.changes]
        columns_of["noise"] = [round(change.noise, 5) for change in drawing.changes]
        columns_of["clear"] = [int(change.is_clear) for change in drawing.changes]
        columns_of["words"] = [strings.number(change.words) for change in drawing.changes]
    geometry = {
        "top": top,
        "margin": MARGIN,
        "row": ROW,
        "baseline": BASELINE,
        "gap": GAP,
        "character": CHARACTER,
    }
    document = {
        "metric": drawing.metric,
        "colours": "package" if drawing.changes is None else "change",
        "geometry": geometry,
        "kinds": KINDS,
        "strings": [*strings],
        "columns": columns_of,
    }
    return json.dumps(document, separators=(",", ":"))


@cache
def _style() -> str:
    return _cdata(asset("flamegraph.css") + asset("svg.css"))


@cache
def _script() -> str:
    return _cdata(bundle("svg.js"))


def _cdata(text: str) -> str:
    assert "]]>" not in text, "an asset of rlprof itself would end its CDATA section"
    return f"<![CDATA[\n{text}]]>"
