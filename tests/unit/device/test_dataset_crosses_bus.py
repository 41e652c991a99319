from __future__ import annotations

import pytest

from rlprof.detectors.dataset_crosses_bus import DETECTOR
from tests.trace_factory import TraceBuilder, a_trace

PAGEABLE = "HtoD (Pageable -> Device)"
ACTION = "DtoH (Device -> Pageable)"


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
    (finding,) = DETECTOR.in_trace.detect(an_update(copied_us=100.0).view(tmp_path))

    assert finding.saved_us == (0.0, pytest.approx(300.0))
    assert finding.title == "8.0 MiB are copied to the GPU at each step"
    assert "never overlap" in finding.evidence[1]


def test_does_not_say_that_the_same_data_comes_again(tmp_path):
    (finding,) = DETECTOR.in_trace.detect(an_update(copied_us=100.0).view(tmp_path))

    assert finding.evidence[2] == "whether the same data comes again the trace does not show"
    assert finding.fix.startswith("If it does")


def test_copies_beside_kernels_cost_nothing(tmp_path):
    (finding,) = DETECTOR.in_trace.detect(
        an_update(copied_us=100.0, beside_kernels=True).view(tmp_path)
    )

    assert finding.saved_us.high == 0.0
    assert finding.evidence[1].endswith("they overlap")


def a_training(*, batch: int = 0) -> TraceBuilder:
    """Three steps of three milliseconds: eight observations of 8 MiB in turns with their actions, and an update,
    with a ``batch`` of so many bytes.
    """
    trace = a_trace()
    for step in range(3):
        trace.region(f"ProfilerStep#{step}", step * 3000.0, 3000.0)
        for at in (step * 3000.0 + turn * 250.0 for turn in range(8)):
            trace.copy(PAGEABLE, at + 5.0, 2.0, start=at + 8.0, took=1.0, size=64)
            trace.copy(PAGEABLE, at + 10.0, 100.0, start=at + 20.0, took=80.0, size=8 << 20)
            trace.op("aten::mm", at + 120.0, 20.0).kernel(at + 130.0, at + 140.0, 40.0)
            trace.copy(ACTION, at + 200.0, 5.0, start=at + 201.0, took=2.0, size=8)
        at = step * 3000.0 + 2000.0
        if batch:
            trace.copy(PAGEABLE, at, 200.0, start=at + 10.0, took=300.0, size=batch)
        trace.op("autograd::engine::evaluate_function: MmBackward0", at + 400.0, 20.0)
        trace.kernel(at + 410.0, at + 420.0, 500.0)
    return trace


def test_observations_that_are_answered_are_no_data_set(tmp_path):
    assert not [*DETECTOR.in_trace.detect(a_training().view(tmp_path))]


def test_counts_batches_without_the_observations_beside_them(tmp_path):
    (finding,) = DETECTOR.in_trace.detect(a_training(batch=16 << 20).view(tmp_path))

    assert finding.title == "16.0 MiB are copied to the GPU at each step"
    assert finding.evidence[0].startswith("3 copies, 48.0 MiB, observations left out: ")
    assert finding.saved_us.high == pytest.approx(900.0)


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
    assert not [*DETECTOR.in_trace.detect(trace.view(tmp_path))]
