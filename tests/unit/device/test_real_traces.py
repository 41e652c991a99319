"""Real traces of NVIDIA and AMD devices, against figures made by another program."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rlprof.detectors import dataset_crosses_bus, exposed_communication
from rlprof.device.view import TraceView, view_trace
from rlprof.discovery import discover_detectors
from rlprof.model.device import IdleCause
from rlprof.model.finding import Confidence
from rlprof.pricing.traces import TraceFindings, find_in
from rlprof.report.build import build_report
from rlprof.tracefile.reader import read_trace
from tests.factories import a_run

TRACES = Path(__file__).parents[4] / "shared" / "traces"
TRUTH = TRACES / "ground_truth.json"

pytestmark = pytest.mark.skipif(
    not TRUTH.exists(),
    reason=f"the real traces are not here: {TRACES} comes with the project's facts",
)


def truths() -> dict[str, Any]:
    found = json.loads(TRUTH.read_text()) if TRUTH.exists() else {}
    return {name: truth for name, truth in found.items() if not name.startswith("_")}


NAMES = list(truths())


@cache
def view_of(name: str) -> TraceView:
    return view_trace(read_trace(TRACES / f"{name}.json.gz"))


def findings_in(name: str) -> TraceFindings:
    return find_in(view_of(name), discover_detectors())


def all_ids(name: str) -> set[str]:
    found = findings_in(name)
    return {finding.detector for finding in (*found.listed, *found.also_seen)}


def listed_ids(name: str) -> set[str]:
    return {finding.detector for finding in findings_in(name).listed}


@pytest.mark.parametrize("name", NAMES)
def test_wall_and_busy_times_are_those_of_the_ground_truth(name):
    view, truth = view_of(name), truths()[name]

    assert view.wall.length == pytest.approx(truth["wall_us"], rel=0.005)
    assert {str(timeline.id) for timeline in view.devices} == set(truth["devices"])
    for device in view.devices:
        of_device = truth["devices"][str(device.id)]
        assert device.busy_us == pytest.approx(of_device["busy_us"], rel=0.005, abs=0.01)
        assert device.span.length == pytest.approx(of_device["gpu_span_us"], rel=0.005, abs=0.01)


@pytest.mark.parametrize("name", NAMES)
def test_blocking_calls_and_copies_are_exact(name):
    view, truth = view_of(name), truths()[name]
    summary, copies = truth["sync_summary"], truth.get("memcpy", {}).values()

    assert len(view.blocking.calls) == summary["blocking_calls_excl_profiler_closing_sync"]
    assert view.blocking.wait_us == pytest.approx(summary["host_wait_us"], abs=0.01)
    assert view.blocking.recoverable_us == pytest.approx(
        summary["recoverable_upper_bound_us"], rel=0.005, abs=0.01
    )
    assert sum(transfer.count for transfer in view.transfers) == sum(
        copy["count"] for copy in copies
    )
    assert sum(transfer.bytes for transfer in view.transfers) == sum(
        copy["bytes"] for copy in copies
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_moment_of_idle_time_has_one_cause(name):
    view = view_of(name)

    for device, idle in zip(view.devices, view.idle, strict=True):
        parts = sum(idle.us(cause) for cause in IdleCause)
        assert parts + device.busy_us == pytest.approx(view.wall.length, rel=1e-6, abs=0.01)


@pytest.mark.parametrize("name", NAMES)
def test_no_price_is_above_what_could_be_gained(name):
    view, truth = view_of(name), truths()[name]
    found = findings_in(name)
    bound = truth["sync_summary"]["recoverable_upper_bound_us"]

    for finding in (*found.listed, *found.also_seen):
        if finding.detector in ("gpu-sync", "explicit-synchronize"):
            assert finding.saved_us.high <= bound + 0.01
    by_host = sum(other.saved_us.high for other in found.listed if other.is_host_side)
    by_device = sum(other.saved_us.high for other in found.listed if not other.is_host_side)
    assert by_host <= (1 - view.busy_share) * view.wall.length + 0.01
    assert by_device <= view.host_waits_us + 0.01
    assert by_host + by_device <= view.wall.length + 0.01


@pytest.mark.parametrize("name", NAMES)
def test_the_host_cannot_wait_longer_than_the_gpu_works(name):
    view = view_of(name)

    assert 0.0 <= view.host_waits_us <= view.busy_share * view.wall.length + 0.01


@pytest.mark.parametrize("name", NAMES)
def test_no_cause_of_idle_time_is_sold_twice(name):
    view, listed = view_of(name), findings_in(name).listed

    for cause in IdleCause:
        alone = [finding.saved_us.high for finding in listed if finding.causes == (cause,)]
        assert sum(alone) <= view.idle_us(cause) + 0.01


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("switchtr_a100_items_stack", "gpu-sync"),
        ("hta_diff_control_a100", "gpu-sync"),
        ("hta_cuda_event_sync", "gpu-sync"),
        ("param_dlrm_v100_adagrad_items", "gpu-sync"),
        ("tl_h100_bertsmall_stack", "gpu-sync"),
        ("tl_mi300_bertsmall_stack", "gpu-sync"),
        ("tl_h100_bertsmall_stack", "explicit-synchronize"),
        ("tl_mi300_qwen05b_stack", "explicit-synchronize"),
        ("hta_cuda_event_sync", "explicit-synchronize"),
        ("param_resnet_2080ti_train", "pageable-copy"),
        ("kineto_resnet50_v100_workers0", "pageable-copy"),
        ("hta_diff_control_a100", "tiny-copies"),
        ("param_dlrm_v100_adagrad_items", "tiny-copies"),
        ("tl_h100_bertsmall_stack", "launch-bound"),
        ("tl_mi300_bertsmall_stack", "launch-bound"),
        ("hta_step_annot_gp100_sgd", "launch-bound"),
        ("tutorial_h100_transformer_stack", "launch-bound"),
        ("tl_b200_eager_stack", "launch-bound"),
        ("hta_mi250_toy_train", "launch-bound"),
        ("kineto_resnet50_v100_workers0", "gpu-starved"),
        ("param_resnet_2080ti_train", "gpu-starved"),
        ("param_resnet_2080ti_train", "allocator-churn"),
        ("kineto_resnet50_v100_workers0", "optimizer-not-fused"),
        ("kineto_resnet50_v100_workers0", "dataloader-workers"),
        ("param_resnet_2080ti_train", "dataloader-workers"),
        ("param_resnet_2080ti_train", "dataset-crosses-bus"),
        ("hta_diff_control_a100", "dataset-crosses-bus"),
        ("switchtr_a100_items_stack", "fp32-without-tf32-or-amp"),
        ("hta_ns_resolution_v100_sgd", "fp32-without-tf32-or-amp"),
        ("hta_step_annot_gp100_sgd", "cpu-policy-faster"),
        ("tutorial_h100_transformer_stack", "cpu-policy-faster"),
        ("tl_h100_qwen05b_stack", "eager-pointwise-chains"),
        ("tl_mi300_resnet_train_ckpt_stack", "exposed-communication"),
        ("hta_diff_control_a100", "exposed-communication"),
        ("hta_sampled_rank0_shampoo", "exposed-communication"),
        ("param_dlrm_v100_adagrad_items", "exposed-communication"),
    ],
)
def test_finds(name, finding):
    assert finding in all_ids(name)


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("tl_b200_eager_stack", "gpu-sync"),
        ("hta_ns_resolution_v100_sgd", "gpu-sync"),
        ("tl_mi300_resnet_train_ckpt_stack", "gpu-sync"),
        ("tutorial_h100_transformer_stack", "explicit-synchronize"),
        ("tl_mi300_resnet_train_ckpt_stack", "explicit-synchronize"),
        ("switchtr_a100_items_stack", "explicit-synchronize"),
        ("switchtr_a100_items_stack", "blocked-with-idle-gpu"),
        ("hta_diff_control_a100", "blocked-with-idle-gpu"),
        ("hta_ns_resolution_v100_sgd", "pageable-copy"),
        ("tl_mi300_resnet_train_ckpt_stack", "pageable-copy"),
        ("hta_step_annot_gp100_sgd", "tiny-copies"),
        ("param_resnet_2080ti_train", "tiny-copies"),
        ("tl_h100_qwen05b_stack", "launch-bound"),
        ("tl_mi300_qwen05b_stack", "launch-bound"),
        ("tl_mi300_elementwise_rocprofsdk", "launch-bound"),
        ("hta_diff_control_a100", "gpu-starved"),
        ("tl_mi300_resnet_train_ckpt_stack", "gpu-starved"),
        ("hta_alexnet_a100_cuda_sync", "allocator-churn"),
        ("hta_diff_control_a100", "allocator-churn"),
        ("hta_ns_resolution_v100_sgd", "optimizer-not-fused"),
        ("hta_diff_control_a100", "optimizer-not-fused"),
        ("hta_step_annot_gp100_sgd", "optimizer-not-fused"),
        ("hta_triton_example", "graph-breaks"),
        ("hta_diff_control_a100", "dataloader-workers"),
        ("tl_mi300_resnet_train_ckpt_stack", "dataloader-workers"),
        ("kineto_resnet50_v100_workers0", "dataset-crosses-bus"),
        ("hta_ns_resolution_v100_sgd", "dataset-crosses-bus"),
        ("tl_h100_bertsmall_stack", "fp32-without-tf32-or-amp"),
        ("tl_h100_qwen05b_stack", "fp32-without-tf32-or-amp"),
        ("tutorial_h100_transformer_stack", "fp32-without-tf32-or-amp"),
        ("param_resnet_2080ti_train", "fp32-without-tf32-or-amp"),
        ("tl_mi210_gpu_only", "fp64"),
        ("hta_alexnet_a100_cuda_sync", "fp64"),
        ("hta_diff_control_a100", "fp64"),
        ("switchtr_a100_items_stack", "cpu-policy-faster"),
        ("tl_h100_qwen05b_stack", "cpu-policy-faster"),
        ("tl_mi300_qwen05b_stack", "cpu-policy-faster"),
        ("hta_triton_example", "eager-pointwise-chains"),
        ("tl_mi300_elementwise_rocprofsdk", "eager-pointwise-chains"),
        ("tl_b200_eager_stack", "exposed-communication"),
        ("kineto_resnet50_v100_workers0", "conv-search"),
        ("param_resnet_2080ti_train", "conv-search"),
        ("hta_diff_control_a100", "target-update-per-parameter"),
        ("hta_sampled_rank0_shampoo", "target-update-per-parameter"),
        ("hta_sampled_rank0_shampoo", "grads-in-rollout"),
        ("tl_mi300_resnet_train_ckpt_stack", "grads-in-rollout"),
        ("param_dlrm_v100_adagrad_items", "python-loop-over-tensor"),
    ],
)
def test_is_silent(name, finding):
    assert finding not in all_ids(name)


@pytest.mark.parametrize(
    "name",
    [
        "tl_mi300_resnet_train_ckpt_stack",
        "tl_h100_qwen05b_stack",
        "tl_mi300_qwen05b_stack",
        "tl_mi300_elementwise_rocprofsdk",
        "hta_ns_resolution_v100_sgd",
    ],
)
def test_lists_nothing_of_the_host_where_the_gpu_is_busy(name):
    assert [finding.detector for finding in findings_in(name).listed if finding.is_host_side] == []


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "finding",
    ["gradscaler-sync", "debug-modes", "rollout-round-trip", "built-on-cpu-then-moved"],
)
def test_what_none_of_them_does_is_found_in_none(name, finding):
    assert finding not in all_ids(name)


@pytest.mark.parametrize(
    ("name", "is_typical"),
    [
        ("hta_alexnet_a100_cuda_sync", False),
        ("hta_sampled_rank0_shampoo", False),
        ("tl_mi210_gpu_only", False),
        ("hta_ns_resolution_v100_sgd", True),
        ("hta_diff_control_a100", True),
    ],
)
def test_what_is_not_typical_is_only_suspected(name, is_typical):
    found = findings_in(name)

    assert view_of(name).is_typical is is_typical
    if not is_typical:
        every = (*found.listed, *found.also_seen)
        assert all(finding.confidence is Confidence.SUSPECTED for finding in every)


@pytest.mark.parametrize(
    ("name", "alone"),
    [
        ("tl_mi300_resnet_train_ckpt_stack", 0.64),
        ("hta_diff_control_a100", 0.189),
        ("hta_sampled_rank0_shampoo", 0.27),
        ("param_dlrm_v100_adagrad_items", 0.38),
    ],
)
def test_collectives_without_other_kernels_are_those_of_the_ground_truth(name, alone):
    view = view_of(name)

    (finding,) = exposed_communication.DETECTOR.in_trace.detect(view)

    assert finding.saved_us.high / view.wall.length == pytest.approx(alone, abs=0.005)


def test_all_copies_of_a_training_are_on_the_stream_of_its_kernels():
    (finding,) = dataset_crosses_bus.DETECTOR.in_trace.detect(view_of("param_resnet_2080ti_train"))

    assert finding.saved_us.high == pytest.approx(630_000, rel=0.01)


@pytest.mark.parametrize("name", ["zoology_a100_lost_kernels", "hta_no_gpu_events"])
def test_says_nothing_of_a_gpu_whose_rows_are_missing(name):
    assert all_ids(name) == set()
    assert any(note.slug in ("no-device-rows", "device-rows-lost") for note in view_of(name).notes)


@pytest.mark.parametrize("name", NAMES)
def test_as_a_window_of_a_run_it_promises_no_more_than_its_gpu_leaves_to_gain(name):
    packed = (TRACES / f"{name}.json.gz").read_bytes()
    run = (
        a_run("train.py", start_up_s=2.0, steady_s=10.0)
        .process("main", steps=1000)
        .spends(10.0, "train.py:9 update")
        .counts("updates", 1000)
        .torch_window(5.0, 5.1, trace=packed, kind="timed")
    )
    report = build_report(run.recording())
    view = view_of(name)
    of_window = [finding for finding in report.findings if finding.finding.detector != "hot-spot"]
    left = 1 - view.busy_share + view.host_waits_us / view.wall.length if view.has_device else 0

    assert sum(finding.saved_share.high for finding in of_window) <= left + 1e-9
    assert {finding.finding.detector for finding in of_window} == listed_ids(name)
