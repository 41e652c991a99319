"""Code objects that the agent holds, and when there are too many."""

from __future__ import annotations

import tracemalloc

import pytest

from rlprof.agent.inject.rlprof_agent import held_codes
from rlprof.agent.inject.rlprof_agent.held_codes import HeldCodes


def a_code(constant: object = None):
    code = compile("None", "made", "eval")
    return code.replace(co_consts=(*code.co_consts, constant))


def test_a_code_that_is_held_is_known_by_its_number():
    codes, one, other = HeldCodes(), a_code(), a_code()

    codes.hold(one)

    assert id(one) in codes
    assert id(other) not in codes


def test_they_are_too_many_by_their_number(monkeypatch):
    monkeypatch.setattr(held_codes, "MOST_CODES", 2)
    codes, made = HeldCodes(), [a_code(), a_code()]

    codes.hold(made[0])
    codes.hold(made[0])
    assert not codes.are_too_many
    codes.hold(made[1])
    assert codes.are_too_many


@pytest.mark.parametrize("kind", [bytes, str])
def test_they_are_too_many_by_the_data_in_them(kind):
    codes = HeldCodes()

    codes.hold(
        a_code(b"x" * held_codes.MOST_BYTES if kind is bytes else "x" * held_codes.MOST_BYTES)
    )
    assert codes.are_too_many

    codes.clear()
    assert not codes.are_too_many


def test_a_module_of_many_functions_is_not_taken_for_data():
    codes = HeldCodes()

    functions = "".join(f"def f{number}(): return {number}.5\n" for number in range(5_000))
    codes.hold(compile(functions, "module.py", "exec"))

    assert not codes.are_too_many


def test_a_large_table_is_not_copied():
    codes, code = HeldCodes(), a_code(tuple(range(1_000_000)))
    tracemalloc.start()
    try:
        codes.hold(code)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert codes.are_too_many
    assert most < 100_000, "a copy of it has 8 MB"


def test_data_beyond_what_is_looked_at_counts_like_the_rest():
    codes = HeldCodes()

    codes.hold(a_code(tuple(tuple(range(row, row + 1_000)) for row in range(0, 1_000_000, 1_000))))

    assert codes.are_too_many
