from __future__ import annotations

import pytest

from rlprof.detectors.ipc_polling import DETECTOR, MIN_POLLING
from rlprof.detectors.recognisers.processes.questions import MIN_QUESTIONS
from rlprof.discovery import discover_detectors
from rlprof.model.finding import Finding, Range
from rlprof.report.findings import sell_samples
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, STDLIB, Script, detect, lines_of, profile_of, ranked

TRAIN = Script(
    "train.py",
    """
    def wait_for(workers, ready):
        while not ready.is_set():
            if not all(worker.is_alive() for worker in workers):
                raise RuntimeError("a worker died")

    def next_batch(batches):
        while batches.empty():
            time.sleep(0.001)
        return batches.get()

    def step(workers, actions):
        for worker in workers:
            if not worker.is_alive():
                raise RuntimeError("a worker died")
        send(actions)
    """,
)
IS_SET = (
    TRAIN.at("ready.is_set", "wait_for"),
    f"{STDLIB}/multiprocessing/synchronize.py:335 Event.is_set",
)
IS_ALIVE = (
    TRAIN.at("all(worker.is_alive", "wait_for"),
    f"{STDLIB}/multiprocessing/process.py:165 BaseProcess.is_alive",
    f"{STDLIB}/multiprocessing/popen_fork.py:27 Popen.poll",
)
ASK_EACH = (
    TRAIN.at("not worker.is_alive():", "step"),
    f"{STDLIB}/multiprocessing/process.py:165 BaseProcess.is_alive",
    f"{STDLIB}/multiprocessing/popen_fork.py:27 Popen.poll",
)
NAP = (TRAIN.at("time.sleep(0.001)", "next_batch"),)
SEND = TRAIN.at("send(actions)", "step")
STEP = "env.py:7 GridWorld.step"
REST = f"{STDLIB}/multiprocessing/connection.py:395 Connection._recv"


def a_training(*, cores: int = 2, steps: float = 1_000) -> RunBuilder:
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": str(cores)})
    return run.process("main", steps=steps)


def busy_workers(run: RunBuilder, number: int = 2, *, cpu: float = 1.0) -> RunBuilder:
    for name in range(number):
        run.process(f"worker {name}").spends(10.0, STEP, cpu=cpu)
    return run


def a_spin_on_full_cores() -> RunBuilder:
    """Three processes that want two cores; the spin gets 47 % of the CPU time."""
    run = a_training().spends(4.0, *IS_SET, cpu=0.94).spends(6.0, *IS_ALIVE, cpu=0.94)
    return busy_workers(run, cpu=0.53)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, TRAIN)


def also_seen(run: RunBuilder) -> list[str]:
    priced = sell_samples(profile_of(run, TRAIN), discover_detectors())[0].ranking()
    return [entry.finding.detector for entry in priced.also_seen]


def test_finds_a_loop_that_takes_a_core_from_busy_workers():
    (finding,) = found(a_spin_on_full_cores())

    assert (
        finding.title
        == "a loop at train.py:3 busily polls is_alive() and is_set() instead of waiting"
    )
    assert lines_of(finding) == [TRAIN.line("all(worker.is_alive"), TRAIN.line("ready.is_set")]
    assert (
        "the main process (pid 1000) spends 100 % of its steady time in loops"
        in finding.evidence[0]
    )
    assert "the 2 cores are full, and the loops take 47 % of the CPU time" in finding.evidence[1]


def test_silent_just_under_its_threshold():
    under = a_training().spends(10.0 * MIN_POLLING * 0.9, *IS_SET)
    under.spends(10.0 - 10.0 * MIN_POLLING * 0.9, SEND)
    over = a_training().spends(10.0 * MIN_POLLING * 1.1, *IS_SET)
    over.spends(10.0 - 10.0 * MIN_POLLING * 1.1, SEND)

    assert found(under) == []
    assert len(found(over)) == 1


