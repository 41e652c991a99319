from __future__ import annotations

import pytest

from rlprof.device_detectors.dataset_crosses_bus import DETECTOR
from tests.trace_factory import TraceBuilder, a_trace

PAGEABLE = "HtoD (Pageable -> Device)"


def an_update(
    *, copied_us: float, beside_kernels: bool = False, size: int = 8 << 20
) -> TraceBuilder:
    """Three steps of a millisecond, each with one batch that crosses the bus."""
    trace = a_trace()
    for step in range(3):
        at = step * 1000.0
        trace.region(f"ProfilerStep#{step}", at, 1000.0)
        start = at + (500.0 if beside_kernels else 100.0)
        trace.copy(PAGEABLE, at + 10.0, 20.0, start=start, took=copied_us, size=size)
        trace.op("aten::mm", at + 400.0, 20.0).kernel(at + 410.0, at + 450.0, 400.0)
    return trace


def test_what_could_go_is_the_time_in_which_only_copies_run(tmp_path):
    (finding,) = DETECTOR.detect(an_update(copied_us=100.0).view(tmp_path))

    assert finding.saved_us == (0.0, pytest.approx(300.0))
    assert finding.title == "8.0 MiB are copied to the GPU at each step"
    assert "never overlap" in finding.evidence[1]


def test_copies_beside_kernels_cost_nothing(tmp_path):
    (finding,) = DETECTOR.detect(an_update(copied_us=100.0, beside_kernels=True).view(tmp_path))

    assert finding.saved_us.high == 0.0
    assert finding.evidence[1].endswith("they overlap")


@pytest.mark.parametrize(
    "trace",
    [
        pytest.param(an_update(copied_us=45.0), id="under 5 % of the trace"),
        pytest.param(
            an_update(copied_us=100.0, size=1000), id="observations of a few environments"
        ),
    ],
)
def test_is_silent(tmp_path, trace):
    assert not [*DETECTOR.detect(trace.view(tmp_path))]
