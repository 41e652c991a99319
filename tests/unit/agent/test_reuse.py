from __future__ import annotations

import collections
import io
from typing import Any

import numpy as np
import pytest
import torch

from rlprof.agent.inject.rlprof_agent.treatments import AskedPart
from rlprof.agent.inject.rlprof_agent.treatments.reuse import copies, fresh, is_plain, what_ends


class Deck:
    def __init__(self) -> None:
        self.cards = [1, 2, 3]


PLAIN = [
    {"a": [1, 2.5, "b", None, (1, True)]},
    collections.OrderedDict(weight=torch.zeros(2)),
    collections.deque([np.zeros(2), np.float32(1)]),
    torch.nn.Linear(2, 2),
    {1, 2},
]


@pytest.mark.parametrize("value", PLAIN)
def test_what_is_made_of_numbers_arrays_and_networks(value):
    assert is_plain(value)
    assert type(fresh(value)) is type(value)


@pytest.mark.parametrize(
    "value",
    [Deck(), [Deck()], {"a": iter([1])}, np.array([Deck()], dtype=object), io.StringIO(), [0] * 20_000],
)  # fmt: skip
def test_what_may_be_used_up_or_is_too_much_to_look_through(value):
    assert not is_plain(value)


def test_a_circle_of_containers_is_not_followed_for_ever():
    circle: list[Any] = []
    circle.append(circle)

    assert not is_plain(circle)
    assert len(fresh(circle)) == 1


def test_containers_are_new_and_what_they_hold_is_not():
    array = np.zeros(2)
    value = {"rows": [[array], (1, [2])]}

    new = fresh(value)
    new["rows"][0].clear()
    new["rows"][1][1].append(3)

    assert value["rows"][1] == (1, [2])
    assert value["rows"][0][0] is array


def test_an_attribute_that_can_be_closed_is_named():
    assert what_ends({"at": 1, "kind": io.StringIO, "log": io.StringIO()}) == "log"
    assert what_ends({"at": 1, "rows": [1]}) == ""


def test_copies_of_what_may_be_used_up_are_refused():
    errors: list[BaseException] = []
    answered = copies(AskedPart({}, [0], errors.append))

    assert answered(Deck).cards == [1, 2, 3]
    assert str(errors[0]) == "a copy holds what the program may use up"
