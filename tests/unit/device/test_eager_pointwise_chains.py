from __future__ import annotations

import pytest

from rlprof.detectors.eager_pointwise_chains import DETECTOR
from tests.trace_factory import TraceBuilder, a_trace

CHAIN = ["add", "mul", "tanh", "sub", "clamp"]


def an_update(kinds: list[str], *, gap_us: float = 0.0, each_us: float = 50.0) -> TraceBuilder:
    """A product, a chain of elementwise kernels, and a product again."""
    trace = a_trace()
    names = ["gemm", *(f"vectorized_elementwise_kernel<{kind}>" for kind in kinds), "gemm"]
    for number, name in enumerate(names):
        at = number * (each_us + gap_us)
        trace.op("aten::op", at, each_us).kernel(at + 1.0, at + 5.0, each_us, name=name)
    return trace


def test_a_chain_is_worth_all_but_one_link(tmp_path):
    (finding,) = DETECTOR.in_trace.detect(an_update(CHAIN).view(tmp_path))

    assert finding.saved_us == (0.0, pytest.approx(5 * 50.0 * 4 / 5))
    assert not finding.is_host_side


@pytest.mark.parametrize(
    "trace",
    [
        pytest.param(an_update(CHAIN[:4]), id="a short chain"),
        pytest.param(an_update(["add"] * 10), id="the same kernel on many tensors"),
        pytest.param(an_update(CHAIN, gap_us=100.0), id="a GPU that waits for launches"),
        pytest.param(an_update([f"{kind}<double>" for kind in CHAIN]), id="doubles"),
    ],
)
def test_is_silent(tmp_path, trace):
    assert not [*DETECTOR.in_trace.detect(trace.view(tmp_path))]
