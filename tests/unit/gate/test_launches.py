"""Launches of kernels told from windows of torch's profiler, and what to say where they cannot be."""

from __future__ import annotations

import gzip
from functools import partial
from pathlib import Path

import pytest

from rlprof.errors import MeasureError
from rlprof.gate.measured_run import launches_of
from tests.factories import RunBuilder, a_run
from tests.trace_factory import TraceBuilder, a_trace

UPDATE_US = 1000.0

TRACES = Path(__file__).parents[4] / "shared" / "traces"


def updates(number: int, *, launches: int = 3, more_after: int = 0) -> TraceBuilder:
    """``more_after``: launches of an update that the window does not see the end of."""
    trace = a_trace()
    for update in range(number):
        at = update * UPDATE_US
        for kernel in range(launches):
            trace.kernel(at + 20.0 * kernel, at + 20.0 * kernel + 5.0, 2.0)
        trace.region("Optimizer.step#Adam.step", at + 900.0, 50.0)
    for kernel in range(more_after):
        at = number * UPDATE_US + 20.0 * kernel
        trace.kernel(at, at + 5.0, 2.0)
    return trace.op("aten::mm", 0.0, number * UPDATE_US)


def packed(trace: TraceBuilder) -> bytes:
    return gzip.compress(trace.text().encode())


def a_learner(number: float = 5000) -> RunBuilder:
    return a_run("train.py", steady_s=10.0).process("main", steps=10_000).counts("updates", number)


def launches(run: RunBuilder) -> float:
    return launches_of(run.recording(), "head")


def why_not(run: RunBuilder) -> str:
    with pytest.raises(MeasureError) as error:
        launches(run)
    assert error.value.slug == "launches-unseen"
    return error.value.message


def test_all_updates_launch_what_those_of_the_window_do():
    assert launches(a_learner().torch_window(1, 1.1, trace=packed(updates(10)))) == 15_000


def test_the_first_window_counts_alone_since_the_others_begin_by_the_clock():
    run = a_learner().torch_window(1, 1.1, trace=packed(updates(10)))
    run.torch_window(2, 2.1, trace=packed(updates(10, launches=7)), kind="stacks")

    assert launches(run) == 15_000


@pytest.mark.parametrize("more_after", [1, 3])
def test_an_update_that_the_window_cuts_off_is_left_out(more_after):
    trace = packed(updates(4, more_after=more_after))

    assert launches(a_learner().torch_window(1, 1.5, trace=trace, updates=4)) == 15_000


def test_optimizers_that_leave_no_mark_are_told_by_the_count_of_updates():
    trace = a_trace().ops(["aten::mm"] * 20, 0.0)

    assert launches(a_learner().torch_window(1, 1.1, trace=packed(trace), updates=10)) == 10_000


def test_each_process_has_its_own_window():
    run = a_learner(1000).torch_window(1, 1.1, trace=packed(updates(10)))
    run.process("actor").counts("updates", 200)
    run.torch_window(1, 1.1, trace=packed(updates(10, launches=5)))

    assert launches(run) == 1000 * 3 + 200 * 5


def test_a_process_that_makes_few_updates_needs_no_window():
    run = a_learner(9901).torch_window(1, 1.1, trace=packed(updates(10)))
    run.process("evaluation").counts("updates", 99)

    assert launches(run) == 9901 * 3


def test_one_that_makes_more_than_one_in_a_hundred_needs_one():
    run = a_learner(9899).torch_window(1, 1.1, trace=packed(updates(10)))
    run.process("actor").counts("updates", 101)

    assert why_not(run).endswith("not all of its processes had a window of torch's profiler")


def test_without_a_gpu_it_says_so():
    trace = a_trace()
    for update in range(10):
        at = update * UPDATE_US
        trace.op("aten::mm", at, 800.0).region("Optimizer.step#Adam.step", at + 900.0, 50.0)
    run = a_learner().torch_window(1, 1.1, trace=packed(trace))

    assert "used no GPU" in why_not(run)


def test_without_updates_it_says_so():
    run = a_run("train.py", steady_s=10.0).process("main", steps=10_000)
    run.torch_window(1, 1.1, trace=packed(updates(10)), kind="timed", updates=0)

    assert "made no optimizer steps" in why_not(run)


@pytest.mark.parametrize(
    ("fate", "why"),
    [
        ("given-up", "a profiler of its own was on"),
        ("failed", "could not be taken or written"),
        ("lost", "ended before the profiler did"),
        ("written", "not all of its processes"),
    ],
)
def test_a_window_without_a_trace_says_why(fate, why):
    assert why in why_not(a_learner().torch_window(1, 1.1, fate=fate))


@pytest.mark.skipif(
    not TRACES.exists(),
    reason=f"the real traces are not here: {TRACES} comes with the project's facts",
)
@pytest.mark.parametrize(
    ("name", "steps", "launches_of_all"),
    [
        ("kineto_resnet50_v100_workers0", 6, 6 * 1462),
        ("hta_ns_resolution_v100_sgd", 5, 5 * 870),
        ("tl_mi300_resnet_train_ckpt_stack", 3, 3 * 746),
        # Torch sets things up in the first of thirty.
        ("param_resnet_2080ti_train", 30, 318 + 29 * 321),
    ],
)
def test_real_traces_of_gpus(name, steps, launches_of_all):
    trace = (TRACES / f"{name}.json.gz").read_bytes()
    run = a_learner(steps).torch_window(1, 1.1, trace=trace, updates=steps)

    assert launches(run) == pytest.approx(launches_of_all)


@pytest.fixture
def per_step(counted):
    """Of a learner that used a GPU, as the gate reads its run file."""
    run = a_learner().torch_window(1, 1.1, trace=packed(updates(10)))
    return partial(counted, run)


def test_launches_are_per_step_of_the_run(per_step):
    # Three an update, and an update for every two steps.
    assert per_step(asked=("kernel_launches",))["kernel_launches"] == 1.5


def test_nobody_reads_traces_unless_launches_are_asked_for(per_step):
    assert "kernel_launches" not in per_step()
