"""Traces that the installed torch writes, of the CPU."""

from __future__ import annotations

import pytest

from rlprof.analysis.device.steps import OptimizerKind
from rlprof.analysis.device.view import TraceView, view_trace
from rlprof.tracefile.reader import read_trace

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch==2.13.0")

STEPS = 4


def trace_of_a_training(folder, **optimizer_options) -> TraceView:
    """Four steps of Adam on a small network, recorded with stacks."""
    network = torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(6)))
    optimizer = torch.optim.Adam(network.parameters(), **optimizer_options)
    path = folder / "trace.json"
    with torch.profiler.profile(with_stack=True, record_shapes=True) as profiler:
        for _ in range(STEPS):
            loss = network(torch.randn(4, 8)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()
            profiler.step()
    profiler.export_chrome_trace(str(path))
    return view_trace(read_trace(path))


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"foreach": False}, OptimizerKind.FOR_LOOP),
        ({"foreach": True}, OptimizerKind.FOREACH),
        ({"fused": True}, OptimizerKind.FUSED),
    ],
)
def test_tells_how_an_optimizer_is_written(tmp_path, options, kind):
    view = trace_of_a_training(tmp_path, **options)

    assert view.optimizer is not None
    assert (view.optimizer.name, view.optimizer.steps) == ("Adam", STEPS)
    assert view.optimizer.kind is kind


def test_a_read_of_a_tensor_on_the_cpu_is_no_wait(tmp_path):
    view = trace_of_a_training(tmp_path)

    assert any(op.name == "aten::item" for op in view.trace.ops)
    assert view.blocking.calls == ()
    assert not view.has_device
    assert view.trace.header.with_stack
    assert any(note.slug == "no-device-rows" for note in view.notes)
