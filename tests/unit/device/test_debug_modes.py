from __future__ import annotations

import pytest

from rlprof.detectors.debug_modes import DETECTOR
from tests.trace_factory import TraceBuilder, a_trace

BACKWARD = "autograd::engine::evaluate_function: AddmmBackward0"


def launches(*, blocking: bool, number: int = 12) -> TraceBuilder:
    """Kernels of 30 µs, each 20 µs after the last one."""
    trace = a_trace()
    for at in range(0, number * 50, 50):
        trace.op("aten::mm", at, 45.0).kernel(
            at + 5.0, at + 8.0, 30.0, launch=35.0 if blocking else 4.0
        )
    return trace


def test_launches_that_outlast_their_kernels(tmp_path):
    (finding,) = DETECTOR.in_trace.detect(launches(blocking=True).view(tmp_path))

    assert "CUDA_LAUNCH_BLOCKING" in finding.fix
    # The GPU is idle between kernels and before the first; the launches would allow 12 times 30.
    assert finding.saved_us == (0.0, pytest.approx(11 * 20.0 + 8.0 + 7.0))


@pytest.mark.parametrize(
    "trace",
    [
        pytest.param(launches(blocking=False), id="ordinary launches"),
        pytest.param(launches(blocking=True, number=9), id="too few to tell"),
    ],
)
def test_ordinary_launches_are_no_mode(tmp_path, trace):
    assert not [*DETECTOR.in_trace.detect(trace.view(tmp_path))]


@pytest.mark.parametrize(("inside", "seen"), [(True, 1), (False, 0)])
def test_anomaly_mode_looks_for_nan_inside_the_backward_pass(tmp_path, inside, seen):
    trace = a_trace()
    for at in range(0, 1200, 100):
        trace.op(BACKWARD, at, 50.0).op("aten::isnan", at + (10.0 if inside else 60.0), 5.0)
    trace.kernel(20.0, 30.0, 5.0)

    findings = [*DETECTOR.in_trace.detect(trace.view(tmp_path))]

    assert len(findings) == seen
    assert all(finding.saved_us == (0.0, 0.0) for finding in findings)
