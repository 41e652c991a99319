"""pandas."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, EVERYTHING, Access, Library, Sink, SlowCall
from rlprof.model.finding import Range

_LOOKED_UP: Final = SlowCall(
    "a pandas table is looked up in a loop",
    "Take what is needed out of the table once, before the loop (values = table[columns].to_numpy()), and index the array.",
    Range(0.85, 0.995),
    # Rows that a mask or a list picks are copied in any case.
    works=r"core/(array_algos|indexers)/",
)
_WRITTEN: Final = SlowCall(
    "a pandas table is written row by row",
    "Append each row to a list, and make the table of them where it is read (pandas.DataFrame(rows)); or write into an array made once. "
    "A table that gets one more row is copied for it.",
    Range(0.85, 0.995),
)
_SMALL: Final = SlowCall(
    "pandas works on a few rows at each step",
    "Compute the columns once, before the loop, for all rows (table.rolling(...), pct_change()), take them out by to_numpy(), and index the array in "
    "the step. What depends on the step itself numpy does on arrays: values[t - 30 : t].mean().",
    Range(0.75, 0.99),
    each_step_up_to_us=400.0,
)
"""A call on 30 rows takes pandas 16 to 70 µs, and numpy 0.4 to 12 (``benchmarks/replacements.py slow-call``); a column that was computed before
takes a look-up. Means and deviations alone leave more than a mix of calls.
"""
_DATES: Final = SlowCall(
    "dates are parsed in a loop",
    "Parse the whole column once, before the loop.",
    Range(0.9, 1.0),
)
_READ: Final = SlowCall(
    "a table is read from a file again and again",
    "Read the file once and keep the table; give each episode its part of it.",
    Range(0.5, 1.0),
)

_LOOK_UPS: Final = ("__getitem__", "__getattr__", "iterrows", "itertuples", "to_numpy", "xs")

LIBRARY: Final = Library(
    name="pandas",
    packages=("pandas",),
    samples=(
        "core/frame.py",
        "core/generic.py",
        "core/indexing.py",
        "core/ops/common.py",
        "core/series.py",
        "core/tools/datetimes.py",
        "io/parsers/readers.py",
    ),
    slow_calls={
        r"core/indexing\.py$": {"__setitem__": _WRITTEN, ANY: _LOOKED_UP},
        r"core/(frame|generic)\.py$": {**dict.fromkeys(_LOOK_UPS, _LOOKED_UP), ANY: _SMALL},
        r"core/series\.py$": {
            **dict.fromkeys(_LOOK_UPS, _LOOKED_UP),
            "__setitem__": _WRITTEN,
            ANY: _SMALL,
        },
        r"core/tools/datetimes\.py$": {ANY: _DATES},
        r"core/(arraylike|base)\.py$|core/(ops|window)/|util/_decorators\.py$": {ANY: _SMALL},
        r"io/(parsers/readers|parquet|pickle|feather_format)\.py$": {ANY: _READ},
    },
    # Methods of tables, as to_csv, are in the second; what is set in a table is no output.
    sinks={Sink.FILES: r"io/|core/generic\.py$"},
    accesses={Access.READ: "io/"},
    makes_text=EVERYTHING,
    has_thread_teams=True,
)
