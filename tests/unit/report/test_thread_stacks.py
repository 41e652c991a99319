"""Where the time of each thread went, as the exports take it."""

from __future__ import annotations

from rlprof.model.detail import Detail
from rlprof.model.recording import NO_PARENT, Frame, Node, Samples, Thread
from rlprof.report.thread_stacks import threads_with_time
from tests.report_factories import a_process, a_report


def test_threads_come_process_by_process_the_main_one_first():
    threads = (
        Thread(0, 1, 2000, "MainThread", True),
        Thread(1, 0, 1001, "writer", False),
        Thread(2, 0, 1000, "MainThread", True),
        Thread(3, 0, 1002, "never seen", False),
    )
    samples = Samples()
    for thread in (0, 1, 2):
        samples.add(0, thread, 0, 100, 0, 100)
    detail = Detail(
        threads=threads, nodes=(Node(0, NO_PARENT, Frame("a.py", "f", 1)),), samples=samples
    )
    report = a_report(
        processes=[a_process(), a_process(pid=2000, role="worker")], seen={"detail": detail}
    )

    seen = [(stacks.process_name, stacks.name) for stacks in threads_with_time(report)]

    assert [name for _, name in seen] == ["MainThread", "writer 1001", "MainThread"]
    assert [process.partition(",")[0] for process, _ in seen] == ["main", "main", "worker"]
