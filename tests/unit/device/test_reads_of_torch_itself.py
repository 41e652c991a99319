"""Reads of GradScaler and torch.distributions are their own findings, and no ``gpu-sync``."""

from __future__ import annotations

import pytest

from rlprof.detectors import distribution_validation, gpu_sync, gradscaler_sync
from rlprof.detectors.base import Detector
from tests.trace_factory import TraceBuilder, a_trace

SCALER = "torch/amp/grad_scaler.py(363): _maybe_opt_step"
CHECKS = "torch/distributions/distribution.py(46): __init__"
CLIPPING = "torch/nn/utils/clip_grad.py(184): clip_grad_norm_"
YOURS = "train.py(40): update"


def steps_that_read(frame: str = "", before: str = "aten::add") -> TraceBuilder:
    """Three steps; in each the host waits 100 µs, and the GPU then 50 µs for the next kernel."""
    trace = a_trace()
    for step in range(3):
        at = step * 1000.0
        trace.region(f"ProfilerStep#{step}", at, 990.0)
        trace.op("aten::mm", at, 20.0).kernel(at + 5.0, at + 10.0, 300.0)
        trace.op(before, at + 150.0, 20.0).read(at + 209.0, 100.0)
        if frame:
            trace.python(YOURS, at + 200.0, 150.0).python(frame, at + 205.0, 110.0)
        trace.op("aten::mm", at + 350.0, 20.0).kernel(at + 355.0, at + 360.0, 100.0)
    return trace


def counted_reads(detector: Detector, trace: TraceBuilder, folder) -> int:
    findings = [*detector.in_trace.detect(trace.view(folder))]
    return sum(place.count for finding in findings for place in finding.places)


@pytest.mark.parametrize(
    ("frame", "owner"),
    [
        (SCALER, gradscaler_sync.DETECTOR),
        (CHECKS, distribution_validation.DETECTOR),
        (CLIPPING, gpu_sync.DETECTOR),
        ("torch/_tensor.py(12): wrapped", gpu_sync.DETECTOR),
    ],
)
def test_each_read_is_of_one_finding(tmp_path, frame, owner):
    detectors = {gradscaler_sync.DETECTOR, distribution_validation.DETECTOR, gpu_sync.DETECTOR}

    counted = {
        detector.id: counted_reads(detector, steps_that_read(frame), tmp_path)
        for detector in detectors
    }

    assert {id_: number for id_, number in counted.items() if number} == {owner.id: 3}


def test_without_stacks_the_op_before_tells_the_scaler(tmp_path):
    trace = steps_that_read(before="aten::_amp_foreach_non_finite_check_and_unscale_")

    assert counted_reads(gradscaler_sync.DETECTOR, trace, tmp_path) == 3
    assert counted_reads(gpu_sync.DETECTOR, trace, tmp_path) == 0


def test_so_does_the_optimizer_after_where_gradients_are_clipped_in_between(tmp_path):
    trace = a_trace().op("aten::mm", 0.0, 20.0).kernel(5.0, 10.0, 300.0)
    trace.op("aten::_amp_foreach_non_finite_check_and_unscale_", 150.0, 20.0)
    trace.op("aten::_foreach_norm", 180.0, 20.0).read(209.0, 100.0)
    trace.region("Optimizer.step#Adam.step", 320.0, 50.0)
    trace.op("aten::_foreach_add_", 350.0, 20.0).kernel(355.0, 360.0, 100.0)

    assert counted_reads(gradscaler_sync.DETECTOR, trace, tmp_path) == 1


def test_is_worth_the_idle_time_after_the_wait_at_most(tmp_path):
    (finding,) = gradscaler_sync.DETECTOR.in_trace.detect(steps_that_read(SCALER).view(tmp_path))

    # The wait ends at 310, as the kernel does; the next one starts at 360.
    assert finding.saved_us == (0.0, pytest.approx(3 * 50.0))
    assert (finding.places[0].function, finding.places[0].line) == ("update", 40)


def test_clipping_that_reads_is_named(tmp_path):
    (finding,) = gpu_sync.DETECTOR.in_trace.detect(steps_that_read(CLIPPING).view(tmp_path))

    assert any("error_if_nonfinite" in text for text in finding.evidence)


def test_reads_right_after_each_other_are_counted(tmp_path):
    trace = a_trace().region("ProfilerStep#0", 0.0, 1000.0)
    trace.op("aten::mm", 0.0, 20.0).kernel(5.0, 10.0, 50.0)
    for number in range(3):
        trace.read(100.0 + 30.0 * number, 10.0)
    trace.op("aten::mm", 900.0, 20.0).kernel(905.0, 910.0, 10.0)

    (finding,) = gpu_sync.DETECTOR.in_trace.detect(trace.view(tmp_path))

    assert any(
        text.startswith("3 of them come right after each other") for text in finding.evidence
    )
