"""What a report shows of the windows of torch's profiler."""

from __future__ import annotations

import gzip

import pytest

from rlprof.model.recording import SyncSite
from rlprof.model.report import Report, TorchWindowRow
from rlprof.report.build import build_report
from rlprof.report.torch_facts import MOST_SITES
from tests.factories import a_run
from tests.trace_factory import TraceBuilder, a_trace


def the_report(trace: TraceBuilder) -> Report:
    run = (
        a_run()
        .process(steps=1000)
        .spends(10, "train.py:12 step")
        .torch_window(5.0, 5.1, trace=gzip.compress(trace.text().encode()))
    )
    return build_report(run.recording())


def the_window(trace: TraceBuilder) -> TorchWindowRow:
    (row,) = the_report(trace).torch_windows
    return row


@pytest.mark.parametrize("is_on_gpu", [True, False])
def test_a_window_on_cuda_has_slowed_what_came_after_it_and_the_report_says_so(is_on_gpu: bool):
    trace = a_trace().op("aten::mm", 0.0, 50.0)
    if is_on_gpu:
        trace.kernel(1.0, 5.0, 40.0)

    notes = {note.slug for note in the_report(trace).notes}

    assert ("torch-windows-slowed-cuda" in notes) is is_on_gpu


def test_busy_and_idle_time_of_the_gpu_add_up_to_the_window():
    row = the_window(
        a_trace()
        .ops(["aten::mm"] * 20, 0.0)
        .read(200.0, 100.0)
        .kernel(310.0, 320.0, 80.0)
        .region("enumerate(DataLoader)#next", 400.0, 100.0)
    )

    assert row.busy_share is not None
    assert row.busy_share + sum(share for _, share in row.idle) == pytest.approx(1)
    assert {"data", "launch_bound"} <= {cause for cause, _ in row.idle}
    assert dict(row.idle)["data"] == pytest.approx(100 / row.wall_s / 1e6)


def test_the_heaviest_operations_are_those_that_the_program_calls():
    row = the_window(
        a_trace()
        .op("aten::linear", 0.0, 50.0)
        .op("aten::addmm", 10.0, 30.0)
        .op("aten::add", 60.0, 8.0)
        .op("aten::add", 70.0, 9.0)
        .kernel(1.0, 5.0, 40.0, "gemm")
        .kernel(61.0, 64.0, 2.0, "add_kernel")
        .kernel(71.0, 75.0, 2.0, "add_kernel")
    )

    assert [(operator.name, operator.calls) for operator in row.top_ops] == [
        ("aten::linear", 1),
        ("aten::add", 2),
    ]
    assert [operator.time_s for operator in row.top_ops] == pytest.approx([50e-6, 17e-6])
    assert [tuple(kernel) for kernel in row.top_kernels] == [
        ("gemm", 1, pytest.approx(40e-6)),
        ("add_kernel", 2, pytest.approx(4e-6)),
    ]


def test_a_window_without_a_gpu_has_operations_and_no_idle_gpu():
    row = the_window(a_trace().op("aten::linear", 0.0, 50.0))

    assert row.busy_share is None
    assert row.idle == ()
    assert row.top_kernels == ()
    assert [operator.name for operator in row.top_ops] == ["aten::linear"]


def test_lives_are_as_long_as_they_were_and_all_else_is_on_a_clock_without_the_windows():
    run = a_run(start_up_s=0, steady_s=20).process(steps=1000).spends(20, "train.py:12 step")
    report = build_report(run.torch_window(5.1, 5.2).torch_window(18.1, 18.3).recording())

    assert report.run.wall_us == 20_000_000
    assert [row.wall_s for row in report.processes] == [20.0]
    assert report.phases[-1].end_us == report.run.wall_us - report.left_out_us == 19_000_000
    assert [row.begun_s for row in report.torch_windows] == [5.0, 17.5]
    assert [row.at_pace_us for row in report.processes] == [(0, 19_000_000)]


def test_places_of_many_processes_take_no_room_from_others():
    run = a_run(start_up_s=0, steady_s=10).process(steps=1000).spends(10, "train.py:12 step")
    for _ in range(MOST_SITES + 5):
        run.process("worker")
    many = [
        SyncSite(n, "act.py", "act", 3, "item", "cpu", 100, 0, 0) for n in range(MOST_SITES + 5)
    ]
    other = SyncSite(0, "learn.py", "learn", 8, "item", "cpu", 5, 0, 0)

    rows = build_report(run.reads(*many, other).recording()).sync_sites

    assert sum(row.file == "act.py" for row in rows) == len(many)
    assert rows[-1].file == "learn.py"
