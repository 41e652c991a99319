"""A GPU that waits for each launch: told, and worth what a captured update takes less."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlprof.detectors.launch_bound import DETECTOR
from tests.trace_factory import TraceBuilder, a_trace


def an_update(*, kernels: int = 12, apart_us: float = 30.0, kernel_us: float = 3.0) -> TraceBuilder:
    """Kernels that start 2 µs after their launch; between two ops lie 10 µs of Python."""
    trace = a_trace()
    for number in range(kernels):
        at = number * apart_us
        trace.op("aten::add", at, apart_us - 10.0)
        trace.kernel(at + 5.0, at + 9.0, kernel_us, launch=2.0)
    return trace


def test_a_graph_takes_the_kernels_and_the_gaps_between_them(tmp_path: Path):
    view = an_update().view(tmp_path)

    (finding,) = DETECTOR.in_trace.detect(view)

    busy_us = 12 * 3.0
    assert finding.saved_us.high == pytest.approx(view.wall.length - busy_us - 12 * 1.2, abs=1.0)
    assert finding.saved_us.low < 0.5 * finding.saved_us.high


def test_a_gpu_that_is_busy_is_not_told(tmp_path: Path):
    assert not list(DETECTOR.in_trace.detect(an_update(kernel_us=25.0).view(tmp_path)))