def test_silent_on_a_healthy_run():
    run = busy_workers(a_training(cores=4).spends(2.0, SEND).spends(8.0, REST, idle=True))

    assert found(run) == []


def test_ranks_by_the_cpu_time_that_it_takes():
    """The share is that of docs/pricing.md, where 0.482 was measured."""
    first = ranked(a_spin_on_full_cores(), TRAIN)[0]

    assert first.finding.detector == DETECTOR.id
    assert first.saved_share.low < 0.482 < first.saved_share.high


def test_a_spin_on_free_cores_is_seen_and_costs_nothing():
    run = busy_workers(a_training(cores=8).spends(4.0, *IS_SET).spends(6.0, *IS_ALIVE))

    assert DETECTOR.id in also_seen(run)
    assert (
        "there are free cores, and what it waits for is at work for 100 %"
        in found(run)[0].evidence[1]
    )


def test_a_spin_among_other_programs_gives_its_cpu_time_to_them():
    run = a_training().spends(4.0, *IS_SET, cpu=0.2).spends(6.0, *IS_ALIVE, cpu=0.2)
    busy_workers(run, cpu=0.12)

    (finding,) = found(run)

    assert DETECTOR.id in also_seen(run)
    assert "the loops take 45 % of the run's CPU time" in finding.evidence[1]
    assert "record again on a quiet machine" in finding.evidence[1]


def test_a_nap_while_others_work_is_seen_and_costs_nothing():
    run = busy_workers(a_training(cores=4).spends(2.0, SEND).spends(8.0, *NAP, idle=True))

    assert DETECTOR.id in also_seen(run)


def test_naps_in_which_nobody_works_are_a_delay():
    run = a_training(cores=4).spends(2.0, SEND).spends(8.0, *NAP, idle=True)
    run.process("worker").spends(1.0, STEP).spends(9.0, *NAP, idle=True)

    (priced,) = [
        finding for finding in ranked(run, TRAIN) if finding.finding.detector == DETECTOR.id
    ]

    # 7 of the 8 s are not the worker's work.
    assert 0.1 < priced.saved_share.low < 0.65 < priced.saved_share.high


def rounds(working_s: float, *asked_stack: str) -> RunBuilder:
    """Main naps until two actors have answered; they wait for it in turn, and bound the run as they make the steps."""
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "4"}).process("main")
    run.spends(working_s, SEND).spends(10.0 - working_s, *NAP, idle=True)
    for name in ("actor 1", "actor 2"):
        run.process(name, steps=500).spends(4.0, STEP).spends(6.0, *asked_stack, idle=True)
    return run


@pytest.mark.parametrize(
    ("working_s", "low", "high"), [(0.5, 0.1, 0.5), (5.5, 0.0, 0.1)], ids=["naps", "works"]
)
def test_who_waits_for_somebody_that_naps_is_held_up(working_s: float, low: float, high: float):
    found = [
        finding
        for finding in ranked(rounds(working_s, REST), TRAIN)
        if finding.finding.detector == DETECTOR.id
    ]
    (saved,) = [finding.saved_share for finding in found] or [Range(0.0, 0.0)]

    assert low <= saved.low
    assert saved.high == pytest.approx(high, abs=0.1)


def test_naps_for_somebody_who_sleeps_himself_cost_nothing():
    robot = Script("robot.py", "def step(self):\n    time.sleep(0.02)\n")
    run = a_training(cores=4).spends(2.0, SEND).spends(8.0, *NAP, idle=True)
    run.process("robot").spends(1.0, STEP).spends(9.0, robot.at("sleep", "step"), idle=True)

    (finding,) = detect(DETECTOR, run, TRAIN, robot)

    assert all(saving.removable.high == 0.0 for saving in finding.savings)


