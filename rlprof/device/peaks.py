"""Tell what GPUs can do at most, by their makers' data sheets, and how much of it was done.

Rates are dense: where a sheet counts with structured sparsity, half of it. The sources are, by row:
NVIDIA's data sheets of V100 (2020), A100 (2021), H100 (2022), H200 (2024), L4 (2023), L40S (2023),
A10 (2021) and T4 (2019); the appendices of the GA102 (RTX 3090) and Ada (RTX 4090) white papers;
AMD's data sheets of MI210 and MI250X (2022) and MI300X (2023).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

Precision = Literal["fp32", "tf32", "bf16", "fp16"]


Peak = Mapping[Precision, float]
"""FLOP/s at the highest clock, of multiplications of matrices, sums kept in fp32; what the device cannot do
is left out."""


def _peak(*, fp32: float, tf32: float = 0, bf16: float = 0, fp16: float) -> Peak:
    """Rates in TFLOP/s; 0 for what the device has no units for."""
    rates: dict[Precision, float] = {"fp32": fp32, "tf32": tf32, "bf16": bf16, "fp16": fp16}
    return {name: rate * 1e12 for name, rate in rates.items() if rate}


# NVIDIA's fp32 is that of its CUDA cores, AMD's that of its matrix cores: what a matrix product gets.
_PEAKS: Final = (
    (r"Tesla V100-(SXM2|DGXS)-\d+GB", _peak(fp32=15.7, fp16=125)),
    (r"Tesla V100-PCIE-\d+GB", _peak(fp32=14, fp16=112)),
    (r"NVIDIA A100-(SXM4|PCIE)-40GB", _peak(fp32=19.5, tf32=156, bf16=312, fp16=312)),
    (r"NVIDIA A100-SXM4-80GB", _peak(fp32=19.5, tf32=156, bf16=312, fp16=312)),
    (r"NVIDIA A100 80GB PCIe", _peak(fp32=19.5, tf32=156, bf16=312, fp16=312)),
    (r"NVIDIA H100 80GB HBM3", _peak(fp32=66.9, tf32=494.7, bf16=989.4, fp16=989.4)),
    (r"NVIDIA H100 PCIe", _peak(fp32=51, tf32=378, bf16=756, fp16=756)),
    (r"NVIDIA H200", _peak(fp32=66.9, tf32=494.7, bf16=989.4, fp16=989.4)),
    (r"NVIDIA L4", _peak(fp32=30.3, tf32=60, bf16=121, fp16=121)),
    (r"NVIDIA L40S", _peak(fp32=91.6, tf32=183, bf16=362, fp16=362)),
    (r"NVIDIA A10", _peak(fp32=31.2, tf32=62.5, bf16=125, fp16=125)),
    (r"Tesla T4", _peak(fp32=8.1, fp16=65)),
    (r"NVIDIA GeForce RTX 3090", _peak(fp32=35.6, tf32=35.6, bf16=71, fp16=71)),
    (r"NVIDIA GeForce RTX 4090", _peak(fp32=82.6, tf32=82.6, bf16=165.2, fp16=165.2)),
    (r"AMD Instinct MI210", _peak(fp32=45.3, bf16=181, fp16=181)),
    # A board is two devices, and the sheet is of the board.
    (r"AMD Instinct MI250X", _peak(fp32=47.9, bf16=191.5, fp16=191.5)),
    (r"AMD Instinct MI300X", _peak(fp32=163.4, tf32=653.7, bf16=1307.4, fp16=1307.4)),
)
"""By the whole name that the driver and torch give the device: its kin are often cut down."""


def find_peak(device: str) -> Peak | None:
    """None where the device is not known."""
    return next((peak for name, peak in _PEAKS if re.fullmatch(name, device.strip())), None)


def mfu(flops_per_s: float, device: str, precision: Precision) -> float | None:
    """Model FLOPs utilisation: the part of the peak of ``device`` that was reached, 0 to 1.

    None where the device is not known or has no units for ``precision``.
    """
    peak = find_peak(device)
    most = peak.get(precision) if peak is not None else None
    return flops_per_s / most if most else None
