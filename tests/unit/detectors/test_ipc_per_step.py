from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from rlprof.detectors.ipc_per_step import (
    DETECTOR,
    IN_BATCHES,
    MIN_MESSAGES,
    OUTWEIGHS,
)
from rlprof.detectors.recognisers.processes.crew_layouts import crowding
from rlprof.detectors.recognisers.processes.transport import LARGE_BYTES
from rlprof.model.activity import HostLoad
from rlprof.model.finding import Finding, Range
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, STDLIB, Script, detect, lines_of, profile_of, ranked

TRAIN = Script(
    "train.py",
    """
    def worker(conn, env):
        while True:
            action = conn.recv()
            conn.send(env.step(action))

    def train(conns, policy):
        while True:
            actions = policy(observations)
            for conn, action in zip(conns, actions):
                conn.send(action)
            observations = [conn.recv() for conn in conns]
    """,
)
CONNECTION = f"{STDLIB}/multiprocessing/connection.py"
TAKE = (f"{CONNECTION}:250 _ConnectionBase.recv", f"{CONNECTION}:395 Connection._recv")
GIVE = (f"{CONNECTION}:206 _ConnectionBase.send", f"{CONNECTION}:384 Connection._send")
PICKLE = (
    f"{CONNECTION}:206 _ConnectionBase.send",
    f"{STDLIB}/multiprocessing/reduction.py:51 ForkingPickler.dumps",
)
POLICY = TRAIN.at("policy(observations)", "train")
ASK = TRAIN.at("conn.send(action)", "train")
HEAR = TRAIN.at("observations = [", "train")
ORDER = TRAIN.at("action = conn.recv()", "worker")
STEP = "env.py:7 GridWorld.step"
ANSWER = TRAIN.at("conn.send(env.step", "worker")


def a_vector_env(
    *,
    workers: int = 4,
    env_s: float,
    pipe_s: float,
    steps: float = 100_000,
    asleep_on: Sequence[str] = (),
    below: Sequence[str] = (),
):
    """A training of 10 s whose workers each step for ``env_s`` and send for ``pipe_s``.

    Each is seen asleep for 4 s ``asleep_on`` lines of the environment, all alike.
    """
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "2"})
    run.process("main", steps=steps)
    run.spends(0.5, POLICY).spends(2.0, ASK, *GIVE).spends(1.0, ASK, *PICKLE)
    run.spends(6.5, HEAR, *TAKE, idle=True)
    for number in range(workers):
        run.process(f"worker {number}")
        run.spends(env_s, *below, ANSWER, STEP).spends(pipe_s, *below, ANSWER, *GIVE)
        for line in asleep_on:
            run.spends(4.0 / len(asleep_on), ANSWER, line, idle=True)
        waiting = 6.0 if asleep_on else 10.0
        run.spends(waiting - env_s - pipe_s, ORDER, *TAKE, idle=True)
    return run


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, TRAIN)


def test_workers_of_a_loader_step_no_environment():
    loading = [f"{SITE}/torch/utils/data/_utils/worker.py:271 _worker_loop"]

    assert found(a_vector_env(env_s=0.2, pipe_s=1.5, below=loading)) == []


def test_finds_pipes_that_outweigh_a_cheap_environment():
    run = a_vector_env(env_s=0.2, pipe_s=1.5)

    (finding,) = found(run)

    assert finding.title == "messages of 4 environment workers cost 11 times their steps"
    assert TRAIN.line("conn.send(action)") in lines_of(finding)
    assert "12 % of their CPU time in their own work" in finding.evidence[0]
    assert "SyncVectorEnv" in finding.fix


def test_a_worker_that_hardly_sleeps_is_one_of_those_that_wait_at_its_line():
    """For a core, as long as it would have slept for its next message."""
    run = a_vector_env(env_s=0.2, pipe_s=1.5)
    run.process("worker").spends(8.0, ANSWER, STEP).spends(1.5, ANSWER, *GIVE)
    run.spends(0.5, ORDER, *TAKE, idle=True)

    (finding,) = found(run)

    assert finding.title.startswith("messages of 5 environment workers cost ")


def test_one_that_asks_elsewhere_and_hardly_sleeps_is_none_of_them():
    run = a_vector_env(env_s=0.2, pipe_s=1.5)
    run.process("worker").spends(9.5, "actor.py:3 act", STEP)
    run.spends(0.5, "actor.py:9 refresh", *TAKE, idle=True)

    (finding,) = found(run)

    assert finding.title.startswith("messages of 4 environment workers cost ")


@pytest.mark.parametrize(("size", "times"), [(LARGE_BYTES * 0.9, 1), (LARGE_BYTES * 1.1, 0)])
def test_what_large_messages_hold_is_another_finding(size: float, times: int):
    # The counts are those of the last worker.
    run = a_vector_env(env_s=0.2, pipe_s=1.5)
    run.counts("ipc_messages", 200_000).counts("ipc_bytes", size * 200_000)

    assert len(found(run)) == times