def test_a_launcher_that_sleeps_until_the_end_is_nobody_to_wait_for():
    launcher = Script("launch.py", "def main():\n    time.sleep(1000)\n")
    run = a_training(cores=4).spends(2.0, SEND).spends(8.0, *NAP, idle=True)
    run.process("worker").spends(1.0, STEP).spends(9.0, *NAP, idle=True)
    run.process("launcher").spends(10.0, launcher.at("sleep", "main"), idle=True)

    (finding,) = detect(DETECTOR, run, TRAIN, launcher)

    assert any(saving.removable.high > 0.5 for saving in finding.savings)


def test_naps_for_a_process_that_was_not_seen_cost_nothing():
    run = a_training(cores=4).spends(2.0, SEND).spends(8.0, *NAP, idle=True)
    run.process("worker").spends(1.0, STEP).spends(9.0, *NAP, idle=True)
    run.process("simulator", fate="missed")

    (finding,) = found(run)

    assert all(saving.removable.high == 0.0 for saving in finding.savings)


def test_a_service_that_is_left_out_is_nobody_to_wait_for():
    def naps(service: bool) -> list[Finding]:
        run = a_training(cores=4).spends(2.0, SEND).spends(8.0, *NAP, idle=True)
        run.process("worker").spends(1.0, STEP).spends(9.0, *NAP, idle=True)
        if service:
            run.process("from multiprocessing.resource_tracker import main", fate="left-out")
        return found(run)

    assert naps(service=True) == naps(service=False) != []


def test_questions_between_steps_are_priced_by_their_time():
    run = busy_workers(a_training(cores=8).spends(3.0, *ASK_EACH).spends(7.0, SEND))

    (priced,) = [
        finding for finding in ranked(run, TRAIN) if finding.finding.detector == DETECTOR.id
    ]

    assert (
        priced.finding.title == "other processes are asked is_alive() between steps at train.py:13"
    )
    assert priced.saved_share.low < 0.27 < priced.saved_share.high


@pytest.mark.parametrize(
    ("asked", "count"), [("left", 0), ("timeout=left", 0), ("0.0", 1), ("", 1)]
)
def test_a_message_that_is_waited_for_is_no_question(asked: str, count: int):
    rig = Script(
        "rig.py",
        f"""
        def firmware(wire, due):
            while True:
                while (left := due - clock()) > 0:
                    if wire.poll({asked}):
                        volt = wire.recv()
                step(volt)
        """,
    )
    polls = (
        rig.at("wire.poll", "firmware"),
        f"{STDLIB}/multiprocessing/connection.py:257 _ConnectionBase.poll",
    )
    run = a_training(cores=8).spends(2.0, *polls).spends(8.0, SEND)

    assert len(detect(DETECTOR, run, TRAIN, rig)) == count


@pytest.mark.parametrize(("part", "count"), [(0.9, 0), (1.1, 1)], ids=["under", "over"])
def test_few_questions_are_not_named(part, count):
    asked_s = 10.0 * MIN_QUESTIONS * part
    run = a_training(cores=8).spends(asked_s, *ASK_EACH).spends(10.0 - asked_s, SEND)

    assert len(found(run)) == count


ACTOR = Script(
    "actor.py",
    """
    def act(batches, weights, stop):
        while not stop.is_set():
            if weights.empty():
                pass
            batches.put(rollout())
    """,
)
STOP_FLAG = (
    ACTOR.at("stop.is_set", "act"),
    f"{STDLIB}/multiprocessing/synchronize.py:335 Event.is_set",
)
NO_WEIGHTS = (
    ACTOR.at("weights.empty", "act"),
    f"{STDLIB}/multiprocessing/queues.py:129 Queue.empty",
)
PUT = (ACTOR.at("batches.put", "act"), f"{STDLIB}/multiprocessing/queues.py:90 Queue.put")
ROLLOUT = (ACTOR.at("batches.put", "act"), STEP)


def an_actor(**asked_s: tuple[float, tuple[str, ...]]) -> RunBuilder:
    run = a_training(cores=8)
    for seconds, stack in asked_s.values():
        run.spends(seconds, *stack)
    return run.spends(10.0 - sum(seconds for seconds, _ in asked_s.values()), *ROLLOUT)


