"""What a GPU is told to wait for while the host is between two ops of torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlprof.device.idle import LONG_GAP_US
from rlprof.model.device import IdleCause
from tests.trace_factory import TraceBuilder, a_trace

GAP_US = 2 * LONG_GAP_US


def a_gap_between_ops() -> TraceBuilder:
    trace = a_trace().op("aten::mm", 0.0, 20.0).kernel(5.0, 10.0, 10.0)
    return trace.op("aten::mm", 20.0 + GAP_US, 20.0).kernel(25.0 + GAP_US, 30.0 + GAP_US, 10.0)


def test_the_program_where_nothing_of_torch_goes_on(tmp_path: Path):
    view = a_gap_between_ops().view(tmp_path)

    assert view.idle_us(IdleCause.DATA) == pytest.approx(GAP_US, rel=0.05)


@pytest.mark.parametrize(
    "region", ["Optimizer.step#Adam.step", "Optimizer.zero_grad#Adam.zero_grad"]
)
def test_launches_where_torchs_own_optimizer_is_between_two_ops(region: str, tmp_path: Path):
    view = a_gap_between_ops().region(region, 10.0, GAP_US + 20.0).view(tmp_path)

    assert view.idle_us(IdleCause.DATA) == 0
    assert view.idle_us(IdleCause.LAUNCH_BOUND) == pytest.approx(GAP_US, rel=0.05)


def test_the_program_where_the_optimizer_calls_a_closure(tmp_path: Path):
    trace = a_gap_between_ops().region("Optimizer.step#LBFGS.step", 10.0, GAP_US + 40.0)
    trace.op("autograd::engine::evaluate_function: MmBackward0", 25.0 + GAP_US, 5.0)

    assert trace.view(tmp_path).idle_us(IdleCause.DATA) == pytest.approx(GAP_US, rel=0.05)
