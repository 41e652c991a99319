"""``numpy-tiny-ops`` on loops that give numpy one small array after the other."""

from __future__ import annotations

import pytest

from rlprof.detectors.numpy_tiny_ops import DETECTOR, LOOPED, MIN_SHARE
from rlprof.detectors.recognisers.arrays.item_loops import FEWEST_ITEMS
from rlprof.detectors.recognisers.arrays.item_turns import MOST_NUMBERS
from rlprof.model.finding import Finding
from tests.factories import a_run
from tests.profile_factory import SITE, Script, claimed_s, detect, lines_of, profile_of

NORM = f"{SITE}/numpy/linalg/_linalg.py:2600 norm"
ARCHIVE = Script(
    "archive.py",
    """
    import numpy as np

    class Archive:
        def novelty(self, here, items):
            far = [np.linalg.norm(here - it) for it in items]
            near = min(items, key=lambda it: self.grade(it))
            drawn = [self.grade(here - it) for it in items]
            for it in items:
                d = np.sqrt(((here - it) ** 2).sum())
                far.append(d)
            for it in items:
                here = here + np.tanh(here - it)
            for it in items:
                far.append(np.tanh(it))
                self.grade(it)
            return far
    """,
)


def archive(
    line: str, *, items: int = 200, numbers: int = 10, seconds: float = 4.0
) -> list[Finding]:
    at = ARCHIVE.at(line, "Archive.novelty")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(seconds / 2, at).spends(seconds / 2, at, NORM)
    run.spends(10.0 - seconds, "train.py:3 learn")
    for seen in {line, "for it in items"}:
        run.sees(
            ARCHIVE.at(seen, "Archive.novelty"),
            items=f"type=list length={items} first.type=numpy.ndarray first.shape={numbers} first.dtype=f8",
            it=f"type=numpy.ndarray shape={numbers} dtype=f8",
            here=f"type=numpy.ndarray shape={numbers} dtype=f8",
        )
    return detect(DETECTOR, run, ARCHIVE)


@pytest.mark.parametrize("line", ["far = [", "d = np.sqrt"])
def test_a_loop_that_gives_numpy_one_small_array_at_a_time(line: str):
    (finding,) = archive(line)

    assert finding.title.startswith("numpy works on one small array at a time (archive.py:")
    assert lines_of(finding) == [ARCHIVE.line(line)]
    assert finding.evidence == (
        "40 % of the steady time is spent in that loop, 4 ms a step",
        "it goes through 200 items of items",
        "seen there: it: array of 10 float64",
    )
    assert [saving.removable for saving in finding.savings] == [LOOPED]


def test_what_numpy_does_below_the_line_belongs_to_the_loop():
    at = ARCHIVE.at("far = [", "Archive.novelty")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(1.0, at).spends(3.0, at, NORM).spends(6.0, "train.py:3 learn")
    array = "type=numpy.ndarray shape=4 dtype=f4"
    run.sees(at, items="type=list length=64", it=array, here=array)
    (finding,) = detect(DETECTOR, run, ARCHIVE)

    assert claimed_s(profile_of(run, ARCHIVE), finding) == 4.0


@pytest.mark.parametrize(
    ("line", "sizes"),
    [
        pytest.param("far = [", {"items": FEWEST_ITEMS - 1}, id="few items"),
        pytest.param("far = [", {"numbers": MOST_NUMBERS + 1}, id="large arrays"),
        pytest.param("far = [", {"seconds": 10 * MIN_SHARE * 0.9}, id="little time"),
        pytest.param("near = min", {}, id="no numpy"),
        pytest.param("drawn = [", {}, id="a function of the program's"),
        pytest.param("here = here +", {}, id="turns that need the turn before"),
        pytest.param("far.append(np.tanh", {}, id="something else in the turn"),
    ],
)
def test_silent_where_one_call_does_not_take_its_place(line: str, sizes: dict[str, int]):
    assert archive(line, **sizes) == []
