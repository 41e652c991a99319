"""How a run went, in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rlprof.model.activity import Component
from rlprof.model.memory import GrownLine, MemoryTrend, MemoryView, ProcessMemory
from rlprof.model.profile import Interval, Throughput
from rlprof.model.report import Resources, WaitRow
from rlprof.report import wording
from rlprof.report.wording.run import LEAST_PART, parts_of_a_step, run_facts, spread, wait_lines
from tests.report_factories import a_process, a_report

MIB = 1 << 20


def test_parts_of_a_step_are_those_that_can_be_seen_and_more_than_one():
    def shown(*shares: float) -> list[str]:
        rows = tuple(Component(f"part {it}", it, 100.0, 1, 10.0) for it in shares)
        return [row.name for row in parts_of_a_step(a_report(seen={"components": rows}))]

    assert shown(0.6, 0.4, LEAST_PART / 2) == ["part 0.6", "part 0.4"]
    assert shown(1.0, LEAST_PART / 2) == []


def facts(**seen: Any) -> dict[str, str]:
    return {name: wording.unglued(text) for name, text in run_facts(a_report(seen=seen))}


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
            ProcessMemory(number, "worker", it * MIB, None, None)
            for number, it in enumerate(peaks_mib)
        )
        view = MemoryView(400 * MIB, 0, is_shared_out, rows, None)
        processes = [a_process(1000 + it, "worker") for it in range(len(rows))]
        report = a_report(processes=processes, seen={"memory": view})
        return wording.unglued(dict(run_facts(report))["Memory"])

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

    told = facts(memory=MemoryView(400 * MIB, 0, True, (), trend, lines=lines))["Memory"]

    assert told == "peak 400.0 MiB; grows by 3.5 GiB an hour; train.py:5 30 % of the growth"


def test_counters_are_told_in_words():
    report = a_report()
    report = replace(report, counters_per_step=(("ipc_bytes", 2048.0), ("would_sync", 0.5)))
    told = {name: wording.unglued(text) for name, text in run_facts(report)}

    assert told["Sent in messages"] == "2.0 KiB per step"
    assert told["CPU tensors read"] == "0.5 per step"


def test_updates_that_the_rate_is_of_are_not_told_once_more():
    rate = Interval(257.0, 250.0, 264.0)
    updates = Throughput("updates", "optimizer steps", rate, total_steps=5_500, updates_per_s=rate)
    steps = replace(updates, unit="steps")

    told, beside = (dict(run_facts(replace(a_report(), throughput=it))) for it in (updates, steps))

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
