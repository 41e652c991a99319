"""The boxes of a flamegraph as shapes, for readers without scripts."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

from rlprof import units
from rlprof.model.flame import FlameFrame
from rlprof.names import columns, printable, short_line
from rlprof.profile.flame import width_of

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
MOST_SHAPES: Final = 1_200
"""The widest are drawn: about 400 kB, and more than fits a screen several times over."""

KINDS: Final = ("root", "process", "thread", "yours", "library", "stdlib", "runtime")
SHADES: Final = 6
CHANGE_LEVELS: Final = (0.005, 0.02)
"""Shares of the base's time per step: where a stronger colour begins, as in ``colours.js``."""

_MOSTLY_WAITING: Final = 0.5


class GrowthShare(NamedTuple):
    """Growth of a box's cost, as a share of the base's time per step."""

    change: float
    noise: float
    """Half-width of what is noise, in the same unit."""
    is_clear: bool
    """True if it is more than noise: rounded figures cannot tell."""
    words: str = ""
    """Words of the tooltip in place of the box's times."""


@dataclass(frozen=True, slots=True)
class Frames:
    """Frames to draw."""

    frames: tuple[FlameFrame, ...]
    metric: str
    cwd: str
    changes: tuple[GrowthShare, ...] | None


@dataclass(frozen=True, slots=True)
class _PlacedBox:
    number: int
    frame: FlameFrame
    left: float
    top: float
    width: float


def shapes(frames: Frames, top: float) -> Iterator[str]:
    """The widest boxes as SVG, in the order of ``frames``."""
    wide = [box for box in _placed(frames, top) if box.width >= THINNEST]
    widest = sorted(wide, key=lambda box: -box.width)[:MOST_SHAPES]
    return (_box(box, frames) for box in sorted(widest, key=lambda box: box.number))


def _placed(drawn: Frames, top: float) -> Iterator[_PlacedBox]:
    """Yield every box with its place. Children start where their caller does; what a caller
    does itself is left free at its right.
    """
    frames, metric = drawn.frames, drawn.metric
    total = width_of(frames[0], metric) if frames else 0
    scale = (WIDTH - 2 * MARGIN) / total if total else 0.0
    filled: list[int] = []
    for number, frame in enumerate(frames):
        start = 0
        if frame.parent >= 0:
            start = filled[frame.parent]
            filled[frame.parent] += width_of(frame, metric)
        filled.append(start)
        width = width_of(frame, metric) * scale if total else float(WIDTH - 2 * MARGIN)
        yield _PlacedBox(number, frame, MARGIN + start * scale, top + frame.depth * ROW, width)


def _box(box: _PlacedBox, drawn: Frames) -> str:
    names = _names(box, drawn)
    shape = (
        f'x="{px(box.left)}" y="{px(box.top)}" width="{px(max(box.width - GAP, 0.3))}"'
        f' height="{ROW - 1}"'
    )
    hatch = f'<rect class="hatch" {shape}/>' if names.endswith(" waiting") else ""
    return (
        f'<g class="frame {names}"><title>{escape(_description(box, drawn))}</title>'
        f"<rect {shape}/>{hatch}{_label(box, drawn)}</g>"
    )


# --- colours -------------------------------------------------------------------------------


def _names(box: _PlacedBox, drawn: Frames) -> str:
    """The classes of a box, as ``colours.js`` chooses them."""
    if drawn.changes is not None:
        return _change_name(drawn.changes[box.number])
    frame = box.frame
    waiting = drawn.metric == "wall" and _is_mostly_waiting(frame)
    return f"{kind_of(frame)} j{_shade(frame)}{' waiting' if waiting else ''}"


def _change_name(change: GrowthShare) -> str:
    if not change.is_clear:
        return "same"
    level = 1 + sum(abs(change.change) >= least for least in CHANGE_LEVELS)
    return f"{'less' if change.change < 0 else 'more'}{level}"


def _is_mostly_waiting(frame: FlameFrame) -> bool:
    return frame.wall_us > 0 and frame.idle_us >= _MOSTLY_WAITING * frame.wall_us


def kind_of(frame: FlameFrame) -> str:
    return frame.kind if frame.kind in KINDS else "runtime"


def _shade(frame: FlameFrame) -> int:
    """A shade that a function keeps from run to run, so that two graphs can be compared."""
    if frame.kind in ("root", "process", "thread"):
        return 0
    return zlib.crc32(f"{printable(frame.file)}\0{printable(frame.label)}".encode()) % SHADES


# --- words ---------------------------------------------------------------------------------


def _label(box: _PlacedBox, drawn: Frames) -> str:
    room = int((box.width - 2 * TEXT_INSET) / CHARACTER)
    name, place = printable(box.frame.label), _place(box.frame, drawn.cwd)
    at = f'x="{px(box.left + TEXT_INSET)}" y="{px(box.top + BASELINE)}"'
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


def _description(box: _PlacedBox, drawn: Frames) -> str:
    frame = box.frame
    total = width_of(drawn.frames[0], drawn.metric)
    width = width_of(frame, drawn.metric)
    share = units.percent(width / total) if total else "nothing"
    place = _place(frame, drawn.cwd)
    waiting = f", waiting {units.duration(frame.idle_us)}" if frame.idle_us else ""
    words = drawn.changes[box.number].words if drawn.changes is not None else ""
    return (
        f"{printable(frame.label)}{f' ({place})' if place else ''}: {share}, "
        f"{printable(words) or units.duration(width) + waiting}{_change_words(box, drawn)}"
    )


def _change_words(box: _PlacedBox, drawn: Frames) -> str:
    if drawn.changes is None:
        return ""
    it = drawn.changes[box.number]
    sign = "−" if it.change < 0 else "+"
    verdict = "" if it.is_clear else "within the "
    noise = f"{verdict}noise ± {units.percent(it.noise)}"
    return f", {sign}{units.percent(abs(it.change))} of the base ({noise})"


def _place(frame: FlameFrame, cwd: str) -> str:
    return short_line(frame.file, frame.line, cwd) if frame.file else ""


def px(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
