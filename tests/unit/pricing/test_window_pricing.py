"""What windows of torch's profiler promise, put on the scale of the whole run."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest

from rlprof.detectors.base import Detector, InTrace
from rlprof.device.view import TraceView
from rlprof.discovery import discover_detectors
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Confidence, PricedFinding, Range
from rlprof.model.recording import SyncSite
from rlprof.model.report import Report
from rlprof.report import findings
from rlprof.report.build import build_report
from tests.factories import RunBuilder, a_run
from tests.trace_factory import TraceBuilder, a_trace


def packed(trace: TraceBuilder) -> bytes:
    return gzip.compress(trace.text().encode())


def ten_updates(*, each_us: float = 1000.0) -> TraceBuilder:
    """A kernel for a tenth of each update; for the rest the host reads and launches."""
    trace = a_trace()
    for update in range(10):
        at = update * each_us
        trace.region("Optimizer.step#Adam.step", at + 0.8 * each_us, 0.2 * each_us)
        trace.op("aten::mm", at, 0.99 * each_us).read(at + 0.2 * each_us, 0.2 * each_us)
        trace.kernel(at + 0.1 * each_us, at + 0.2 * each_us, 0.1 * each_us)
    return trace


def a_training(*, updates_per_s: float = 500.0) -> RunBuilder:
    return (
        a_run("train.py", start_up_s=2.0, steady_s=10.0)
        .process("main", steps=10_000)
        .spends(10.0, "train.py:9 update")
        .counts("updates", 10 * updates_per_s)
    )


def a_detector(
    saved_us: float,
    *,
    id_: str = "launch-bound",
    causes: tuple[IdleCause, ...] = (IdleCause.LAUNCH_BOUND, IdleCause.SYNC),
    **traits: bool,
) -> Detector:
    """One that always finds ``saved_us``, half of it for sure."""

    def detect(_view: object) -> list[DeviceFinding]:
        return [
            DeviceFinding(
                "the GPU waits",
                Range(saved_us / 2, saved_us),
                ("many short kernels",),
                "fuse",
                Confidence.BOUNDED,
                causes=causes,
                **traits,
            )
        ]

    return Detector(id_, "launches", in_trace=InTrace(detect))


@pytest.fixture
def detect_in_windows(monkeypatch):
    """Has windows looked at by the given detectors alone; samples are looked at as ever."""
    in_samples = [replace(detector, in_trace=None) for detector in discover_detectors()]

    def _detect(*detectors: Detector) -> None:
        monkeypatch.setattr(findings, "discover_detectors", lambda: (*in_samples, *detectors))

    return _detect


def of_windows(report: Report) -> list[PricedFinding]:
    return [
        finding
        for finding in (*report.findings, *report.also_seen)
        if finding.finding.detector in ("launch-bound", "gpu-sync", "gpu-starved")
    ]


def test_a_saving_counts_for_the_part_of_the_time_that_is_spent_updating(detect_in_windows):
    detect_in_windows(a_detector(4000.0))
    half = a_training(updates_per_s=500).torch_window(5.0, 5.1, trace=packed(ten_updates()))
    (found,) = of_windows(build_report(half.recording()))

    # 0.4 of each update of 1 ms (0.2 at the lower end), of which there are 500 a second.
    assert found.saved_share.low == pytest.approx(0.1, rel=0.02)
    assert found.saved_share.high == pytest.approx(0.2, rel=0.02)
    assert found.process_roles == ("main",)


def test_windows_of_one_process_widen_the_range_and_one_with_stacks_does_not(detect_in_windows):
    detect_in_windows(a_detector(4000.0))
    run = (
        a_training(updates_per_s=500)
        .torch_window(5.0, 5.1, trace=packed(ten_updates()))
        .torch_window(6.0, 6.1, trace=packed(ten_updates(each_us=2000)), kind="stacks")
    )
    (found,) = of_windows(build_report(run.recording()))

    assert found.saved_share.high == pytest.approx(0.2, rel=0.02)


def test_a_rollout_counts_for_the_rest_of_the_time(detect_in_windows):
    detect_in_windows(a_detector(5000.0))
    rollout = a_training(updates_per_s=500).torch_window(
        5.0, 5.1, trace=packed(ten_updates()), kind="rollout", updates=2
    )
    (alone,) = of_windows(build_report(rollout.recording()))
    both = rollout.torch_window(6.0, 6.1, trace=packed(ten_updates()))
    (beside,) = of_windows(build_report(both.recording()))

    # Without a window of updates nobody knows how long an update takes: it promises nothing.
    assert alone.saved_share.high == 0.0
    assert beside.saved_share.high == pytest.approx(0.5, rel=0.02)


def test_stacks_alone_promise_nothing(detect_in_windows):
    detect_in_windows(a_detector(4000.0))
    run = a_training().torch_window(5.0, 5.1, trace=packed(ten_updates()), kind="stacks")
    (found,) = of_windows(build_report(run.recording()))

    assert found.saved_share == Range(0.0, 0.0)


def ranks(number: int) -> RunBuilder:
    """Processes that train side by side, each with a window of its own at the same time."""
    run = a_run("train.py", start_up_s=2.0, steady_s=10.0)
    for _ in range(number):
        run.process("rank", steps=10_000).spends(10.0, "train.py:9 update").counts("updates", 5000)
        run.torch_window(5.0, 5.1, trace=packed(ten_updates()))
    return run


def test_ranks_that_do_the_same_have_one_finding(detect_in_windows):
    detect_in_windows(a_detector(4000.0))
    (alone,) = of_windows(build_report(ranks(1).recording()))
    (together,) = of_windows(build_report(ranks(4).recording()))

    assert together.saved_share == alone.saved_share


def test_a_wait_for_another_rank_in_its_window_is_no_finding(detect_in_windows):
    communication = a_detector(4000.0, id_="exposed-communication", causes=(), waits_for_ranks=True)
    detect_in_windows(communication)

    def ids(run: RunBuilder) -> set[str]:
        report = build_report(run.recording())
        return {finding.finding.detector for finding in (*report.findings, *report.also_seen)}

    assert "exposed-communication" in ids(ranks(1))
    assert "exposed-communication" not in ids(ranks(2))


def test_a_process_that_holds_nothing_up_sells_nothing(detect_in_windows):
    detect_in_windows(a_detector(4000.0))
    run = (
        a_training()
        .process("evaluation")
        .spends(10.0, "evaluate.py:3 wait", idle=True)
        .counts("updates", 5000)
        .torch_window(5.0, 5.1, trace=packed(ten_updates()))
    )
    report = build_report(run.recording())

    assert not [
        finding for finding in report.findings if finding.finding.detector == "launch-bound"
    ]
    assert [finding.finding.detector for finding in report.also_seen] == ["launch-bound"]


def test_no_time_is_sold_twice(detect_in_windows):
    detect_in_windows(a_detector(9000.0))
    run = (
        a_run("train.py", start_up_s=2.0, steady_s=10.0)
        .process("main", steps=10_000)
        .spends(8.0, "train.py:9 log", "omegaconf/dictconfig.py:3 __getattr__")
        .spends(2.0, "train.py:12 update")
        .counts("updates", 10_000)
        .source("train.py", "\n" * 8 + "    cfg.lr\n" + "\n" * 3)
        .torch_window(5.0, 5.1, trace=packed(ten_updates()))
    )
    report = build_report(run.recording())
    steady = [
        finding
        for finding in report.findings
        if finding.finding.confidence is not Confidence.SUSPECTED
    ]

    # The GPU waits for what the host does, and that is sold.
    assert {finding.finding.detector for finding in steady} == {"omegaconf-in-loop"}
    assert [finding.finding.detector for finding in report.also_seen] == ["launch-bound"]
    assert [finding.rank for finding in report.findings] == list(range(1, len(report.findings) + 1))


def test_lines_of_reads_are_those_that_were_counted():
    site = SyncSite(0, "train.py", "update", 3, "item", "gpu", 5000, 900_000, 20_000)
    run = (
        a_training(updates_per_s=900)
        .source("train.py", "import torch\n\nloss.item()\n")
        .torch_window(5.0, 5.1, trace=packed(ten_updates()))
        .reads(site)
    )
    report = build_report(run.recording())
    (found,) = [window for window in of_windows(report) if window.finding.detector == "gpu-sync"]
    (location,) = found.finding.locations

    assert (location.file, location.line, location.source) == ("train.py", 3, "loss.item()")
    assert any("5 000 times in the run, 180 µs each" in line for line in found.finding.evidence)


@pytest.mark.parametrize("trace", [b"", b"not a trace", gzip.compress(b"{}")])
def test_a_trace_that_cannot_be_read_costs_its_own_facts_alone(trace):
    report = build_report(a_training().torch_window(5.0, 5.1, trace=trace).recording())

    (row,) = report.torch_windows
    assert (row.ops, row.busy_share) == (0, None)
    assert row.fate == "unreadable"
    assert of_windows(report) == []


def test_kernels_per_step_are_those_of_the_updates():
    run = a_training(updates_per_s=500).torch_window(5.0, 5.1, trace=packed(ten_updates()))
    counters = dict(build_report(run.recording()).counters_per_step)

    # One a window's update, and an update for every two steps.
    assert counters["kernel_launches"] == pytest.approx(0.5)


def test_windows_that_are_most_of_a_short_run_are_not_left_out():
    long = a_training().torch_window(5.0, 5.1, trace=packed(ten_updates()))
    short = a_training().torch_window(2.0, 8.0, trace=packed(ten_updates()))

    assert [window.is_left_out for window in build_report(long.recording()).torch_windows] == [True]
    assert [window.is_left_out for window in build_report(short.recording()).torch_windows] == [
        False
    ]


def test_a_device_detector_that_fails_costs_only_its_own_findings_and_is_told_once(
    detect_in_windows,
):
    def fail(view: TraceView) -> list[DeviceFinding]:
        raise ValueError(f"a trace of {view.wall.length} µs")

    detectors = (Detector("broken", "breaks", in_trace=InTrace(fail)), a_detector(4000.0))
    detect_in_windows(*detectors)
    run = a_training()
    for at, each_us in ((5.0, 1000.0), (6.0, 1001.0)):
        run = run.torch_window(at, at + 0.1, trace=packed(ten_updates(each_us=each_us)))

    report = build_report(run.recording())

    assert [window.finding.detector for window in of_windows(report)] == ["launch-bound"]
    (note,) = [entry for entry in report.notes if entry.slug == "detector-failed"]
    assert note.level == "error"
    assert "The detector broken failed (ValueError: a trace of" in note.text
