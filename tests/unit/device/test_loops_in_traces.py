"""Loops over the items of a tensor, and over the parameters of a network."""

from __future__ import annotations

import pytest

from rlprof.detectors import python_loop_over_tensor, target_update_per_parameter
from tests.trace_factory import TraceBuilder, a_trace

GAE = [
    "aten::select",
    "aten::select",
    "aten::mul",
    "aten::add",
    "aten::select",
    "aten::sub",
    "aten::copy_",
]
POLYAK = ["aten::mul_", "aten::add_"]


def a_loop(turn: list[str], turns: int) -> TraceBuilder:
    """Ops of 10 µs, of which the GPU works for 2."""
    trace = a_trace().op("aten::mm", 0.0, 50.0).kernel(5.0, 10.0, 20.0)
    trace.python("gae.py(3): returns", 90.0, 10.0 * len(turn) * turns + 20.0)
    return trace.ops(turn * turns, 100.0)


def test_turns_and_their_idle_time(tmp_path):
    view = a_loop(GAE, turns=20).view(tmp_path)

    (finding,) = python_loop_over_tensor.DETECTOR.in_trace.detect(view)

    # 140 ops of 10 µs; a twentieth is left, and the last one is a microsecond shorter.
    assert finding.saved_us == (0.0, pytest.approx(140 * 8.0 * 19 / 20, rel=0.01))
    assert (finding.places[0].function, finding.places[0].count) == ("returns", 20)


@pytest.mark.parametrize(
    "trace",
    [
        pytest.param(a_loop(GAE, turns=9), id="few turns"),
        pytest.param(a_loop(["aten::mul", "aten::add"], turns=50), id="no items"),
        pytest.param(
            a_trace().ops(
                [op for turn in range(20) for op in ["aten::select", *["aten::mul"] * turn]], 0.0
            ),
            id="never the same twice",
        ),
    ],
)
def test_no_loop_over_a_tensor(tmp_path, trace):
    assert not [*python_loop_over_tensor.DETECTOR.in_trace.detect(trace.view(tmp_path))]


@pytest.mark.parametrize(
    "turn",
    [
        POLYAK,
        ["aten::lerp_"],
        ["aten::mul", "aten::mul", "aten::add", "aten::copy_"],
    ],
)
def test_parameters_that_are_averaged_one_by_one(tmp_path, turn):
    (finding,) = target_update_per_parameter.DETECTOR.in_trace.detect(
        a_loop(turn, turns=12).view(tmp_path)
    )

    idle = 12 * len(turn) * 8.0
    assert finding.saved_us.high == pytest.approx(idle * 11 / 12, rel=0.02)
    assert finding.evidence[0].startswith("1 updates of 12 parameters")


@pytest.mark.parametrize(
    "trace",
    [
        pytest.param(a_loop(["aten::copy_"], turns=40), id="weights that are loaded"),
        pytest.param(a_loop(POLYAK, turns=9), id="few parameters"),
        pytest.param(a_loop(["aten::_foreach_lerp_"], turns=40), id="all at once"),
        pytest.param(
            a_loop(POLYAK, turns=12).region("Optimizer.step#SGD.step", 95.0, 1000.0),
            id="an optimizer in a loop",
        ),
    ],
)
def test_no_update_by_parameter(tmp_path, trace):
    assert not [*target_update_per_parameter.DETECTOR.in_trace.detect(trace.view(tmp_path))]
