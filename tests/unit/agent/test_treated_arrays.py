from __future__ import annotations

import numpy as np
import pytest

from rlprof.agent.inject.rlprof_agent.treatments import AskedPart
from rlprof.agent.inject.rlprof_agent.treatments.arrays import spare_room


@pytest.fixture
def grown():
    return spare_room(AskedPart({}, [0], pytest.fail))


def rows(count: int, width: int = 3) -> np.ndarray:
    return np.arange(count * width, dtype=np.float64).reshape(count, width)


def test_grows_as_numpy_does(grown):
    whole = plain = np.zeros((0, 3))
    for number in range(100):
        row = rows(1) + number
        whole, plain = grown(np.concatenate, [whole, row]), np.concatenate([plain, row])

    assert np.array_equal(whole, plain)
    assert whole.dtype == plain.dtype


def test_copies_seldom(grown):
    whole, rooms = rows(1), set()
    for _ in range(200):
        whole = grown(np.vstack, (whole, rows(1)))
        rooms.add(id(whole.base))

    assert len(rooms) < 10


def test_numbers_are_appended(grown):
    whole = np.zeros(0)
    for number in range(20):
        whole = grown(np.append, whole, np.array([float(number)]))

    assert whole.tolist() == [*range(20)]


def test_an_array_that_somebody_holds_on_to_stays_as_it_is(grown):
    kept = grown(np.concatenate, [rows(2), rows(1)])
    one = grown(np.concatenate, [kept, rows(1) + 1])
    other = grown(np.concatenate, [kept, rows(1) + 2])

    assert one[-1].tolist() == [1, 2, 3]
    assert other[-1].tolist() == [2, 3, 4]
    assert kept.tolist() == [*rows(2).tolist(), [0, 1, 2]]


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (np.concatenate, ([rows(2), rows(2)],), {"axis": 1}),
        (np.concatenate, ([rows(1), rows(1), rows(1)],), {}),
        (np.concatenate, ([rows(1), rows(1).astype(np.float32)],), {}),
        (np.vstack, ([np.zeros(3), np.ones(3)],), {}),
        (np.append, (rows(1), rows(1)), {}),
        (np.append, (np.zeros(2), 1.0), {}),
        (np.hstack, ([rows(1), rows(1)],), {}),
    ],
)
def test_all_else_goes_numpys_own_way(grown, function, args, kwargs):
    assert np.array_equal(grown(function, *args, **kwargs), function(*args, **kwargs))
