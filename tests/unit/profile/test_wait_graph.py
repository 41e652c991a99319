from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.model.activity import BoundBy, Wait, WaitKind
from rlprof.model.profile import Profile
from rlprof.profile.build import build_profile
from tests.factories import RunBuilder, a_run
from tests.profile_factory import STDLIB

RECV = f"{STDLIB}/multiprocessing/connection.py:382 Connection._recv"
GET = f"{STDLIB}/queue.py:171 Queue.get"
RESULT = f"{STDLIB}/concurrent/futures/_base.py:451 Future.result"
ACQUIRE = f"{STDLIB}/multiprocessing/synchronize.py:98 SemLock.__enter__"


def the_wait(profile: Profile, process: int, kind: WaitKind) -> Wait:
    (found,) = (wait for wait in profile.waits if (wait.process, wait.kind) == (process, kind))
    return found


def a_vector_env(*, main_works: float, workers: int = 2, cores: int = 8) -> RunBuilder:
    """Ten steady seconds: main works for ``main_works``, its workers for the rest."""
    run = a_run().with_run(host={"usable_cores": str(cores)}).process("main", steps=1000)
    run.spends(main_works, "train.py:20 update").spends(
        10 - main_works, "train.py:12 step", RECV, idle=True
    )
    for number in range(workers):
        run.process(f"worker {number}").spends(10 - main_works, "env.py:5 step")
        run.spends(main_works, "worker.py:3 loop", RECV, idle=True)
    return run  # fmt: skip


def test_workers_wait_for_main_and_main_waits_for_workers():
    profile = build_profile(a_vector_env(main_works=7.0).recording())

    assert the_wait(profile, 0, WaitKind.PIPE).on == (
        (1, pytest.approx(0.3)),
        (2, pytest.approx(0.3)),
    )
    worker = the_wait(profile, 1, WaitKind.PIPE)
    assert worker.wall_us == 7_000_000
    assert worker.on == ((0, pytest.approx(0.7)),)


def test_children_of_a_fork_server_wait_for_its_parent():
    run = a_vector_env(main_works=7.0)
    recording = run.process("server").recording()
    server = replace(
        recording.processes[3],
        argv=("python", "-c", "from multiprocessing.forkserver import main"),
        start_method="subprocess",
    )
    workers = tuple(
        replace(process, ppid=server.pid, start_method="forkserver")
        for process in recording.processes[1:3]
    )

    profile = build_profile(
        replace(recording, processes=(recording.processes[0], *workers, server))
    )

    assert profile.process_roles[3] == "forkserver"
    assert the_wait(profile, 1, WaitKind.PIPE).on == ((0, pytest.approx(0.7)),)
    assert {process for process, _ in the_wait(profile, 0, WaitKind.PIPE).on} == {1, 2}


def test_a_queue_of_threads_is_waited_for_within_the_process():
    run = a_run().process("main", steps=1000).spends(10.0, "train.py:12 step", GET, idle=True)
    run.thread("feeder").spends(6.0, "train.py:30 load").spends(4.0, "train.py:31 rest", idle=True)
    run.process("other").spends(10.0, "other.py:1 work")

    profile = build_profile(run.recording())

    assert the_wait(profile, 0, WaitKind.QUEUE).on == ((0, pytest.approx(0.6)),)


def test_a_result_is_waited_for_from_children_where_there_are_any():
    run = a_run().process("main", steps=1000).spends(10.0, "train.py:12 step", RESULT, idle=True)
    run.process("pool worker").spends(10.0, "env.py:5 step")

    profile = build_profile(run.recording())

    assert the_wait(profile, 0, WaitKind.FUTURE).on == ((1, pytest.approx(1.0)),)


def test_idle_on_a_working_line_beside_a_busy_thread_is_the_interpreter_lock():
    run = a_run().process("main", steps=1000)
    run.spends(5.0, "train.py:12 step").spends(5.0, "train.py:13 act", idle=True)
    run.thread("second").spends(9.0, "train.py:40 act").spends(1.0, "train.py:41 act", idle=True)

    profile = build_profile(run.recording())

    assert [(wait.kind, wait.wall_us) for wait in profile.waits if wait.thread == 0] == [
        (WaitKind.GIL, 5_000_000)
    ]


def test_idle_on_a_working_line_without_another_thread_is_not():
    run = a_run().process("main", steps=1000)
    run.spends(5.0, "train.py:12 step").spends(5.0, "train.py:13 save", idle=True)

    profile = build_profile(run.recording())

    assert the_wait(profile, 0, WaitKind.UNKNOWN).on == ()


def test_short_waits_are_no_edges():
    profile = build_profile(a_vector_env(main_works=9.95).recording())

    assert [wait.process for wait in profile.waits] == [1, 2]


# What bounds the rate


def test_bound_by_the_process_that_works():
    bound = build_profile(a_vector_env(main_works=8.0).recording()).bound

    assert (bound.by, bound.processes) == (BoundBy.PROCESS, (0,))
    assert "main process (pid 1000), working 80 %" in bound.text


