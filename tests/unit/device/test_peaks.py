from __future__ import annotations

import pytest

from rlprof.device.peaks import find_peak, mfu


@pytest.mark.parametrize(
    ("device", "precision", "tflops"),
    [
        ("Tesla V100-SXM2-32GB", "fp16", 125),
        ("Tesla V100-DGXS-32GB", "fp32", 15.7),
        ("Tesla V100-PCIE-16GB", "fp16", 112),
        ("NVIDIA A100-SXM4-40GB", "tf32", 156),
        ("NVIDIA A100 80GB PCIe", "bf16", 312),
        ("NVIDIA H100 80GB HBM3", "bf16", 989.4),
        ("NVIDIA H100 PCIe", "bf16", 756),
        ("NVIDIA H200", "fp32", 66.9),
        ("NVIDIA L4", "fp16", 121),
        ("NVIDIA L40S", "bf16", 362),
        ("NVIDIA A10", "tf32", 62.5),
        ("Tesla T4", "fp16", 65),
        ("NVIDIA GeForce RTX 3090", "bf16", 71),
        ("NVIDIA GeForce RTX 4090", "fp16", 165.2),
        ("AMD Instinct MI210", "fp32", 45.3),
        ("AMD Instinct MI250X", "bf16", 191.5),
        ("AMD Instinct MI300X", "tf32", 653.7),
    ],
)
def test_half_of_the_peak_is_half(device, precision, tflops):
    assert mfu(tflops * 1e12 / 2, device, precision) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "device",
    ["", "NVIDIA A10G", "NVIDIA L40", "NVIDIA H200 NVL", "NVIDIA A100-PG509-200", "Quadro GP100"],
)
def test_kin_of_a_known_device_are_not_taken_for_it(device):
    assert find_peak(device) is None
    assert mfu(1e12, device, "fp32") is None


@pytest.mark.parametrize(
    ("device", "precision"),
    [("Tesla V100-SXM2-32GB", "tf32"), ("Tesla T4", "bf16"), ("AMD Instinct MI210", "tf32")],
)
def test_a_precision_without_units_for_it_has_no_peak(device, precision):
    assert mfu(1e12, device, precision) is None