def test_the_question_is_that_of_the_line_that_is_told():
    run = an_actor(flag=(0.25, STOP_FLAG), weights=(1.0, NO_WEIGHTS))

    (finding,) = detect(DETECTOR, run, ACTOR)

    assert finding.title == "other processes are asked empty() between steps at actor.py:3"
    assert lines_of(finding)[0] == ACTOR.line("weights.empty")


@pytest.mark.parametrize(("seconds", "count"), [(0.19, 0), (0.21, 1)], ids=["cheap", "dear"])
def test_a_stop_flag_asked_once_a_turn_is_named_only_where_it_costs(seconds: float, count: int):
    assert len(detect(DETECTOR, an_actor(flag=(seconds, STOP_FLAG)), ACTOR)) == count


LEARNER = Script(
    "learner.py",
    """
    def learn(batches):
        while True:
            if FIXED:
                batch = batches.get(timeout=1)
            else:
                if batches.empty():
                    time.sleep(0.05)
                    continue
                batch = batches.get()
            update(batch)
    """,
)
IDLE_TURN = LEARNER.at("time.sleep", "learn")
UPDATE = LEARNER.at("update(", "learn")


def a_napping_learner(*, naps_s: float, waits_s: float) -> RunBuilder:
    """Two actors that make the steps put batches into a queue; the learner that empties it naps where nothing came."""
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "4"}).process("main")
    run.spends(10.0 - naps_s, UPDATE).spends(naps_s, IDLE_TURN, idle=True)
    for name in ("actor 1", "actor 2"):
        run.process(name, steps=500).spends(10.0 - waits_s, *ROLLOUT)
        run.spends(waits_s, *PUT, idle=True)
    return run


def test_a_nap_where_nothing_came_is_worth_up_to_the_waits_for_room():
    (finding,) = (
        entry
        for entry in ranked(a_napping_learner(naps_s=7.0, waits_s=5.0), ACTOR, LEARNER)
        if entry.finding.detector == DETECTOR.id
    )

    assert finding.finding.title == "a loop at learner.py:7 polls empty() instead of waiting"
    assert 0.03 < finding.saved_share.low < 0.2
    assert 0.45 < finding.saved_share.high < 0.6


def test_a_nap_where_nothing_came_that_nobody_waits_for_costs_nothing():
    run = a_napping_learner(naps_s=7.0, waits_s=0.0)
    for script in (ACTOR, LEARNER):
        run.source(script.file, script.text)

    assert not [
        entry
        for entry in ranked(run, ACTOR, LEARNER)
        if entry.finding.detector == DETECTOR.id and entry.saved_share.high > 0.01
    ]


def a_sleeping_learner(length: str, *stack: str, waits_s: float = 8.0) -> list[Finding]:
    """A learner that takes from a queue and sleeps at each turn; two actors wait, as ``stack`` tells."""
    learner = Script(
        "sleepy.py",
        f"""
        def learn(batches):
            while True:
                began = time.monotonic()
                update(batches.get())
                time.sleep({length})
        """,
    )
    get = f"{STDLIB}/multiprocessing/queues.py:103 Queue.get"
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "4"}).process("main")
    run.spends(0.8, learner.at("update(", "learn")).spends(0.2, learner.at("update(", "learn"), get)
    run.spends(9.0, learner.at("time.sleep", "learn"), idle=True)
    for name in ("actor 1", "actor 2"):
        run.process(name, steps=500).spends(10.0 - waits_s, *ROLLOUT)
        run.spends(waits_s, *stack, idle=True)
    return detect(DETECTOR, run, ACTOR, learner)


def test_a_sleep_of_the_one_that_empties_a_full_queue_is_named_and_not_sure():
    (finding,) = a_sleeping_learner("0.05", *PUT)

    assert finding.title == "a sleep at sleepy.py:5 leaves others waiting for room"
    assert finding.remainder is not None
    assert finding.remainder.left == Range(pytest.approx(0.2), 1.0)


