"""Which ranges of torch's profiler a window leaves open."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from rlprof.agent.inject.rlprof_agent import torch_ranges
from rlprof.agent.inject.rlprof_agent.torch_ranges import OpenRanges

OPEN = b'{"args": {"finished": false, "Ev Idx": 0}}'


class Range:
    run_callbacks_on_exit = True

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


@pytest.fixture
def ranges(monkeypatch) -> Iterator[OpenRanges]:
    monkeypatch.setitem(
        sys.modules, "torch.autograd.profiler", SimpleNamespace(record_function=Range)
    )
    followed = OpenRanges()
    followed.watch()
    yield followed
    followed.restore()


@pytest.fixture
def trace() -> Iterator[int]:
    descriptor = os.memfd_create("trace")
    yield descriptor
    os.close(descriptor)


def test_a_range_is_open_until_it_ends(ranges):
    with Range():
        assert ranges
    assert not ranges


def test_it_ends_after_the_window_too(ranges):
    with Range():
        ranges.restore()
        assert ranges
    assert not ranges


def test_those_from_before_the_window_and_after_it_are_not_followed(ranges):
    ranges.restore()
    with Range():
        assert not ranges
        ranges.watch()
    with Range():
        assert ranges


def test_a_range_that_is_dropped_has_ended(ranges):
    Range().__enter__()

    assert not ranges


def test_one_that_ends_with_a_future_stays_open(ranges):
    with Range() as asynchronous:
        asynchronous.run_callbacks_on_exit = False

    assert ranges


def test_those_of_other_threads_are_not_in_the_window(ranges):
    other = Range()
    thread = threading.Thread(target=other.__enter__)
    thread.start()
    thread.join()

    assert not ranges


def test_restoring_twice_leaves_what_others_have_put_there(ranges):
    ranges.restore()
    theirs = Range.__enter__
    ranges.restore()

    assert Range.__enter__ is theirs


@pytest.mark.parametrize("pieces", [1, 3, len(OPEN), 1 << 20])
def test_open_ranges_in_the_trace_are_counted_wherever_it_is_cut(
    monkeypatch, ranges, trace, pieces
):
    monkeypatch.setattr(torch_ranges, "_PIECE", pieces)
    os.write(trace, b"[" + OPEN + b',{"args": {"Ev Idx": 1}},' + OPEN + b"]")

    with Range():
        assert not ranges.are_all(trace)
        with Range():
            assert ranges.are_all(trace)