def test_bound_by_the_workers_that_it_waits_for():
    bound = build_profile(a_vector_env(main_works=2.0).recording()).bound

    assert (bound.by, bound.processes) == (BoundBy.PROCESS, (1, 2))
    assert (
        "2 environment worker processes, for which the main process (pid 1000) waits 80 %"
        in bound.text
    )


def test_bound_by_the_cpus_of_a_saturated_host():
    run = a_run().with_run(host={"usable_cores": "2"})
    for name in ("one", "two", "three", "four"):
        run.process(name, steps=500).spends(10.0, "train.py:12 step", cpu=0.5)

    bound = build_profile(run.recording()).bound

    assert bound.by is BoundBy.CPUS
    assert bound.text == "the CPUs: the run wants 2.0 times the 2 cores there are"


def test_bound_by_a_lock():
    run = a_run().process("main").spends(10.0, "train.py:2 main", RECV, idle=True)
    for name in ("one", "two", "three"):
        run.process(name, steps=500)
        run.spends(6.0, "train.py:12 add", ACQUIRE, idle=True).spends(4.0, "train.py:14 step")

    bound = build_profile(run.recording()).bound

    assert bound.by is BoundBy.LOCK
    assert "a lock: 3 worker processes wait for it 60 %" in bound.text


def naps_beside_a_thread_that_works(working_s: float) -> RunBuilder:
    run = a_run().process("main", steps=100).source("train.py", NAPS)
    run.spends(9.0, "train.py:3 wait_for", idle=True).spends(1.0, "train.py:9 step")
    run.thread("trainer").spends(working_s, "train.py:12 fit")
    return run.spends(10.0 - working_s, QUEUE_GET, idle=True)


NAPS = "import time\nwhile box.version < wanted:\n    time.sleep(0.1)\n"
QUEUE_GET = "/usr/lib/python3.11/queue.py:171 Queue.get"


def test_bound_by_a_thread_that_another_naps_for():
    bound = build_profile(naps_beside_a_thread_that_works(8.0).recording()).bound

    assert bound.by is BoundBy.PROCESS
    assert bound.text.startswith("threads beside the main thread of the main process")


def test_bound_by_naps_while_no_thread_works():
    bound = build_profile(naps_beside_a_thread_that_works(1.0).recording()).bound

    assert "waits between threads in which none of them works" in bound.text


PUT = f"{STDLIB}/multiprocessing/queues.py:90 Queue.put"
TAKE = f"{STDLIB}/multiprocessing/queues.py:103 Queue.get"


def actors_beside_a_learner_that_sleeps(length: str, *, takes_s: float = 0.2) -> RunBuilder:
    """Two actors that make the steps wait for room in a queue; the learner works for 1 s of 10."""
    text = (
        "import time\ndue = 0\nwhile True:\n    batch = batches.get()\n    learn(batch)\n"
        f"    due = time.monotonic() + 0.05\n    time.sleep({length})\n"
    )
    run = a_run().with_run(host={"usable_cores": "8"}).source("learner.py", text)
    run.process("main").spends(0.8, "learner.py:5 <module>").spends(
        takes_s, "learner.py:4 <module>", TAKE
    )
    run.spends(9.2 - takes_s, "learner.py:7 <module>", idle=True)
    for number in range(2):
        run.process(f"actor {number}", steps=500).spends(2.0, "actor.py:4 rollout")
        run.spends(8.0, "actor.py:5 rollout", PUT, idle=True)
    return run  # fmt: skip


def test_bound_by_one_that_sleeps_while_others_wait_for_it():
    bound = build_profile(actors_beside_a_learner_that_sleeps("0.05").recording()).bound

    assert (bound.by, bound.processes) == (BoundBy.PROCESS, (0,))
    assert bound.text == (
        "the main process (pid 1000), which sleeps 90 % of the time at learner.py:7, and 2 worker processes wait for it 80 %"
    )


@pytest.mark.parametrize(
    ("length", "takes_s"),
    [("due - time.monotonic()", 0.2), ("max(0, due)", 0.2), ("0.05", 0.0)],
    ids=["a clock's time", "a variable of a clock", "passes nothing on"],
)
def test_a_sleep_that_keeps_a_pace_or_holds_nobody_up_is_not_named(length: str, takes_s: float):
    run = actors_beside_a_learner_that_sleeps(length, takes_s=takes_s)

    assert "waits between processes" in build_profile(run.recording()).bound.text


SELECT = (
    f"{STDLIB}/asyncio/base_events.py:1922 BaseEventLoop._run_once",
    f"{STDLIB}/selectors.py:468 EpollSelector.select",
)


def an_event_loop() -> RunBuilder:
    run = a_run().process("main", steps=1000).spends(1.0, "train.py:5 actor")
    return run.spends(9.0, "train.py:9 <module>", *SELECT, idle=True)


