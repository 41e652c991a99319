"""The flamegraph as one self-contained, interactive SVG.

The root is at the top (an icicle): names of processes and threads are then in sight at
once, stacks are read downwards like a traceback, and a recursion a thousand frames deep
grows the page at its end instead of pushing the start out of view.

The file holds the boxes twice: as shapes, for readers without scripts, those wide enough
to tell apart; and all of them as columns of numbers, from which ``svg.js`` draws when it runs.
"""

from __future__ import annotations

import json
import textwrap
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from rlprof import units, wording
from rlprof.model.flame import Flame, FlameFrame
from rlprof.model.report import Report
from rlprof.names import columns, cut_middle, printable, short_path
from rlprof.resources import asset

WIDTH: Final = 1200
"""Pixels of the picture without scripts; with them it is as wide as the window."""
MARGIN: Final = 12
ROW: Final = 18
BASELINE: Final = 12.5
GAP: Final = 0.6
CHARACTER: Final = 6.95
"""Width of a character of the fixed-width font at 11.5 px; scripts measure the real one."""
TEXT_INSET: Final = 4
THINNEST: Final = 2.0
"""Pixels of a box that is drawn for readers without scripts: a thinner one shows neither name
nor colour, and is hard to point at."""

KINDS: Final = ("root", "process", "thread", "yours", "library", "stdlib", "runtime")
LEGEND: Final = (
    ("yours", "your code"),
    ("library", "libraries"),
    ("stdlib", "standard library"),
    ("runtime", "runtime"),
    ("thread", "processes, threads"),
)
SHADES: Final = 6

_MOSTLY_WAITING: Final = 0.5
_LINE_CHARACTERS: Final = 130
"""Of a header line: fits the window of a small laptop at 12 px."""
_NOTES: Final = 3

_IMPORT_LINE: Final = 'from "./layout.js";'


@dataclass(frozen=True)
class SvgRenderer:
    name: str = "svg"
    suffixes: tuple[str, ...] = (".svg",)
    options: Mapping[str, str] = field(default_factory=dict)
    is_export: bool = False
    needs_detail: bool = False

    def render(self, report: Report, options: Mapping[str, str]) -> str:  # noqa: ARG002 - contract
        head, top = _header(report)
        boxes = list(_placed(report.flame, top))
        height = top + (max((b.frame.depth for b in boxes), default=0) + 1) * ROW + MARGIN
        title = f"{_title(report)}: flamegraph"
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
            f' viewBox="0 0 {WIDTH} {height}" role="img" aria-label={quoteattr(title)}>',
            f"<title>{escape(title)}</title>",
            f"<style>{_cdata(asset('svg.css'))}</style>",
            '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse"'
            ' patternTransform="rotate(45)"><line class="hatching" y2="6"/></pattern></defs>',
            '<rect class="page" width="100%" height="100%"/>',
            '<g id="frames">',
            *(_box(box, report) for box in boxes if box.width >= THINNEST),
            "</g>",
            head,
            f'<metadata id="data">{escape(_data(report, top))}</metadata>',
            f"<script>{_cdata(_script())}</script>",
            "</svg>",
        ]
        return "\n".join(parts) + "\n"


# --- boxes ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Placed:
    frame: FlameFrame
    left: float
    top: float
    width: float


def _placed(flame: Flame, top: float) -> Iterator[_Placed]:
    """Yield every box with its place. Children start where their caller does; what a caller
    does itself is left free at its right.
    """
    total = _measure(flame.frames[0], flame.metric) if flame.frames else 0
    scale = (WIDTH - 2 * MARGIN) / total if total else 0.0
    filled: list[int] = []
    for frame in flame.frames:
        start = 0
        if frame.parent >= 0:
            start = filled[frame.parent]
            filled[frame.parent] += _measure(frame, flame.metric)
        filled.append(start)
        width = _measure(frame, flame.metric) * scale if total else float(WIDTH - 2 * MARGIN)
        yield _Placed(frame, MARGIN + start * scale, top + frame.depth * ROW, width)


def _measure(frame: FlameFrame, metric: str) -> int:
    return frame.wall_us if metric == "wall" else frame.cpu_us


