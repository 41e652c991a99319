from __future__ import annotations

import pytest

from rlprof.detectors import gpu_sync
from rlprof.detectors.rollout_round_trip import DETECTOR
from tests.trace_factory import TraceBuilder, a_trace

TO_GPU = "HtoD (Pageable -> Device)"
TO_HOST = "DtoH (Device -> Pageable)"
TRIPS = 12


def a_rollout(
    *, learns: bool = False, env_us: float = 300.0, action_bytes: int = 64
) -> TraceBuilder:
    """Observation up, policy, action down, environment: twelve times."""
    trace = a_trace()
    at = 0.0
    for _ in range(TRIPS + 1):
        trace.op("aten::to", at, 20.0)
        trace.copy(TO_GPU, at + 5.0, 10.0, start=at + 10.0, took=2.0, size=4096)
        trace.op("aten::addmm", at + 30.0, 20.0).kernel(at + 35.0, at + 45.0, 10.0)
        if learns:
            trace.op("autograd::engine::evaluate_function: AddmmBackward0", at + 52.0, 5.0)
        trace.op("aten::item", at + 60.0, 30.0)
        trace.copy(TO_HOST, at + 65.0, 20.0, start=at + 75.0, took=2.0, size=action_bytes)
        at += 90.0 + env_us
    return trace


def test_only_what_a_trip_costs_by_itself_is_counted(tmp_path):
    (finding,) = DETECTOR.in_trace.detect(a_rollout().view(tmp_path))

    assert finding.saved_us == (0.0, pytest.approx(TRIPS * 60.0, rel=0.15))
    assert finding.places[0].op == "aten::item"
    assert "before the environment steps" in finding.evidence[1]


def test_never_more_than_the_gpu_is_idle(tmp_path):
    (finding,) = DETECTOR.in_trace.detect(a_rollout(env_us=10.0).view(tmp_path))

    assert finding.saved_us.high < TRIPS * 25.0


def test_actions_are_no_reads_to_be_removed(tmp_path):
    assert not [*gpu_sync.DETECTOR.in_trace.detect(a_rollout().view(tmp_path))]


@pytest.mark.parametrize(
    "trace",
    [
        pytest.param(a_rollout(learns=True), id="a loss that is read before the next batch"),
        pytest.param(a_rollout(action_bytes=1 << 20), id="copies that are no actions"),
    ],
)
def test_is_silent(tmp_path, trace):
    assert not [*DETECTOR.in_trace.detect(trace.view(tmp_path))]
