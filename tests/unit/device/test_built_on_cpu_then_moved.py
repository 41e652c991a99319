from __future__ import annotations

import pytest

from rlprof.detectors.built_on_cpu_then_moved import DETECTOR
from tests.trace_factory import TraceBuilder, a_trace


def a_training(
    *, built: str = "aten::randn", pause_us: float = 2.0, on_gpu: bool = False
) -> TraceBuilder:
    """Four steps, in each of which noise is made and copied."""
    trace = a_trace()
    for step in range(4):
        at = step * 1000.0
        trace.region(f"ProfilerStep#{step}", at, 1000.0).python(
            "train.py(7): noise", at + 5.0, 400.0
        )
        trace.op(built, at + 10.0, 40.0)
        if on_gpu:
            trace.kernel(at + 20.0, at + 30.0, 2.0)
        moved = at + 50.0 + pause_us
        trace.op("aten::to", moved, 48.0)
        trace.copy(
            "HtoD (Pageable -> Device)",
            moved + 5.0,
            40.0,
            start=moved + 20.0,
            took=10.0,
            size=1 << 16,
        )
        trace.op("aten::mm", at + 500.0, 20.0).kernel(at + 505.0, at + 510.0, 400.0)
    return trace


def test_both_ops_can_go_as_far_as_the_gpu_is_idle(tmp_path):
    (finding,) = DETECTOR.in_trace.detect(a_training().view(tmp_path))

    assert finding.saved_us == (0.0, pytest.approx(4 * (90.0 - 10.0)))
    assert (finding.places[0].function, finding.places[0].count) == ("noise", 4)


@pytest.mark.parametrize(
    "trace",
    [
        pytest.param(a_training(built="aten::stack"), id="data of the program"),
        pytest.param(a_training(pause_us=200.0), id="used in between"),
        pytest.param(a_training(on_gpu=True), id="made on the GPU"),
    ],
)
def test_is_silent(tmp_path, trace):
    assert not [*DETECTOR.in_trace.detect(trace.view(tmp_path))]
