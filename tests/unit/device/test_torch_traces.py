"""Traces that the installed torch writes, of the CPU."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest

from rlprof.detectors import (
    debug_modes,
    grads_in_rollout,
    python_loop_over_tensor,
    target_update_per_parameter,
)
from rlprof.device.steps import OptimizerKind
from rlprof.device.view import TraceView, view_trace
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


def trace_of(folder, program: Callable[[], object]) -> TraceView:
    path = folder / "trace.json"
    with torch.profiler.profile(with_stack=True) as profiler:
        program()
    profiler.export_chrome_trace(str(path))
    return view_trace(read_trace(path))


def a_network() -> torch.nn.Module:
    return torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(6)))


@pytest.mark.parametrize("keeps_grads", [True, False])
def test_tells_graphs_that_no_backward_pass_uses(tmp_path, keeps_grads):
    network = a_network()

    def collect_and_learn():
        with torch.set_grad_enabled(keeps_grads):
            for _ in range(8):
                network(torch.zeros(4, 8))
        network(torch.ones(4, 8)).sum().backward()

    found = [*grads_in_rollout.DETECTOR.in_trace.detect(trace_of(tmp_path, collect_and_learn))]

    assert len(found) == keeps_grads
    if found:
        assert found[0].places[0].function == "collect_and_learn"


@pytest.mark.parametrize("in_a_loop", [True, False])
def test_tells_a_loop_over_a_tensor(tmp_path, in_a_loop):
    rewards, advantages = torch.ones(40, 4), torch.zeros(40, 4)

    def returns():
        last = torch.zeros(4)
        for t in reversed(range(40)):
            last = rewards[t] + 0.99 * last
            advantages[t] = last

    view = trace_of(tmp_path, returns if in_a_loop else lambda: rewards.cumsum(0))
    found = [*python_loop_over_tensor.DETECTOR.in_trace.detect(view)]

    assert [(finding.places[0].function, finding.places[0].count) for finding in found] == (
        [("returns", 40)] if in_a_loop else []
    )


@pytest.mark.parametrize("by_parameter", [True, False])
def test_tells_averages_by_parameter(tmp_path, by_parameter):
    targets, sources = ([*a_network().parameters()] for _ in range(2))

    @torch.no_grad()
    def follow():
        if by_parameter:
            for target, source in zip(targets, sources, strict=True):
                target.data.mul_(0.995).add_(source.data, alpha=0.005)
        else:
            torch._foreach_lerp_(targets, sources, 0.005)

    def follow_often():
        # More than the profiler's own start takes.
        for _ in range(20):
            follow()

    view = trace_of(tmp_path, follow_often)
    found = [*target_update_per_parameter.DETECTOR.in_trace.detect(view)]

    assert [finding.places[0].count for finding in found] == ([20 * 12] if by_parameter else [])


@pytest.mark.parametrize("is_on", [True, False])
def test_tells_anomaly_mode(tmp_path, is_on):
    network = a_network()

    def learn():
        with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(is_on):
            network(torch.ones(4, 8)).sum().backward()

    assert len([*debug_modes.DETECTOR.in_trace.detect(trace_of(tmp_path, learn))]) == is_on
