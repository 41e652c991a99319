"""Tables in a terminal that has too little room for them."""

from __future__ import annotations

import re

import pytest

from rlprof.documents.blocks import Column, Table, fact_table, figures
from rlprof.documents.terminal import as_text
from rlprof.names import columns
from rlprof.report.wording import GLUE

PARTS = Table(
    [
        Column(name="part", least=12),
        *figures("of the time", "CPU per step", "alone it would do"),
    ],
    [
        ("environment", f"66{GLUE}%", f"1.01{GLUE}ms", f"3{GLUE}330{GLUE}sps"),
        ("waiting for a core", f"12{GLUE}%", f"30{GLUE}µs", ""),
    ],
)
RUNS = Table(
    [
        Column(name="when", wraps=False, goes=1),
        Column(name="stage", least=8),
        Column(name="command", under="stage"),
        *figures("sps"),
        Column(name="low to high", is_figure=True, under="sps"),
    ],
    [("2026-11-27", "stage-1", "train.py", "2 420", f"2{GLUE}370 to 2{GLUE}470")],
)


def lines_of(table: Table, width: int) -> list[str]:
    return as_text([table], width=width, colored=False).splitlines()


def words_of(table: Table, width: int) -> str:
    return " ".join(" ".join(lines_of(table, width)).split())


@pytest.mark.parametrize("width", range(24, 81))
def test_the_names_of_the_rows_stay_and_no_line_is_too_long(width):
    lines = lines_of(PARTS, width)

    assert any(line.startswith("environment ") for line in lines)
    assert "waiting for" in words_of(PARTS, width)
    assert "66 %" in words_of(PARTS, width)
    assert "…" not in words_of(PARTS, width)
    assert max(map(columns, lines)) <= width


def test_what_is_told_last_goes_first():
    wide, narrow = words_of(PARTS, 50), words_of(PARTS, 32)

    assert "3 330 sps" in wide
    assert "3 330 sps" not in narrow
    assert "1.01 ms" in narrow


def test_names_of_columns_take_several_lines_before_a_column_goes():
    first, second, *_ = lines_of(PARTS, 55)

    assert "would do" in " ".join((first, second))
    assert "alone it would do" not in first + second


def test_a_column_that_may_go_goes_before_the_last():
    assert "2026-11-27" in words_of(RUNS, 40)
    narrow = words_of(RUNS, 24)
    assert "2026-11-27" not in narrow
    assert "stage-1" in narrow
    assert "2 420" in narrow


def test_a_range_takes_two_lines_and_none_of_its_figures_is_broken():
    lines = lines_of(RUNS, 20)

    assert [line for line in lines if line.endswith("2 370 to")]
    assert not [line for line in lines if re.search(r" \d$", line)]


@pytest.mark.parametrize("width", [30, 40, 60])
def test_facts_lose_none_of_their_columns(width):
    waits = fact_table(
        [("main 5502 (2 threads, feeder)", f"70{GLUE}% in a queue", "for 8 workers")], columns=3
    )

    words = words_of(waits, width).replace(" ", "")
    assert all(told in words for told in ("main", "5502", "70%", "for"))
    assert max(map(columns, lines_of(waits, width))) <= width
