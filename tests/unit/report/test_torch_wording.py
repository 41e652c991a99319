"""What reports say of torch."""

from __future__ import annotations

from rlprof.model.report import Compute, SyncSiteRow, TorchWindowRow
from rlprof.report.wording import unglued
from rlprof.report.wording.run import torch_lines
from tests.report_factories import a_report, a_sync_site, a_torch_window


def lines(*windows: TorchWindowRow, sites: tuple[SyncSiteRow, ...] = ()) -> dict[str, str]:
    report = a_report(seen={"torch_windows": windows, "sync_sites": sites})
    return {name: unglued(text) for name, text in torch_lines(report)}


def test_without_torch_there_is_no_line():
    assert lines() == {}


def test_windows_tell_what_they_cost_and_what_an_update_is_made_of():
    text = lines(a_torch_window(), a_torch_window(kind="stacks", cost_s=0.08))["torch"]

    assert text == (
        "2 windows of its profiler, 100 ms, left out of every figure; "
        "303 ops per update with Adam (for-loop)"
    )


def test_on_a_gpu_they_tell_how_busy_it_was_and_stacks_do_not_count():
    windows = (
        a_torch_window(busy_share=0.25, launches=1200),
        a_torch_window(kind="stacks", busy_share=0.1, launches=1200),
        a_torch_window(kind="rollout", busy_share=0.07, updates=2),
    )
    text = lines(*windows)["torch"]

    assert "303 ops and 120 kernels per update" in text
    assert "GPU busy for 7.0 % to 25 % of them" in text


def test_in_a_short_run_they_are_in_the_figures_and_that_is_told():
    text = lines(a_torch_window(is_left_out=False))["torch"]

    assert "in the figures, for the run is short: its own pace is higher" in text


def test_what_was_computed_is_set_against_what_the_gpu_can_do():
    compute = Compute(1.2e9, 36e9, "bf16", "NVIDIA H200", 36e9 / 989.4e12)
    report = a_report(seen={"compute": compute})

    assert unglued(dict(torch_lines(report))["Compute"]) == (
        "1.2 GFLOP per update, 36 GFLOP/s on average: 0.0 % of what NVIDIA H200 can do in bf16"
    )


def test_a_window_that_came_to_nothing_says_why():
    text = lines(a_torch_window(fate="given-up", ops=0, updates=0))["torch"]

    assert "given up: the program started a profiler of its own" in text


def test_reads_on_the_cpu_are_told_as_free():
    text = lines(sites=(a_sync_site(), a_sync_site(line=15, method="__bool__", per_step=0.5)))[
        "Reads"
    ]

    assert text == (
        "free on the CPU; each would wait if its tensor were on a GPU: train.py:11 item (1 per step), "
        "train.py:15 __bool__ (0.5 per step)"
    )


def test_waits_for_a_gpu_come_with_their_time_and_no_promise():
    site = a_sync_site(device="gpu", wait_s=1.5, bytes=64_000)
    told = lines(sites=(site, a_sync_site(line=20)))

    assert "Reads" not in told
    assert told["GPU waits"] == (
        "train.py:11 item (1 per step, 1.5 s in all); what of it can be saved is in the findings"
    )


def test_reads_now_and_then_are_not_worth_a_line():
    assert lines(sites=(a_sync_site(per_step=0.0001),)) == {}
