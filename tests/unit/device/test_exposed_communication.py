from __future__ import annotations

import pytest

from rlprof.detectors.exposed_communication import DETECTOR
from tests.trace_factory import TraceBuilder, a_trace

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def a_rank(*, alone_us: float) -> TraceBuilder:
    """A millisecond: 500 µs of backward, and a collective that goes on ``alone_us`` longer."""
    trace = a_trace().op("aten::mm", 0.0, 1000.0).kernel(10.0, 20.0, 500.0)
    return trace.kernel(30.0, 420.0, 100.0 + alone_us, name=ALL_REDUCE)


def test_counts_what_runs_beside_no_kernel(tmp_path):
    (finding,) = DETECTOR.in_trace.detect(a_rank(alone_us=200.0).view(tmp_path))

    assert finding.saved_us == (0.0, pytest.approx(200.0))
    assert not finding.is_host_side


@pytest.mark.parametrize("alone_us", [0.0, 95.0])
def test_is_silent_while_kernels_run_or_for_a_moment(tmp_path, alone_us):
    assert not [*DETECTOR.in_trace.detect(a_rank(alone_us=alone_us).view(tmp_path))]
