"""What torch's thread for the backward pass works is work of the call that waits for it."""

from __future__ import annotations

from rlprof.detectors.gil_contention import DETECTOR
from rlprof.model.recording import Recording
from rlprof.pace.called_threads import with_called_work
from rlprof.report.build import build_report
from tests.factories import RunBuilder, a_run
from tests.profile_factory import Script, detect

TRAIN = Script(
    "train.py",
    """
    def learn(loss):
        loss.backward()
        optimizer.step()
    """,
)
LEARN, STEP = TRAIN.at("loss.backward()", "learn"), TRAIN.at("optimizer.step()", "learn")
ENGINE = "/usr/lib/python3/site-packages/torch/autograd/graph.py:869 _engine_run_backward"
SERVER = "/usr/lib/python3/site-packages/grpc/_channel.py:12 wait"
READ = "/usr/lib/python3/site-packages/numpy/_core/multiarray.py:12 fromfile"
QUEUE = "/usr/lib/python3.12/queue.py:171 Queue.get"
NO_STACK = ":INVALID:"


def a_learner(*, backward_s: float = 6.0, worked_s: float = 5.0) -> RunBuilder:
    """Ten seconds of main, which sleeps in ``backward`` while a thread of torch's works."""
    run = a_run().process("main", steps=1000)
    run.spends(backward_s, LEARN, ENGINE, idle=True).spends(10 - backward_s, STEP)
    run.thread("pt_autograd_0").spends(worked_s, NO_STACK)
    return run.spends(10 - worked_s, NO_STACK, idle=True)


def idle_and_cpu_us(recording: Recording, function: str) -> tuple[int, int]:
    rows = [
        row
        for row in recording.samples.rows()
        if recording.nodes[row[2]].frame.function.endswith(function)
    ]
    return sum(row[4] for row in rows), sum(row[5] for row in rows)


def test_the_call_that_slept_has_done_the_work():
    recording = with_called_work(a_learner().recording())

    assert idle_and_cpu_us(recording, "_engine_run_backward") == (1_000_000, 5_000_000)
    assert {row[1] for row in recording.samples.rows()} == {0}


def test_the_clock_of_the_caller_says_the_same():
    recording = with_called_work(a_learner().recording())

    assert {clock.thread for clock in recording.clocks} == {0}
    assert sum(clock.idle_us for clock in recording.clocks) == 1_000_000
    assert sum(clock.on_cpu_us for clock in recording.clocks) == 9_000_000


def test_more_than_was_slept_is_given_to_nobody():
    recording = with_called_work(a_learner(backward_s=2.0, worked_s=7.0).recording())

    assert idle_and_cpu_us(recording, "_engine_run_backward") == (0, 2_000_000)


def test_a_wait_for_something_known_is_one_and_so_is_sleep_on_a_line_of_the_users():
    run = a_run().process("main", steps=1000)
    run.spends(4.0, LEARN, QUEUE, idle=True).spends(4.0, LEARN, idle=True).spends(2.0, STEP)
    recording = run.thread("pt_autograd_0").spends(5.0, NO_STACK).recording()

    assert sum(with_called_work(recording).samples.idle_us) == 8_000_000


def test_a_thread_of_a_library_that_only_sleeps_is_given_nothing():
    run = a_learner().thread("grpc").spends(10.0, SERVER, idle=True)

    recording = with_called_work(run.recording())

    assert idle_and_cpu_us(recording, "_engine_run_backward") == (1_000_000, 5_000_000)
    assert idle_and_cpu_us(recording, "wait") == (10_000_000, 0)


def test_another_librarys_call_is_given_the_work_where_no_backward_pass_sleeps():
    run = (
        a_run().process("main", steps=1000).spends(4.0, LEARN, SERVER, idle=True).spends(6.0, STEP)
    )
    recording = run.thread("native").spends(3.0, NO_STACK).recording()

    assert idle_and_cpu_us(with_called_work(recording), "wait") == (1_000_000, 3_000_000)


def test_a_thread_that_was_hardly_seen_may_have_had_a_stack():
    run = a_run().process("main", steps=1000).spends(10.0, STEP)
    recording = run.thread("short").spends(0.2, NO_STACK).recording()

    assert with_called_work(recording) is recording


def test_a_thread_with_a_stack_of_its_own_stays():
    run = a_learner().thread("reader").spends(1.0, READ).spends(2.0, NO_STACK)
    recording = with_called_work(run.recording())

    assert {row[1] for row in recording.samples.rows()} == {0, 2}


def test_where_no_stack_could_be_read_nothing_changes():
    run = a_run().process("main", steps=1000).spends(10.0, NO_STACK)
    recording = run.thread("worker").spends(5.0, NO_STACK).recording()

    assert with_called_work(recording) is recording


def test_no_thread_takes_turns_with_it_at_the_interpreter_lock():
    assert detect(DETECTOR, a_learner(), TRAIN)  # As it is seen.

    report = build_report(a_learner().source(TRAIN.file, TRAIN.text).recording())

    assert "gil-contention" not in {finding.finding.detector for finding in report.findings}
    assert report.bound.text.endswith("working 90 % of the time")