def test_silent_just_under_its_threshold():
    pipes_s = 3.0 + 4 * 0.1
    under = a_vector_env(env_s=pipes_s / 4 / OUTWEIGHS * 1.05, pipe_s=0.1)
    over = a_vector_env(env_s=pipes_s / 4 / OUTWEIGHS * 0.95, pipe_s=0.1)

    assert found(under) == []
    assert len(found(over)) == 1


def test_silent_on_a_healthy_run():
    alone = a_run(steady_s=10.0).process("main", steps=1_000).spends(10.0, STEP)
    heavy = a_vector_env(env_s=8.0, pipe_s=0.2)

    assert found(alone) == []
    assert found(heavy) == []


def test_ranks_by_what_one_process_would_need():
    run = a_vector_env(env_s=0.2, pipe_s=1.5)

    first = ranked(run, TRAIN)[0]

    # Left: of 0.5 s of the policy and 4 x 0.2 s of the environments what is no wake-up, of 10 s. That is 0.13 with all of the wake-ups.
    assert first.finding.detector == DETECTOR.id
    assert 0.87 < first.saved_share.low < first.saved_share.high < 0.97


def test_threads_without_python_that_find_no_room_beside_the_master_may_go_on_as_they_do():
    """On two full cores: one is the master's, and the other one theirs for as long as the master works."""
    profile = profile_of(a_vector_env(env_s=0.2, pipe_s=1.5), TRAIN)
    assert profile.load.cores == 2

    def left(native_us: float) -> Range:
        load = replace(profile.load, saturated=True, native_us=round(native_us))
        (finding,) = DETECTOR.in_samples.detect(replace(profile, load=load))
        return finding.remainder.left

    alone = left(0)
    room_us = alone.high * profile.steady_us
    assert left(room_us) == alone
    assert left(room_us + 0.6 * profile.steady_us).low == alone.low
    assert left(room_us + 0.6 * profile.steady_us).high == pytest.approx(alone.high + 0.3, abs=0.01)


def test_environments_worth_a_worker_are_put_together_in_fewer_workers():
    run = a_vector_env(workers=8, env_s=1.2, pipe_s=1.0, steps=10_000)

    (finding,) = found(run)

    assert "Let 2 workers step several environments each" in finding.fix


def test_silent_where_environments_sleep_in_real_time():
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "2"})
    run.process("main", steps=1_000).spends(0.4, ASK, *GIVE).spends(9.6, HEAR, *TAKE, idle=True)
    robot = Script("robot.py", "def step(self):\n    time.sleep(0.02)\n")
    for number in range(4):
        run.process(f"robot {number}")
        run.spends(8.0, ANSWER, robot.at("sleep", "step"), idle=True)
        run.spends(0.1, ANSWER, *GIVE).spends(1.9, ORDER, *TAKE, idle=True)

    assert detect(DETECTOR, run, TRAIN, robot) == []


def test_workers_seen_asleep_all_over_their_code_were_waking_up():
    """The clock looks at the state of a thread, then at its stack: who wakes up in between seems to sleep there."""
    lines = [f"env.py:{number} GridWorld.step" for number in range(10, 30)]

    (quiet,) = found(a_vector_env(env_s=0.2, pipe_s=1.5))
    (waking,) = found(a_vector_env(env_s=0.2, pipe_s=1.5, asleep_on=lines))

    assert waking.remainder is not None
    assert quiet.remainder is not None
    assert waking.remainder.left == quiet.remainder.left


def test_environments_that_wait_for_a_simulator_do_so_in_one_process_too():
    run = a_vector_env(env_s=0.2, pipe_s=1.5, asleep_on=["env.py:9 GridWorld.render"])

    assert found(run) == []


def test_silent_for_actors_that_only_send():
    run = a_run(steady_s=10.0).process("learner", steps=1_000)
    run.spends(9.0, "learner.py:3 learn").spends(1.0, HEAR, *TAKE, idle=True)
    for number in range(4):
        run.process(f"actor {number}").spends(2.0, STEP).spends(8.0, ANSWER, *GIVE)

    assert found(run) == []


def test_silent_where_few_messages_are_counted():
    few = a_vector_env(env_s=0.2, pipe_s=1.5).counts("ipc_messages", 90_000 * MIN_MESSAGES)
    many = a_vector_env(env_s=0.2, pipe_s=1.5).counts("ipc_messages", 200_000)

    assert found(few) == []
    assert "200 000 messages in the steady phase, 2 per environment step" in found(many)[0].evidence


def test_messages_take_no_more_than_their_number_allows():
    """Stacks are taken as a worker falls asleep: 500 messages are no 9 s of work."""
    run = a_vector_env(env_s=0.2, pipe_s=1.5, steps=250).counts("ipc_messages", 500)

    assert found(run) == []


