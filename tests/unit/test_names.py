from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlprof.names import columns, cut_middle, printable, short_path

CWD = "/home/me/project"


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        (f"{CWD}/bandit/env.py", "bandit/env.py"),
        (f"{CWD}/.venv/lib/python3.11/site-packages/omegaconf/base.py", "omegaconf/base.py"),
        ("/usr/lib/python3.12/multiprocessing/pool.py", "multiprocessing/pool.py"),
        ("/opt/x.py", "/opt/x.py"),
        ("/data/shared/team/code/env.py", "…/team/code/env.py"),
        ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>"),
        ("", ""),
    ],
)
def test_a_path_is_shown_as_its_reader_knows_it(file: str, shown: str) -> None:
    assert short_path(file, CWD) == shown


def test_odd_characters_are_spelled_out() -> None:
    assert printable("a\nb\x1b\udce9\u202e") == r"a\nb\x1b\udce9\u202e"


@given(st.text(st.characters(), max_size=600))
def test_any_name_becomes_printable_and_bounded(text: str) -> None:
    shown = printable(text)

    assert shown.isprintable()
    assert len(shown) <= 400


@given(st.text(max_size=50), st.integers(3, 60))
def test_cutting_keeps_both_ends(text: str, limit: int) -> None:
    cut = cut_middle(text, limit)

    assert len(cut) == min(len(text), limit)
    assert cut[0:1] == text[0:1]
    assert cut[-1:] == text[-1:]


def test_wide_characters_take_two_columns() -> None:
    assert columns("日本 a") == 6
