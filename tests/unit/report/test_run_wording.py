"""How a run went, in words."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from rlprof.model.activity import Component
from rlprof.model.memory import GrownLine, MemoryTrend, MemoryView, ProcessMemory
from rlprof.model.profile import Interval, Throughput
from rlprof.model.report import Compute, Resources, SyncSiteRow, TorchWindowRow, WaitRow
from rlprof.report.wording import unglued
from rlprof.report.wording.of_torch import torch_lines
from rlprof.report.wording.run import (
    LEAST_PART,
    about_the_parts,
    marked_phases,
    parts_of_the_time,
    run_facts,
    samples_per_second,
    spread,
    wait_lines,
)
from tests.report_factories import a_process, a_report, a_sync_site, a_torch_window

MIB = 1 << 20


def parts(*rows: Component) -> list[tuple[str, float]]:
    shown = parts_of_the_time(a_report(seen={"components": rows}))
    return [(row.name, round(row.share, 6)) for row in shown]


def a_part(share: float, name: str = "") -> Component:
    return Component(name or f"part {share}", share, 100.0, 1, 10.0, priced_share=share)


def test_all_of_the_time_is_told_what_is_little_together():
    little = LEAST_PART / 2

    assert parts(a_part(0.6), a_part(0.4 - 2 * little), a_part(little), a_part(little)) == [
        ("part 0.6", 0.6),
        ("part 0.395", 0.395),
        ("other", 0.005),
    ]
    assert parts(a_part(0.6), a_part(little), a_part(0.4 - little, "other")) == [
        ("part 0.6", 0.6),
        ("other", 0.4),
    ]
    assert parts(a_part(1.0), a_part(0.0)) == []


def test_phases_that_the_program_marks_are_no_part_of_the_sum():
    rows = (replace(a_part(0.7, "rollout"), is_marked=True), a_part(0.6), a_part(0.4))

    assert parts(*rows) == [("part 0.6", 0.6), ("part 0.4", 0.4)]
    report = a_report(seen={"components": rows})
    assert [row.name for row in marked_phases(report)] == ["rollout"]


def test_waits_for_a_core_are_told_with_what_prices_count():
    def about(queued: float, *, saturated: bool = False) -> str:
        rows = (replace(a_part(1 - queued), priced_share=1.0), a_part(queued, "waiting for a core"))
        resources = Resources(2, 2.0, 1.0, 0.0, saturated, ())
        return about_the_parts(a_report(seen={"components": rows, "resources": resources}))

    assert about(0.04) == ""
    assert about(0.4) == "Findings and prices count a part with its wait for a core."
    assert about(0.4, saturated=True).startswith("The cores are full")


def facts(**seen: Any) -> dict[str, str]:
    return {name: unglued(text) for name, text in run_facts(a_report(seen=seen))}


def test_cores_that_no_role_used_leave_no_brackets():
    def cpu(*by_role: tuple[str, int, float]) -> str:
        return facts(resources=Resources(2, 0.04, 0.0, 0.0, False, by_role))["CPU"]

    assert cpu(("main", 1, 0.04)) == "0.0 of 2 cores while steady"
    assert cpu(("main", 1, 0.06)) == "0.0 of 2 cores while steady (main 0.1)"


def test_what_two_clocks_differ_by_is_no_thread_without_python():
    def cpu(native: float) -> str:
        return facts(resources=Resources(2, 1.0, 0.0, native, False, (("main", 1, 1.0),)))["CPU"]

    assert "no Python" not in cpu(0.06)
    assert cpu(0.2).endswith("0.2 cores by threads that run no Python")


def test_memory_says_how_shared_pages_are_counted():
    def memory(*peaks_mib: int, is_shared_out: bool) -> str:
        rows = tuple(
            ProcessMemory(number, "worker", peak_mib * MIB, None, None)
            for number, peak_mib in enumerate(peaks_mib)
        )
        view = MemoryView(400 * MIB, is_shared_out, rows, None)
        processes = [a_process(1000 + number, "worker") for number in range(len(rows))]
        report = a_report(processes=processes, seen={"memory": view})
        return unglued(dict(run_facts(report))["Memory"])

    assert memory(300, 200, is_shared_out=True) == (
        "peak 400.0 MiB (shared pages once); largest (shared pages in each): worker 1000 300.0 MiB, "
        "worker 1001 200.0 MiB"
    )
    assert memory(300, 200, is_shared_out=False).startswith(
        "peak at most 400.0 MiB; largest: worker"
    )
    assert memory(400, is_shared_out=True) == "peak 400.0 MiB"


def test_lines_where_memory_grew_are_those_that_did_not_just_run():
    def a_line(number: int, growth: float, time: float) -> GrownLine:
        return GrownLine("train.py", number, "collect", "", 1_000, growth, time)

    lines = (a_line(3, 0.6, 0.6), a_line(5, 0.3, 0.05), a_line(7, 0.1, 0.35))
    trend = MemoryTrend(3_600.0 * MIB, 0.0, 0.0, 0.0, is_steady=True)

    def told(is_growing: bool) -> str:
        view = MemoryView(400 * MIB, True, (), trend, is_growing=is_growing, lines=lines)
        return facts(memory=view)["Memory"]

    assert told(True) == "peak 400.0 MiB; grows by 3.5 GiB an hour; train.py:5 30 % of the growth"
    assert told(False) == "peak 400.0 MiB"


def test_counters_are_told_in_words():
    report = a_report()
    report = replace(report, counters_per_step=(("ipc_bytes", 2048.0), ("would_sync", 0.5)))
    told = {name: unglued(text) for name, text in run_facts(report)}

    assert told["Sent in messages"] == "2.0 KiB per step"
    assert told["CPU tensors read"] == "0.5 per step"


def test_updates_that_the_rate_is_of_are_not_told_once_more():
    rate = Interval(257.0, 250.0, 264.0)
    updates = Throughput("updates", "optimizer steps", rate, total_steps=5_500, updates_per_s=rate)
    steps = replace(updates, unit="steps")

    told, beside = (
        dict(run_facts(replace(a_report(), throughput=throughput)))
        for throughput in (updates, steps)
    )

    assert "counted by optimizer steps" in told["Updates"]
    assert "Also" not in told
    assert "updates/s" in beside["Also"]


def test_values_that_read_the_same_are_one_figure():
    assert spread([3.94, 3.96], "{:.1f}") == "3.9 to 4.0"
    assert spread([3.96, 4.04], "{:.1f}") == "4.0"


def test_threads_of_one_process_that_wait_alike_are_no_further_processes():
    def who(*rows: tuple[int, str]) -> str:
        waits = tuple(WaitRow(pid, "main", thread, "queue", 0.8, ()) for pid, thread in rows)
        processes = [a_process(1000), a_process(1001, "worker")]
        ((name, _, _),) = wait_lines(a_report(processes=processes, seen={"waits": waits}))
        return name

    assert who((1000, "")) == "main 1000"
    assert who((1000, "feeder")) == "main 1000 (feeder)"
    assert who((1000, "feeder"), (1000, "feeder")) == "main 1000 (2 threads, feeder)"
    assert who((1000, ""), (1001, "")) == "2 mains"


def test_two_threads_of_one_name_that_wait_in_other_ways_are_told_apart():
    waits = (
        WaitRow(1000, "main", "feeder", "queue", 0.9, (), tid=1004),
        WaitRow(1000, "main", "feeder", "lock", 0.8, (), tid=1005),
        WaitRow(1000, "main", "logger", "queue", 0.7, (), tid=1006),
        WaitRow(1000, "main", "logger", "lock", 0.2, (), tid=1006),
    )
    processes = [a_process(1000), a_process(1001, "worker")]

    lines = wait_lines(a_report(processes=processes, seen={"waits": waits}))

    assert [name for name, _, _ in lines] == [
        "main 1000 (feeder 1004)",
        "main 1000 (feeder 1005)",
        "main 1000 (logger)",
        "main 1000 (logger)",
    ]


# --- torch ---------------------------------------------------------------------------------


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


def test_what_is_left_out_with_them_is_told_and_phases_add_up_to_the_run():
    report = a_report(
        seen={"torch_windows": (a_torch_window(cost_s=0.5),), "left_out_us": 3_000_000}
    )
    told = {name: unglued(text) for name, text in run_facts(report)}
    shares = re.findall(r"\(([\d.]+) %\)", told["Phases"])

    assert told["torch"].startswith(
        "1 window of its profiler, 500 ms, 3.0 s left out of every figure, with what was recorded with it"
    )
    assert "left out 3.0 s" in told["Phases"]
    length = sum(phase.end_us - phase.start_us for phase in report.phases) + 3_000_000
    assert sum(map(float, shares)) == pytest.approx(100 * length / report.run.wall_us, abs=1)


def test_reads_of_several_processes_at_one_place_are_told_once():
    sites = (
        a_sync_site(calls=800, per_step=0.8),
        a_sync_site(pid=11, calls=700, per_step=0.7),
        a_sync_site(method="numpy", calls=900, per_step=0.9),
    )

    assert lines(sites=sites)["Reads"].endswith(
        "train.py:11 item (1.5 per step), train.py:11 numpy (0.9 per step)"
    )


def test_reads_are_told_per_update_where_that_is_what_is_counted():
    report = a_report(seen={"sync_sites": (a_sync_site(),)})
    report = replace(report, throughput=replace(report.throughput, unit="updates"))
    told = dict(torch_lines(report))

    assert told["Reads"].endswith("item (1 per update)")


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


def test_what_rlprof_costs_in_a_run_that_ended_at_its_start_is_no_share():
    report = a_report()
    short = replace(report, run=replace(report.run, wall_us=90_000))

    assert unglued(dict(run_facts(report))["rlprof"]).endswith("% of the cores")
    assert unglued(dict(run_facts(short))["rlprof"]) == "cost 55 ms of CPU itself"


def test_processes_seen_for_too_short_a_time_have_no_samples_per_second():
    short, long = a_process(1, achieved_hz=0.0), a_process(2, achieved_hz=98.4)

    assert samples_per_second([short]) == ""
    assert samples_per_second([short, long]) == "98"


def test_a_counter_of_what_hardly_happens_is_left_out():
    report = a_report(seen={"counters_per_step": (("compiles", 1e-7), ("updates", 0.004))})

    facts = {name: unglued(text) for name, text in run_facts(report)}
    assert facts["Updates"] == "4 per 1 000 steps"
    assert "Compilations" not in facts