def test_without_counted_steps_a_message_and_its_answer_stand_for_one():
    run = a_vector_env(env_s=0.2, pipe_s=1.5, steps=0)

    assert found(run) == []
    (finding,) = found(run.counts("ipc_messages", 200_000))
    assert finding.evidence[1].startswith("a message and its answer takes")
    assert finding.evidence[2] == "200 000 messages in the steady phase"


@pytest.mark.parametrize(
    ("got_s", "queued_s", "expected"),
    [(18.0, 20.0, 1.0), (5.0, 0.0, 1.0), (5.0, 15.0, 3.5)],
    ids=["the run alone", "free cores", "others take most"],
)
def test_a_crowded_host_slows_down_one_process_too(got_s, queued_s, expected):
    load = HostLoad(round(got_s * 1e6), round(queued_s * 1e6), 20e6, cores=2.0)

    assert crowding(load, 10_000_000).high == pytest.approx(expected, rel=0.05)


ACTOR = Script(
    "actor.py",
    """
    def act(env, queue):
        while True:
            queue.put(env.step())

    def learn(queue):
        while True:
            update(queue.get())
    """,
)
PUT = (ACTOR.at("queue.put", "act"), f"{STDLIB}/multiprocessing/queues.py:94 Queue.put")
GET = (ACTOR.at("update(queue", "learn"), f"{STDLIB}/multiprocessing/queues.py:103 Queue.get")
UPDATE = "learner.py:3 update"


def a_stream(*, messages: float = 100_000, size: int = 200, answers: float = 0.0) -> RunBuilder:
    """Ten seconds of a learner and an actor, which makes 100 000 steps and sends ``messages``."""
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "2"}).process("main")
    run.counts("ipc_messages", answers)
    run.spends(4.0, *GET).spends(6.0, UPDATE)
    run.process("actor", steps=100_000)
    run.counts("ipc_messages", messages).counts("ipc_bytes", size * messages)
    return run.spends(3.0, *PUT).spends(7.0, STEP)


def test_steps_that_are_sent_one_by_one_to_somebody_who_does_not_answer():
    (finding,) = detect(DETECTOR, a_stream(), ACTOR)

    assert finding.title == f"each step is sent by itself (actor.py:{ACTOR.line('queue.put')})"
    assert lines_of(finding) == [ACTOR.line("queue.put")]
    assert finding.evidence[1].endswith("1 per environment step, and no answers")
    assert finding.savings[0].removable == IN_BATCHES


@pytest.mark.parametrize(
    "run",
    [
        a_stream(messages=5_000),
        a_stream(size=100_000),
        a_stream(answers=100_000),
        a_stream(messages=0),
    ],
    ids=["a message for many steps", "long messages", "each is answered", "none counted"],
)
def test_silent_on_streams_that(run: RunBuilder):
    assert detect(DETECTOR, run, ACTOR) == []


def test_silent_on_what_a_pool_of_threads_tells_itself():
    run = a_run(steady_s=10.0).process("main", steps=100_000)
    run.counts("ipc_messages", 100_000).counts("ipc_bytes", 400_000)

    assert detect(DETECTOR, run.spends(3.0, *PUT).spends(7.0, STEP), ACTOR) == []


FULL = (*PUT, f"{STDLIB}/multiprocessing/synchronize.py:95 SemLock.acquire")


def a_full_queue(*, messages: float, putting_s: float) -> RunBuilder:
    """Ten seconds of an actor that waits for eight of them until a learner, which waits for its GPU, has taken something."""
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "8"}).process("main")
    run.counts("ipc_messages", 0.0).spends(1.0, UPDATE)
    run.spends(9.0, UPDATE, f"{SITE}/torch/cuda/__init__.py:9 synchronize", idle=True)
    run.process("actor", steps=messages)
    run.counts("ipc_messages", messages).counts("ipc_bytes", 200 * messages)
    run.spends(8.0, *FULL, idle=True).spends(putting_s, *PUT)
    return run.spends(2.0 - putting_s, STEP)


def test_who_waits_for_room_in_a_queue_waits_for_the_other_ones_work():
    assert detect(DETECTOR, a_full_queue(messages=1_000, putting_s=0.0), ACTOR) == []


def test_stacks_of_who_falls_asleep_while_it_sends_are_no_more_than_its_messages_can_take():
    assert detect(DETECTOR, a_full_queue(messages=1_000, putting_s=1.5), ACTOR) == []


def test_of_waits_it_claims_no_more_than_its_messages_may_take_at_most():
    run = a_full_queue(messages=20_000, putting_s=1.0)

    (finding,) = detect(DETECTOR, run, ACTOR)

    removable = finding.savings[0].removable
    assert finding.evidence[0].startswith("10 % of the time is spent on messages")
    # A second of the wait is the learner's work. 150 µs and 200 bytes are of each message.
    assert removable.low == pytest.approx(IN_BATCHES.low * 1 / 8)
    assert removable.high == pytest.approx(IN_BATCHES.high * 3 / 8, rel=0.01)
