from __future__ import annotations

import pytest

from rlprof.detectors.fp32_without_tf32_or_amp import DETECTOR
from rlprof.pricing.traces import find_in
from tests.trace_factory import TraceBuilder, a_trace

SGEMM = "ampere_sgemm_128x64_tn"


def a_learner(
    *, kernel: str = SGEMM, busy_us: float = 800.0, waits_us: float = 700.0
) -> TraceBuilder:
    """A millisecond in which the host launches one product and then waits for it."""
    trace = a_trace().on("NVIDIA A100", 8).op("aten::addmm", 0.0, 200.0)
    trace.kernel(10.0, 20.0, busy_us, name=kernel)
    return trace.read(250.0, waits_us).op("aten::add", 990.0, 10.0)


def test_three_quarters_of_the_products_time_can_go(tmp_path):
    view = a_learner().view(tmp_path)

    (finding,) = DETECTOR.in_trace.detect(view)

    assert finding.saved_us == (0.0, pytest.approx(600.0))
    assert "set_float32_matmul_precision" in finding.fix
    assert not finding.is_host_side


def test_saves_no_more_than_the_host_waits_for_the_gpu(tmp_path):
    view = a_learner(waits_us=100.0).view(tmp_path)

    (finding,) = find_in(view, [DETECTOR]).listed

    assert finding.saved_us.high == pytest.approx(100.0)


def test_volta_is_told_of_half_precision_as_it_has_no_tf32(tmp_path):
    (finding,) = DETECTOR.in_trace.detect(a_learner().on("Tesla V100", 7).view(tmp_path))

    assert "float16" in finding.fix
    assert "set_float32_matmul_precision" not in finding.fix


@pytest.mark.parametrize(
    "kernel",
    [
        "ampere_fp16_s1688gemm_fp32_128x128_ldg8_f2f_stages_32x1_tn",
        "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x64",
        "cutlass_80_tensorop_s16816gemm_bf16_64x64",
        "void implicit_convolve_sgemm<__half, __half, 128, 5, 5, 3, 3, 3, 1, false>",
        "void gemmk1_kernel<int, float, 256, 5, false, cublasGemvTensorStridedBatched<float const>>",
    ],
)
def test_is_silent_about_tensor_cores_and_products_with_vectors(tmp_path, kernel):
    assert not [*DETECTOR.in_trace.detect(a_learner(kernel=kernel).view(tmp_path))]


@pytest.mark.parametrize(
    "trace",
    [
        pytest.param(a_learner(busy_us=490.0), id="a GPU that mostly waits"),
        pytest.param(a_learner().on("GP100", 6), id="a GPU without tensor cores"),
        pytest.param(a_learner().on("unknown", 0), id="a GPU that is not told"),
        pytest.param(
            a_learner().call("hipLaunchKernel", 995.0, 1.0).on("AMD Instinct", 9), id="an AMD GPU"
        ),
    ],
)
def test_is_silent_where_the_fix_gains_nothing(tmp_path, trace):
    assert not [*DETECTOR.in_trace.detect(trace.view(tmp_path))]