def _box(box: _Placed, report: Report) -> str:
    frame = box.frame
    waiting = report.flame.metric == "wall" and _is_mostly_waiting(frame)
    names = f"frame {_kind(frame)} j{_shade(frame)}{' waiting' if waiting else ''}"
    shape = (
        f'x="{_px(box.left)}" y="{_px(box.top)}" width="{_px(max(box.width - GAP, 0.3))}"'
        f' height="{ROW - 1}"'
    )
    hatch = f'<rect class="hatch" {shape}/>' if waiting else ""
    return (
        f'<g class="{names}"><title>{escape(_description(frame, report))}</title>'
        f"<rect {shape}/>{hatch}{_label(box, report)}</g>"
    )


def _label(box: _Placed, report: Report) -> str:
    room = int((box.width - 2 * TEXT_INSET) / CHARACTER)
    name, place = printable(box.frame.label), _place(box.frame, report)
    at = f'x="{_px(box.left + TEXT_INSET)}" y="{_px(box.top + BASELINE)}"'
    if place and columns(name) + 2 + columns(place) <= room:
        return f'<text {at}>{escape(name)}<tspan class="place">  {escape(place)}</tspan></text>'
    if name == "<module>" and place:
        # Of a module's top level, only the file tells which it is.
        name = place
    if columns(name) > room:
        name = _beginning(name, room) if room >= 3 else ""
    return f"<text {at}>{escape(name)}</text>" if name else ""


def _beginning(name: str, room: int) -> str:
    kept = name[: room - 1]
    while columns(kept) > room - 1:
        kept = kept[:-1]
    return f"{kept}…"


def _description(frame: FlameFrame, report: Report) -> str:
    flame = report.flame
    total = _measure(flame.frames[0], flame.metric)
    share = units.percent(_measure(frame, flame.metric) / total) if total else "nothing"
    place = _place(frame, report)
    waiting = f", waiting {units.duration(frame.idle_us)}" if frame.idle_us else ""
    return (
        f"{printable(frame.label)}{f' ({place})' if place else ''}: {share}, "
        f"{units.duration(_measure(frame, flame.metric))}{waiting}"
    )


def _place(frame: FlameFrame, report: Report) -> str:
    if not frame.file:
        return ""
    return f"{printable(short_path(frame.file, report.run.cwd))}:{frame.line}"


def _is_mostly_waiting(frame: FlameFrame) -> bool:
    return frame.wall_us > 0 and frame.idle_us >= _MOSTLY_WAITING * frame.wall_us


def _kind(frame: FlameFrame) -> str:
    return frame.kind if frame.kind in KINDS else "runtime"


def _shade(frame: FlameFrame) -> int:
    """A shade that a function keeps from run to run, so that two graphs can be compared."""
    if frame.kind in ("root", "process", "thread"):
        return 0
    name = f"{frame.file}\0{frame.label}".encode("utf-8", "surrogatepass")
    return zlib.crc32(name) % SHADES


