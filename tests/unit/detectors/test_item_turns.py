"""``numpy-tiny-ops`` on the shapes that loops over small arrays come in, and on those that have to stay loops."""

from __future__ import annotations

import pytest

from rlprof.detectors.numpy_tiny_ops import DETECTOR, LOOPED, LOOPED_LIGHTLY
from rlprof.detectors.recognisers.arrays.item_turns import MOST_NUMBERS, MOST_NUMBERS_OF_LIGHT
from rlprof.model.finding import Finding
from tests.factories import a_run
from tests.profile_factory import SITE, Script, claimed_s, detect, lines_of, profile_of

NORM = f"{SITE}/numpy/linalg/_linalg.py:2600 norm"
SWARM = Script(
    "swarm.py",
    """
    import numpy as np

    def gap(a, b):
        d = a - b
        return np.sqrt((d ** 2).sum())

    def draws(a):
        total.append(a)
        return np.tanh(a)

    def tries(a):
        while np.abs(a).sum() > 1:
            a = 0.9 * a
        return a

    class Swarm:
        def step(self, here, items, pairs, out, cells):
            near = min(items, key=lambda it: np.linalg.norm(it - here))
            ranked = sorted(range(len(items)), key=lambda i: np.abs(items[i] - here).sum())
            mapped = list(map(gap_to, items))
            helped = [gap(here, it) for it in items]
            by_name = {k: np.linalg.norm(it) for k, it in cells.items()}
            others = [np.linalg.norm(it - here) for it in items if it is not here]
            moved = [it - here for it in items]
            kept = [draws(it) for it in items]
            tried = [tries(it) for it in items]
            some = [np.linalg.norm(it) for it in items if it.any()]
            added = [np.add(here, it, out=here) for it in items]
            n = len(items)
            for i in range(n):
                for j in range(i + 1, n):
                    if np.linalg.norm(items[i] - items[j]) < 0.1:
                        hits += 1
            for i, it in enumerate(items):
                out[i] = np.linalg.norm(it)
            for it in items:
                if it is here:
                    continue
                far = gap(here, it)
                if best is None or far < best:
                    best, nearest = far, it
            for i in range(len(items)):
                items[i] = np.tanh(items[i] + items[i - 1])
            for it in items:
                if np.linalg.norm(it - here) < 0.1:
                    break
            for it in items:
                if np.linalg.norm(it) > best:
                    best = best * 0.9
    """,
)
HELPERS = {"gap": "gap", "gap_to": "gap", "draws": "draws", "tries": "tries"}


def swarm(
    line: str, *, items: int = 200, numbers: int = 10, below: str = NORM, inside: int = 10
) -> list[Finding]:
    """Ten seconds, of which four are spent on a line, half of them in what it calls."""
    run = a_run(steady_s=10.0).process("main", steps=1000)
    at = SWARM.at(line, "Swarm.step")
    run.spends(2.0, at).spends(2.0, at, below).spends(6.0, "train.py:3 learn")
    array = f"type=numpy.ndarray shape={numbers} dtype=f8"
    listed = f"length={items} first.type=numpy.ndarray first.shape={numbers} first.dtype=f8"
    seen = {
        "here": array,
        "it": array,
        "items": f"type=list {listed}",
        "cells": f"type=dict {listed}",
    }
    functions = {
        name: f"type=function function=__main__.{name} file=swarm.py line={SWARM.line(f'def {real}(')}"
        for name, real in HELPERS.items()
    }
    run.sees(at, **seen, **functions)
    for piece, function in (
        ("return np.sqrt", "gap"),
        ("return np.tanh", "draws"),
        ("a = 0.9", "tries"),
    ):
        worked = f"type=numpy.ndarray shape={inside} dtype=f8"
        run.sees(SWARM.at(piece, function), a=worked, d=worked)
    return detect(DETECTOR, run, SWARM)


@pytest.mark.parametrize(
    ("line", "below", "through"),
    [
        pytest.param("near = min", NORM, "200 items of items", id="the key of min"),
        pytest.param("ranked = sorted", NORM, "200 items of items", id="the key of sorted"),
        pytest.param("mapped = list", "swarm.py:5 gap", "200 items of items", id="map"),
        pytest.param("helped = [", "swarm.py:5 gap", "200 items of items", id="a function of the program's"),
        pytest.param("by_name = {", NORM, "200 items of cells", id="a comprehension of a dictionary"),
        pytest.param("others = [", NORM, "200 items of items", id="all but one"),
        pytest.param("items[i] - items[j]", NORM, "20 000 items of items × items", id="each pair once"),
        pytest.param("out[i] = ", NORM, "200 items of items", id="results by their number"),
        pytest.param("far = gap", "swarm.py:5 gap", "200 items of items", id="the best so far"),
    ],
)  # fmt: skip
def test_a_loop_is_told_whatever_its_shape(line: str, below: str, through: str):
    (finding,) = swarm(line, below=below)

    assert finding.title.startswith("numpy works on one small array at a time (swarm.py:")
    assert lines_of(finding) == [SWARM.line(line)]
    assert f"it goes through {through}" in finding.evidence
    assert [saving.removable for saving in finding.savings] == [LOOPED]


def test_what_a_function_of_the_programs_does_belongs_to_the_loop():
    at = SWARM.at("helped = [", "Swarm.step")
    (finding,) = swarm("helped = [", below="swarm.py:5 gap")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(2.0, at).spends(2.0, at, "swarm.py:5 gap").spends(6.0, "train.py:3 learn")

    assert claimed_s(profile_of(run, SWARM), finding) == 4.0


def test_an_operation_or_two_in_c_leave_more_of_the_time():
    (finding,) = swarm("moved = [")

    assert [saving.removable for saving in finding.savings] == [LOOPED_LIGHTLY]
    assert swarm("moved = [", numbers=MOST_NUMBERS_OF_LIGHT + 1) == []


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("kept = [", id="a function that changes something"),
        pytest.param("tried = [", id="a function with a loop of its own"),
        pytest.param("some = [", id="some of the items"),
        pytest.param("added = [", id="results in one and the same array"),
        pytest.param("items[i] = np.tanh", id="turns that read what others wrote"),
        pytest.param("if np.linalg.norm(it - here) < 0.1:", id="a search that ends early"),
        pytest.param("if np.linalg.norm(it) > best:", id="a bound that follows from itself"),
    ],
)
def test_silent_where_turns_are_not_numpy_alone_or_need_each_other(line: str):
    assert swarm(line) == []


def test_silent_where_a_function_works_on_large_arrays_too():
    assert swarm("helped = [", below="swarm.py:5 gap", inside=MOST_NUMBERS + 1) == []


def test_a_loop_over_pairs_of_numbers_is_told_once():
    assert len(swarm("others = [", numbers=2)) == 1
