from __future__ import annotations

import pytest

from rlprof.detectors.cpu_policy_faster import DETECTOR
from tests.trace_factory import TraceBuilder, a_trace


def steps(number: int, *, kernel_us: float, kernels: int = 10) -> TraceBuilder:
    trace = a_trace()
    for step in range(number):
        at = step * 2_000.0
        trace.region(f"ProfilerStep#{step}", at, 1_990.0)
        for index in range(kernels):
            trace.kernel(at + index * 100.0, at + index * 100.0 + 10.0, kernel_us)
    return trace


def test_a_hint_without_a_number(tmp_path):
    (finding,) = DETECTOR.in_trace.detect(steps(4, kernel_us=3.0).view(tmp_path))

    assert finding.saved_us == (0.0, 0.0)
    assert finding.evidence[0].startswith("30 µs of kernels per step")


@pytest.mark.parametrize(
    "trace",
    [
        pytest.param(steps(2, kernel_us=3.0), id="too few steps"),
        pytest.param(steps(4, kernel_us=20.0), id="kernels worth their launch"),
    ],
)
def test_is_silent(tmp_path, trace):
    assert not [*DETECTOR.in_trace.detect(trace.view(tmp_path))]