def test_one_thread_waits_in_its_event_loop_for_nobody_in_the_run():
    profile = build_profile(an_event_loop().recording())

    assert profile.bound.by is BoundBy.OUTSIDE
    assert profile.bound.text == (
        "its event loop, in which the main process (pid 1000) waits 90 % of the time for timers, sockets or other programs"
    )
    assert [part.name for part in profile.components] == ["event loop wait", "other"]


def test_beside_another_process_an_event_loop_may_wait_for_it():
    run = an_event_loop().process("worker").spends(9.0, "env.py:5 step")

    profile = build_profile(run.recording())

    assert the_wait(profile, 0, WaitKind.EVENT_LOOP).on == ((1, pytest.approx(0.9)),)


def test_bound_by_nothing_in_the_run_when_it_sleeps():
    run = a_run().process("main", steps=100).source("train.py", "import time\ntime.sleep(1)\n")
    run.spends(9.0, "train.py:2 pace", idle=True).spends(1.0, "train.py:1 step")

    assert build_profile(run.recording()).bound.by is BoundBy.OUTSIDE


def steady_s_by_file(run: RunBuilder) -> dict[str, float]:
    """Seconds of the critical time in each file, work in place of the waits for it."""
    profile = build_profile(run.recording())
    seconds: dict[str, float] = {}
    for node, cost in profile.steady.self_costs():
        file = profile.steady.frame(node).file
        seconds[file] = seconds.get(file, 0.0) + cost.wall_us / 1e6
    return seconds


def test_a_straggler_is_what_all_wait_for():
    """Main waits 9 s for one slow worker; the three quick ones worked for 1 s each."""
    run = a_run().process("main", steps=1000)
    run.spends(1.0, "train.py:20 update").spends(9.0, "train.py:12 step", RECV, idle=True)
    run.process("slow").spends(9.0, "slow.py:5 step").spends(
        1.0, "worker.py:3 loop", RECV, idle=True
    )
    for name in ("one", "two", "three"):
        run.process(name).spends(1.0, "env.py:5 step").spends(
            9.0, "worker.py:3 loop", RECV, idle=True
        )

    by_file = steady_s_by_file(run)
    assert by_file["slow.py"] > 8.9
    assert by_file.get("env.py", 0.0) < 0.1


def a_main_that_waits(seconds: float) -> RunBuilder:
    run = a_run().process("main", steps=1000)
    run.spends(10.0 - seconds, "train.py:20 update")
    return run.spends(seconds, "train.py:12 step", RECV, idle=True)


def test_a_thread_that_the_workers_wait_for_explains_what_they_leave():
    """Main waits 8 s: for 5 s the worker works, for 3 s it waits for what a thread still pickles."""
    run = a_main_that_waits(8.0)
    run.thread("feeder").spends(3.0, "feeder.py:7 pickle")
    run.process("worker").spends(5.0, "env.py:5 step").spends(
        5.0, "worker.py:3 loop", RECV, idle=True
    )

    seconds = steady_s_by_file(run)

    assert seconds["env.py"] == pytest.approx(5.0, abs=0.1)
    assert seconds["feeder.py"] == pytest.approx(3.0, abs=0.1)


def test_a_logger_beside_busy_workers_explains_nothing():
    run = a_main_that_waits(8.0)
    run.process("worker").spends(8.0, "env.py:5 step").spends(
        2.0, "worker.py:3 loop", RECV, idle=True
    )
    run.thread("writer").spends(3.0, "writer.py:7 flush")

    seconds = steady_s_by_file(run)

    assert seconds.get("writer.py", 0.0) < 0.1
    assert seconds["env.py"] > 7.9


def test_what_all_critical_threads_wait_for_counts_for_each():
    """Four workers that step wait 9 of 10 s for the one learner."""
    run = a_run().process("main").spends(9.0, "learner.py:5 update")
    run.spends(1.0, "learner.py:2 take", RECV, idle=True)
    for name in ("one", "two", "three", "four"):
        run.process(name, steps=500).spends(1.0, "env.py:5 step").spends(
            9.0, "worker.py:3 loop", RECV, idle=True
        )

    assert steady_s_by_file(run)["learner.py"] == pytest.approx(36.0, abs=0.5)


def test_busy_polling_for_workers_is_a_wait_that_their_work_replaces():
    run = (
        a_run()
        .process("main", steps=1000)
        .source("train.py", "while not done.is_set():\n    pass\n")
    )
    run.spends(8.0, "train.py:1 wait").spends(2.0, "train.py:20 update")
    run.process("worker").spends(8.0, "env.py:5 step").spends(
        2.0, "worker.py:3 loop", RECV, idle=True
    )

    profile = build_profile(run.recording())

    assert the_wait(profile, 0, WaitKind.POLL).wall_us == 8_000_000
    work = {
        profile.steady.frame(node).file: cost.wall_us for node, cost in profile.steady.self_costs()
    }
    assert work["env.py"] == pytest.approx(8_000_000, rel=0.01)
    assert profile.steady.total.wall_us == pytest.approx(10_000_000, rel=0.001)
