"""Operations counted from the shapes in a trace, against torch's own counter."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from rlprof.device.flops import Flops, count_flops
from rlprof.tracefile.reader import read_shapes
from tests.trace_factory import a_trace

torch = pytest.importorskip("torch", reason="torch is missing (pip install torch)")


def counted(work: Callable[[], object], folder: Path, *, shapes: bool = True) -> Flops | None:
    """By rlprof, from a trace of ``work``."""
    path = folder / "trace.json"
    with torch.profiler.profile(record_shapes=shapes) as profile:
        work()
    profile.export_chrome_trace(str(path))
    return count_flops(read_shapes(gzip.compress(path.read_bytes())))


def by_torch(work: Callable[[], object]) -> int:
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


def a_policy() -> Callable[[], object]:
    net = torch.nn.Sequential(torch.nn.Linear(17, 64), torch.nn.Tanh(), torch.nn.Linear(64, 6))
    batch = torch.ones(32, 17)
    return lambda: net(batch).square().mean().backward()


def attention() -> Callable[[], object]:
    left, right = torch.ones(4, 16, 8), torch.ones(4, 8, 16)
    return lambda: torch.baddbmm(torch.ones(4, 16, 16), left, right) @ left


def an_encoder() -> Callable[[], object]:
    """Its input needs a gradient too, as all convolutions but a network's first do."""
    net = torch.nn.Sequential(
        torch.nn.Conv2d(4, 32, 8, stride=4), torch.nn.Conv2d(32, 64, 4, stride=2, padding=1)
    )
    frames = torch.ones(8, 4, 84, 84, requires_grad=True)
    return lambda: net(frames).mean().backward()


@pytest.mark.parametrize("work", [a_policy, attention, an_encoder])
def test_counts_what_torch_counts(work, tmp_path):
    found = counted(work(), tmp_path)

    assert found is not None
    assert found.count == by_torch(work())
    assert found.precision == "fp32"


def test_half_precision_is_told(tmp_path):
    left = torch.ones(64, 64, dtype=torch.bfloat16)
    found = counted(lambda: left @ left, tmp_path)

    assert found == Flops(2.0 * 64**3, "bf16")


def test_without_shapes_nothing_is_said(tmp_path):
    assert counted(a_policy(), tmp_path, shapes=False) is None


def test_ops_of_other_shapes_than_theirs_count_nothing():
    trace = a_trace().op("aten::mm", 0.0, 5.0).op("aten::convolution", 10.0, 5.0)
    for row, shapes in zip(trace.rows, ([[2]], [[1, 2], "x"]), strict=True):
        row["args"]["Input Dims"] = shapes

    assert count_flops(read_shapes(gzip.compress(trace.text().encode()))) is None


@pytest.mark.parametrize(
    "packed", [b"", b"no gzip", gzip.compress(b"{]"), gzip.compress(b"{}")[:9]]
)
def test_a_damaged_trace_counts_nothing(packed):
    assert count_flops(read_shapes(packed)) is None
