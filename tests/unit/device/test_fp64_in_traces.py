from __future__ import annotations

import pytest

from rlprof.detectors.fp64 import DETECTOR
from tests.trace_factory import TraceBuilder, a_trace

DOUBLES = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<double> >"
FLOATS = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >"


def a_training(*, doubles_us: float, name: str = DOUBLES) -> TraceBuilder:
    """A millisecond of kernels, of which ``doubles_us`` are on doubles."""
    trace = a_trace().python("train.py(12): normalize", 0.0, 60.0)
    trace.op("aten::add", 5.0, 20.0).kernel(10.0, 100.0, doubles_us, name=name)
    return trace.op("aten::add", 70.0, 20.0).kernel(75.0, 200.0, 1000.0 - doubles_us, name=FLOATS)


def test_names_where_doubles_are_computed_with(tmp_path):
    (finding,) = DETECTOR.in_trace.detect(a_training(doubles_us=50.0).view(tmp_path))

    assert (finding.places[0].function, finding.places[0].op) == ("normalize", "aten::add")
    assert finding.saved_us.high == pytest.approx(50.0 * 63 / 64)
    assert "5.0 %" in finding.evidence[0]


def test_is_silent_just_under_its_threshold(tmp_path):
    assert not [*DETECTOR.in_trace.detect(a_training(doubles_us=19.0).view(tmp_path))]


@pytest.mark.parametrize(
    "name",
    [
        "normal_kernel<at::CUDAGeneratorImpl*>(const at::TensorBase&, double, double, at::CUDAGeneratorImpl*)",
        "nan_to_num_kernel_cuda(at::TensorIteratorBase&, c10::optional<double>)::{lambda(float)#1}",
        "multi_tensor_apply_kernel<TensorListMetadata<4>, FusedAdamFunctor<float>, float*, double, double>",
    ],
)
def test_scalars_are_doubles_in_kernels_of_any_precision(tmp_path, name):
    assert not [*DETECTOR.in_trace.detect(a_training(doubles_us=500.0, name=name).view(tmp_path))]
