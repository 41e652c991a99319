"""Packed traces that would become more than can be borne."""

from __future__ import annotations

import gzip
import json
from io import BytesIO

import pytest

from rlprof.errors import TraceError
from rlprof.tracefile import packing
from rlprof.tracefile.packing import NotATraceError, TooLargeError, content_in, content_of
from rlprof.tracefile.reader import read_shapes, read_trace_in

ZEROS = gzip.compress(bytes(1 << 20), mtime=0)


class Counting(BytesIO):
    """Knows how much of it was read."""

    @property
    def was_read(self) -> int:
        return self.tell()


def test_no_more_is_unpacked_than_is_borne():
    bomb = Counting(ZEROS * 100_000)

    with pytest.raises(TooLargeError, match="larger than 64"):
        content_of(bomb, 64 << 20)

    assert bomb.was_read < 2 * packing._CHUNK


def test_windows_of_a_run_are_bounded_wherever_they_are_read():
    bomb = ZEROS * 300

    with pytest.raises(TraceError) as caught:
        read_trace_in(bomb, "of window 0")
    assert caught.value.slug == "trace-too-large"
    assert read_shapes(bomb) == []
    with pytest.raises(NotATraceError):
        content_in(bomb)


@pytest.mark.parametrize("filling", ["{},", "[],", "0,", '{"a":[]},'])
def test_what_is_all_brackets_and_commas_is_no_trace(filling):
    text = f'{{"traceEvents":[{filling * 1_000_000}0]}}'

    with pytest.raises(TraceError, match="brackets and commas"):
        read_trace_in(gzip.compress(text.encode(), 1), "of window 0")


def test_a_dense_trace_of_many_rows_is_read():
    row = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    row["args"] = {"Input Dims": [[64, 4], [4, 64]], "Concrete Inputs": ["", ""]}
    text = json.dumps({"traceEvents": [row] * 20_000}, separators=(",", ":"))

    assert len(read_trace_in(gzip.compress(text.encode(), 1), "of window 0").ops) == 20_000
