from __future__ import annotations

import pytest

from rlprof.detectors.conv_search import DETECTOR
from tests.trace_factory import TraceBuilder, a_trace

CONVOLUTION = "aten::cudnn_convolution"


def a_training(*, search_at_step: int, took_us: float = 5_000.0) -> TraceBuilder:
    """Four steps of ten convolutions; in one of them a new shape is searched for."""
    trace = a_trace()
    at = 0.0
    for step in range(4):
        began = at
        for number in range(10):
            length = took_us if step == search_at_step and not number else 50.0
            trace.op(CONVOLUTION, at, length).kernel(at + 5.0, at + 10.0, 30.0)
            at += length + 10.0
        trace.region(f"ProfilerStep#{step}", began, at - began)
    return trace


def test_a_search_after_the_first_step_is_worth_its_idle_time(tmp_path):
    (finding,) = DETECTOR.in_trace.detect(a_training(search_at_step=2).view(tmp_path))

    assert finding.saved_us == (0.0, pytest.approx(4_950.0))
    assert finding.evidence[0].startswith("1 convolutions")


@pytest.mark.parametrize(
    ("step", "took_us"),
    [pytest.param(0, 5_000.0, id="the first step"), pytest.param(2, 900.0, id="no search")],
)
def test_is_silent(tmp_path, step, took_us):
    trace = a_training(search_at_step=step, took_us=took_us)

    assert not [*DETECTOR.in_trace.detect(trace.view(tmp_path))]