@pytest.mark.parametrize(
    ("length", "stack", "waits_s"),
    [
        ("began + 0.05 - time.monotonic()", PUT, 8.0),
        ("0.05", (ACTOR.at("batches.put", "act"), f"{STDLIB}/multiprocessing/queues.py:103 Queue.get"), 8.0),
        ("0.05", PUT, 2.9),
    ],
    ids=["keeps a rate", "waits for an answer", "rarely full"],
)  # fmt: skip
def test_a_sleep_that_keeps_a_rate_or_fills_no_queue_is_not_named(
    length: str, stack: tuple[str, ...], waits_s: float
):
    assert a_sleeping_learner(length, *stack, waits_s=waits_s) == []


def test_a_loop_of_a_library_is_named_with_what_its_user_can_do():
    loop = f"{SITE}/torchrl/envs/batched_envs.py:2642 ParallelEnv._wait_for_workers"
    run = a_training().spends(5.0, SEND, loop).spends(5.0, SEND)
    (finding,) = detect(DETECTOR, busy_workers(run), TRAIN)

    assert finding.title == "TorchRL's _wait_for_workers (batched_envs.py:2642) polls"
    assert lines_of(finding) == [TRAIN.line("send(actions)")]
    assert "SerialEnv" in finding.fix
    assert "event.wait" not in finding.fix


def test_joblib_s_naps_are_named_with_what_waits_without_them():
    loop = f"{SITE}/joblib/parallel.py:1870 Parallel._retrieve"
    run = a_training().spends(5.0, SEND, loop).spends(5.0, SEND)
    (finding,) = detect(DETECTOR, busy_workers(run), TRAIN)

    assert finding.title == "joblib's _retrieve (parallel.py:1870) polls"
    assert "chunksize" in finding.fix


# The interpreter lock

JUDGE = Script(
    "judge.py",
    """
    def run(inbox):
        while True:
            if not inbox:
                continue
            judge(inbox.popleft())

    def learn(table):
        table += lr * (tau - below.mean(axis=1))
    """,
)
ASKS_AGAIN = JUDGE.at("if not inbox", "run")
LEARNS = JUDGE.at("table += lr", "learn")


def a_training_beside_a_thread_that_polls(*, asleep_s: float, polling: float = 1.0) -> RunBuilder:
    """The main thread sleeps where nothing waits, while the other one has the lock."""
    run = a_training().spends(10.0 - asleep_s, LEARNS).spends(asleep_s, LEARNS, idle=True)
    run.thread("judge").spends(10.0 * polling, ASKS_AGAIN)
    return run.spends(10.0 * (1 - polling), JUDGE.at("judge(", "run"), idle=True)


def test_a_thread_that_polls_takes_the_lock_from_the_main_thread():
    """0.89 to 0.92 was saved in quantile Q-learning whose main thread slept for 0.86."""
    first, *_ = ranked(a_training_beside_a_thread_that_polls(asleep_s=8.6), JUDGE)

    assert first.finding.detector == "ipc-polling"
    assert first.saved_share.low == pytest.approx(0.85 * 0.86, abs=0.02)
    assert first.saved_share.high == pytest.approx(1 - 0.7 * 0.14, abs=0.02)
    assert lines_of(first.finding)[0] == JUDGE.line("if not inbox")
    assert "has the interpreter lock" in first.finding.evidence[1]


@pytest.mark.parametrize(("asleep_s", "polling"), [(0.3, 1.0), (8.6, 0.03)])
def test_nothing_is_priced_where_the_main_thread_hardly_sleeps_or_the_other_hardly_polls(
    asleep_s, polling
):
    entries = ranked(
        a_training_beside_a_thread_that_polls(asleep_s=asleep_s, polling=polling), JUDGE
    )

    assert "ipc-polling" not in [entry.finding.detector for entry in entries]