def _px(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


# --- the header ----------------------------------------------------------------------------


def _header(report: Report) -> tuple[str, int]:
    """The header as SVG, and its height."""
    lines = [("subtitle", line) for line in _wrapped(_subtitle(report))]
    lines += [("note alert", line) for note in _not_seen(report) for line in _wrapped(note)]
    lines += [("note quiet", line) for line in _wrapped(_left_out(report.flame))]
    texts = [
        f'<text class="title" x="{MARGIN}" y="28">{escape(_title(report))}</text>',
    ]
    y = 50
    for names, line in lines:
        texts.append(f'<text class="{names}" x="{MARGIN}" y="{y}">{escape(line)}</text>')
        y += 17
    texts.append(_legend(y + 4))
    texts.append(f'<text id="hint" class="hint quiet" x="{MARGIN}" y="{y + 24}"></text>')
    top = y + 34
    page = f'<rect class="page" width="100%" height="{top - 3}"/>'
    return f'<g id="header">{page}{"".join(texts)}</g>', top


def _title(report: Report) -> str:
    return cut_middle(printable(report.flame.title), 70)


def _subtitle(report: Report) -> str:
    what = "wall time" if report.flame.metric == "wall" else "time on a CPU"
    speed = wording.unglued(wording.speed(report)) or "steps/s not known"
    command = cut_middle(wording.command(report), _LINE_CHARACTERS - 10)
    selected = printable(report.flame.selection) or "all processes"
    return f"{what} of {selected} · {speed} · ran {units.duration(report.run.wall_us)} · {command}"


def _not_seen(report: Report) -> Iterable[str]:
    missed = sum(not row.sampled for row in report.processes)
    if missed:
        yield f"Not seen: {missed} of {len(report.processes)} processes."
    notes = [note for note in report.notes if note.level in ("warning", "error")]
    for note in notes[:_NOTES]:
        yield cut_middle(printable(note.text), 3 * _LINE_CHARACTERS)
    if len(notes) > _NOTES:
        yield f"And {len(notes) - _NOTES} more remarks: see `rlprof report`."
    if not wording.has_samples(report):
        yield "No samples: there is nothing to draw."


def _left_out(flame: Flame) -> str:
    if flame.pruned_share < 0.0005:
        return ""
    return (
        f"Boxes too thin to see are left out ({units.percent(flame.pruned_share)} in all); "
        "their time stays with their callers."
    )


def _wrapped(text: str) -> Sequence[str]:
    return textwrap.wrap(text, _LINE_CHARACTERS)


def _legend(y: int) -> str:
    """One swatch for each kind of box, in a row."""
    parts = []
    x = MARGIN
    for kind, words in (*LEGEND, ("waiting", "mostly waiting")):
        swatch = f'x="{x}" y="{y - 10}" width="14" height="12"'
        waits = kind == "waiting"
        names = "frame yours j0 waiting" if waits else f"frame {kind} j0"
        hatch = f'<rect class="hatch" {swatch}/>' if waits else ""
        parts.append(f'<g class="{names}"><rect {swatch}/>{hatch}</g>')
        parts.append(f'<text x="{x + 19}" y="{y}">{words}</text>')
        x += 40 + round(6.6 * len(words))
    return f'<g class="legend">{"".join(parts)}</g>'


# --- what scripts get ----------------------------------------------------------------------


class _Strings:
    """Every text once; frames refer to it by number."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self._number.setdefault(text, len(self._number))

    def all(self) -> list[str]:
        return list(self._number)


def _data(report: Report, top: int) -> str:
    frames = report.flame.frames
    strings = _Strings()
    columns_of = {
        "parent": [f.parent for f in frames],
        "label": [strings.number(printable(f.label)) for f in frames],
        "file": [strings.number(printable(f.file)) for f in frames],
        "short": [
            strings.number(printable(short_path(f.file, report.run.cwd)) if f.file else "")
            for f in frames
        ],
        "line": [f.line for f in frames],
        "kind": [KINDS.index(_kind(f)) for f in frames],
        "shade": [_shade(f) for f in frames],
        "wall": [f.wall_us for f in frames],
        "idle": [f.idle_us for f in frames],
        "cpu": [f.cpu_us for f in frames],
    }
    geometry = {
        "top": top,
        "margin": MARGIN,
        "row": ROW,
        "baseline": BASELINE,
        "gap": GAP,
        "character": CHARACTER,
    }
    document = {
        "metric": report.flame.metric,
        "geometry": geometry,
        "kinds": KINDS,
        "strings": strings.all(),
        "frames": columns_of,
    }
    return json.dumps(document, separators=(",", ":"))


def _script() -> str:
    """The two modules as one script: a file opened from disk cannot import another."""
    layout = asset("layout.js").replace("\nexport function ", "\nfunction ")
    drawing = [line for line in asset("svg.js").splitlines() if not line.endswith(_IMPORT_LINE)]
    return "\n".join(["(() => {", '"use strict";', layout, *drawing, "})();"])


def _cdata(text: str) -> str:
    assert "]]>" not in text, "an asset of rlprof itself would end its CDATA section"
    return f"<![CDATA[\n{text}]]>"


RENDERER: Final = SvgRenderer()
