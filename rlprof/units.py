"""Numbers with units turned into words, and texts into numbers; the only place that does so."""

from __future__ import annotations

Share = float
"""A part of a whole, 0 to 1."""


Z_95 = 1.96
"""Standard errors to either side in which 95 % of a normal distribution lie."""

LEAST_PERCENT: Share = 0.0005
"""Share below which a figure reads as 0.0 %."""

_MOST_DIGITS = 18


def whole_number(text: str) -> int | None:
    """Return what ``text`` writes in up to 18 of the digits 0 to 9; None for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


def duration(us: float) -> str:
    """``us`` in the largest fitting unit: ``0.42 µs``, ``850 µs``, ``12.5 ms``, ``3.2 s``, ``4 min 05 s``."""
    # What rounds up to the next unit is told in it.
    if 0.01 <= us < 9.95:
        return f"{us:.2g} µs"
    if us < 999.5:
        return f"{us:.0f} µs"
    if us < 999_500:
        return f"{us / 1_000:.3g} ms"
    seconds = us / 1_000_000
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def rough_duration(us: float) -> str:
    """``us`` to two digits in one unit: ``12 s``, ``58 min``, ``3.2 h``."""
    minutes = us / 60_000_000
    if minutes < 0.995:
        return f"{us / 1_000_000:.2g} s"
    if minutes < 59.5:
        return f"{minutes:.0f} min"
    return f"{minutes / 60:.2g} h"


def percent(share: Share) -> str:
    """``share`` as a percentage with one decimal under 10 %: ``4.2 %``, ``37 %``."""
    value = share * 100
    return f"{value:.1f} %" if abs(value) < 9.95 else f"{value:.0f} %"


def count(number: float) -> str:
    """``number`` with thin groups of three, three significant digits under 100: ``12 480``, ``4.21``."""
    if abs(number) >= 100 or number == int(number):
        return f"{number:,.0f}".replace(",", " ")
    return f"{number:.3g}"


def rough_count(number: float) -> str:
    """The same with two significant digits: ``12 000``, ``4.2``."""
    return count(float(f"{number:.2g}"))


def size(byte_count: float) -> str:
    """``byte_count`` in binary units: ``512 B``, ``1.4 MiB``."""
    value = float(byte_count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


def flops(number: float) -> str:
    """Floating-point operations in decimal units: ``1.2 MFLOP``, ``34 GFLOP``."""
    for unit in ("", "k", "M", "G", "T"):
        if number < 999.5 or unit == "T":
            return f"{number:.3g} {unit}FLOP"
        number /= 1000
    raise AssertionError("unreachable")


def power(watts: float) -> str:
    """``310 W``."""
    return f"{watts:.0f} W"


def of_each_step(us: float, steps: float) -> str:
    """``, 12 µs a step``, behind a share of the time; empty where no steps were counted."""
    return f", {duration(us / steps)} a step" if steps else ""
