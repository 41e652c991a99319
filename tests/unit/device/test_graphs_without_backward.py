from __future__ import annotations

import pytest

from rlprof.detectors.grads_in_rollout import DETECTOR
from tests.trace_factory import TraceBuilder, a_trace

BACKWARD = "autograd::engine::evaluate_function: AddmmBackward0"


def a_training(*, unused: int, used: int = 40, backward: bool = True) -> TraceBuilder:
    """Forward ops that are recorded: ``unused`` ones while collecting, then those of an update."""
    trace = a_trace().python("rollout.py(9): collect", 0.0, unused * 10.0)
    trace.kernel(unused * 10.0 + 5.0, unused * 10.0 + 10.0, 5.0)
    for number in range(unused + used):
        trace.op("aten::linear", number * 10.0, 8.0, sequence=number)
    start = (unused + used) * 10.0
    for number in range(used if backward else 0):
        trace.op(BACKWARD, start + number * 10.0, 8.0, sequence=unused + used - 1 - number)
    return trace


def test_a_fifth_of_the_ops_that_nobody_differentiates(tmp_path):
    (finding,) = DETECTOR.in_trace.detect(a_training(unused=60).view(tmp_path))

    assert finding.saved_us == (0.0, pytest.approx(0.2 * 60 * 8.0))
    assert (finding.places[0].function, finding.places[0].count) == ("collect", 60)


@pytest.mark.parametrize(
    "trace",
    [
        pytest.param(a_training(unused=40), id="few ops"),
        pytest.param(a_training(unused=60, used=200), id="a small part: metrics"),
        pytest.param(a_training(unused=60, backward=False), id="the backward comes later"),
    ],
)
def test_is_silent(tmp_path, trace):
    assert not [*DETECTOR.in_trace.detect(trace.view(tmp_path))]


def test_ops_that_checkpointing_does_again_are_no_rollout(tmp_path):
    trace = a_training(unused=0).op(BACKWARD, 10_000.0, 5_000.0, sequence=39)
    for number in range(100):
        trace.op("aten::linear", 10_010.0 + number * 10.0, 8.0, sequence=1_000 + number)

    assert not [*DETECTOR.in_trace.detect(trace.view(tmp_path))]
