"""A ladder as a chart: rates with their ranges over the number of workers, and the fitted laws.

One SVG file without scripts or references; it suits light and dark pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from rlprof.names import printable
from rlprof.renderers.svg.shapes import px
from rlprof.report import wording
from rlprof.scaling.ladder import Rung
from rlprof.scaling.study import Study
from rlprof.units import count

WIDTH: Final = 720
HEIGHT: Final = 440
LEFT: Final = 84
RIGHT: Final = 24
TOP: Final = 74
BOTTOM: Final = 64
CAP: Final = 5
"""Half the width of the ends of a range, in pixels."""

_CURVE_POINTS: Final = 80
_GRID_LINES: Final = 5
_LINE_CHARACTERS: Final = 100
"""Characters of a line of text: what fits the picture at 12 px."""

_STYLE: Final = """
svg { --page: #fdfdfc; --ink: #1d2129; --quiet: #5c6370; --line: #d3d7de; --points: #0b57b7;
  --usl: #b34700; background: var(--page); color-scheme: light dark;
  font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; }
@media (prefers-color-scheme: dark) { svg { --page: #181a1f; --ink: #eceef2; --quiet: #a3aab6;
  --line: #3a3f4a; --points: #79b4ff; --usl: #ffae70; } }
.page { fill: var(--page); }
text { fill: var(--ink); }
.title { font-size: 16px; font-weight: 650; }
.quiet { fill: var(--quiet); }
.grid { stroke: var(--line); }
.range { stroke: var(--points); stroke-width: 1.5; fill: none; }
.point { fill: var(--points); }
.usl, .amdahl, .linear { fill: none; stroke-width: 2; stroke: var(--usl); }
.amdahl { stroke-dasharray: 7 4; stroke: var(--quiet); }
.linear { stroke-dasharray: 2 4; stroke: var(--quiet); stroke-width: 1.5; }
"""


@dataclass(frozen=True, slots=True)
class _Axes:
    """The place of a pair of values in the picture."""

    most_workers: float
    most_sps: float

    def x(self, workers: float) -> str:
        return px(LEFT + workers / self.most_workers * (WIDTH - LEFT - RIGHT))

    def y(self, sps: float) -> str:
        return px(HEIGHT - BOTTOM - sps / self.most_sps * (HEIGHT - TOP - BOTTOM))


def study_as_svg(study: Study) -> str:
    """The chart of a study with at least one rate."""
    assert study.best is not None, "a chart needs a rate"
    step = _round_step(max(rung.sps.high for rung in study.rungs) / _GRID_LINES)
    highest = max(rung.sps.high for rung in study.rungs)
    axes = _Axes(study.rungs[-1].workers * 1.06, ceil(highest / step * 1.02) * step)
    title = f"Steps per second over workers: {printable(' '.join(study.command))}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}"'
        f' viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label={quoteattr(title)}>',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<defs><clipPath id="plot"><rect x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}"'
        f' height="{HEIGHT - TOP - BOTTOM}"/></clipPath></defs>',
        '<rect class="page" width="100%" height="100%"/>',
        *_header(study),
        *_grid(axes, step, study.rungs),
        *_curves(study, axes),
        *(_point(rung, axes) for rung in study.rungs),
        *_legend(study),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _header(study: Study) -> Iterator[str]:
    assert study.best is not None
    best = study.best
    sps = wording.unglued(wording.rate(best.sps.median))
    yield _text(LEFT, 28, f"{sps} sps with {best.workers} workers", "title")
    yield _text(LEFT, 46, _cut(f"bounded by {study.bound}"), "quiet")
    yield _text(LEFT, 62, _cut(" ".join(study.command)), "quiet")


def _grid(axes: _Axes, step: float, rungs: Iterable[Rung]) -> Iterator[str]:
    for number in range(round(axes.most_sps / step) + 1):
        y = axes.y(number * step)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
        yield _text(LEFT - 8, float(y) + 4, count(number * step), "quiet", anchor="end")
    for rung in rungs:
        x = float(axes.x(rung.workers))
        yield _text(x, HEIGHT - BOTTOM + 18, str(rung.workers), "quiet", anchor="middle")
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield _text(middle, HEIGHT - BOTTOM + 36, "workers", anchor="middle")
    yield f'<text transform="translate(18 {(HEIGHT + TOP - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">steps per second</text>'


def _curves(study: Study, axes: _Axes) -> Iterator[str]:
    if study.fit is not None:
        alone = study.fit.law.per_worker_sps
        yield _curve("linear", lambda workers: alone * workers, axes)
    if study.amdahl is not None:
        yield _curve("amdahl", study.amdahl.law.sps, axes)
    if study.usl is not None:
        yield _curve("usl", study.usl.law.sps, axes)


def _curve(name: str, sps_of: Callable[[float], float], axes: _Axes) -> str:
    """From one worker to the right end; laws are not for less than one."""
    step = (axes.most_workers - 1) / _CURVE_POINTS
    workers = [1 + step * number for number in range(_CURVE_POINTS + 1)]
    points = " ".join(f"{axes.x(n)},{axes.y(sps_of(n))}" for n in workers)
    return f'<polyline class="{name}" clip-path="url(#plot)" points="{points}"/>'


def _point(rung: Rung, axes: _Axes) -> str:
    x, low, high = float(axes.x(rung.workers)), axes.y(rung.sps.low), axes.y(rung.sps.high)
    left, right = px(x - CAP), px(x + CAP)
    words = f"{rung.workers} workers: {count(rung.sps.median)} sps ({count(rung.sps.low)} to {count(rung.sps.high)})"
    return (
        f"<g><title>{escape(words)}</title>"
        f'<path class="range" d="M{left} {low}H{right}M{left} {high}H{right}M{px(x)} {low}V{high}"/>'
        f'<circle class="point" cx="{px(x)}" cy="{axes.y(rung.sps.median)}" r="4.5"/></g>'
    )


def _legend(study: Study) -> Iterator[str]:
    entries = []
    if study.usl is not None:
        law = study.usl.law
        entries.append(("usl", f"USL: σ {law.contention:.2g}, κ {law.coherency:.2g}"))
    if study.amdahl is not None:
        entries.append(("amdahl", f"Amdahl: serial {study.amdahl.law.contention:.2g}"))
    if study.fit is not None:
        entries.append(("linear", "linear"))
    for place, (name, words) in enumerate(entries):
        x = LEFT + 210 * place
        yield f'<line class="{name}" x1="{x}" x2="{x + 28}" y1="{HEIGHT - 12}" y2="{HEIGHT - 12}"/>'
        yield _text(x + 36, HEIGHT - 8, words, "quiet")


def _text(x: float, y: float, words: str, name: str = "", *, anchor: str = "start") -> str:
    kind = f' class="{name}"' if name else ""
    return f'<text{kind} x="{px(x)}" y="{px(y)}" text-anchor="{anchor}">{escape(words)}</text>'


def _cut(words: str) -> str:
    return printable(words, _LINE_CHARACTERS)


def _round_step(value: float) -> float:
    """The next 1, 2 or 5 times a power of ten."""
    power: float = 10.0 ** floor(log10(value))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value)
