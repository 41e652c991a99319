from __future__ import annotations

import pytest

from rlprof.detectors.pickle_heavy import DETECTOR, MIN_SHARE
from rlprof.detectors.recognisers.processes.transport import LARGE_BYTES
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, STDLIB, Script, detect, lines_of, ranked

TRAIN = Script(
    "train.py",
    """
    def worker(env, rollouts):
        while True:
            rollouts.put(collect(env))

    def publish(model, queue):
        weights = model.state_dict()
        queue.put(weights)

    def evolve(task, tasks):
        with Pool() as pool:
            pool.map(task, tasks)

    def train(rollouts):
        while True:
            batch = rollouts.get()
            update(batch)
    """,
)
QUEUES = f"{STDLIB}/multiprocessing/queues.py"
CONNECTION = f"{STDLIB}/multiprocessing/connection.py"
FEED = (f"{STDLIB}/threading.py:982 Thread.run", f"{QUEUES}:244 Queue._feed")
PICKLE = (*FEED, f"{STDLIB}/multiprocessing/reduction.py:51 ForkingPickler.dumps")
WRITE = (*FEED, f"{CONNECTION}:384 Connection._send")
PUT = (TRAIN.at("rollouts.put", "worker"), f"{QUEUES}:94 Queue.put")
PUT_WEIGHTS = (TRAIN.at("queue.put(weights)", "publish"), f"{QUEUES}:94 Queue.put")
COLLECT = (TRAIN.at("collect(env)", "worker"), "env.py:7 Breakout.step")
UNPICKLE = (TRAIN.at("rollouts.get", "train"), f"{QUEUES}:122 Queue.get")
READ = (
    TRAIN.at("rollouts.get", "train"),
    f"{QUEUES}:103 Queue.get",
    f"{CONNECTION}:395 Connection._recv",
)
UPDATE = TRAIN.at("update(batch)", "train")
POOL = f"{STDLIB}/multiprocessing/pool.py"
POOL_MAP = TRAIN.at("pool.map", "evolve")
MAKES_POOL = TRAIN.at("with Pool", "evolve")
SEND = f"{CONNECTION}:384 Connection._send"
REDUCE = f"{SITE}/torch/multiprocessing/reductions.py:613 reduce_storage"
RECEIVE = f"{CONNECTION}:395 Connection._recv"
MIB = 1024 * 1024


def a_training(*, unpickle_s: float = 2.0, read_s: float = 2.0, cores: int = 8) -> RunBuilder:
    """A main process that is busy for the whole of 10 s."""
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": str(cores)})
    run.process("main", steps=1_000).spends(unpickle_s, *UNPICKLE).spends(read_s, *READ)
    return run.spends(10.0 - unpickle_s - read_s, UPDATE)


def a_sender(run: RunBuilder, *, mean_bytes: float, pickle_s: float = 2.0) -> RunBuilder:
    run.process("worker").counts("ipc_messages", 400).counts("ipc_bytes", 400 * mean_bytes)
    run.spends(0.1, *PUT).spends(9.9, *COLLECT)
    run.thread("QueueFeederThread").spends(pickle_s, *PICKLE).spends(1.0, *WRITE)
    return run.spends(7.0 - pickle_s, *FEED, idle=True)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, TRAIN)


def test_finds_large_messages_and_the_lines_that_send_and_take_them():
    (finding,) = found(a_sender(a_training(), mean_bytes=MIB))

    assert finding.title == "messages of 1.0 MiB are pickled and copied between processes"
    assert lines_of(finding) == [TRAIN.line("rollouts.get"), TRAIN.line("rollouts.put")]
    assert "400 messages of 1.0 MiB on average" in finding.evidence[1]
    assert "409.6 KiB per step" in finding.evidence[1]
    assert "shared memory" in finding.fix


def test_what_a_pool_moves_is_of_the_line_that_gives_it_its_tasks():
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "8"}).process("main", steps=1_000)
    run.counts("ipc_messages", 400).counts("ipc_bytes", 400 * MIB)
    run.spends(8.0, POOL_MAP, f"{POOL}:367 Pool.map", idle=True).spends(2.0, UPDATE)
    run.thread("Thread-1 (_handle_tasks)").spends(5.0, f"{POOL}:540 Pool._handle_tasks", SEND)
    run.process("worker").spends(3.0, MAKES_POOL, f"{POOL}:114 worker", RECEIVE)
    run.spends(7.0, MAKES_POOL, f"{POOL}:125 worker", *COLLECT)

    (finding,) = found(run)

    assert lines_of(finding) == [TRAIN.line("pool.map")]


def test_silent_just_under_its_threshold():
    small = a_sender(a_training(), mean_bytes=LARGE_BYTES * 0.9)
    large = a_sender(a_training(), mean_bytes=LARGE_BYTES * 1.1)

    assert found(small) == []
    assert len(found(large)) == 1


@pytest.mark.parametrize(("part", "number"), [(0.8, 0), (1.2, 1)], ids=["under", "over"])
def test_silent_where_it_takes_little(part, number):
    # 20 s of busy time: the main process's and the worker's.
    run = a_training(unpickle_s=20.0 * MIN_SHARE * part, read_s=0.0)
    run.process("worker").counts("ipc_messages", 400).counts("ipc_bytes", 400 * MIB)

    assert len(found(run.spends(10.0, *COLLECT))) == number


def test_silent_on_a_healthy_run():
    run = a_training(unpickle_s=0.0, read_s=0.0)
    run.process("worker").counts("ipc_messages", 400).counts("ipc_bytes", 4_000)

    assert found(run.spends(10.0, *COLLECT)) == []


def test_ranks_by_its_price_on_the_critical_thread():
    first = ranked(a_sender(a_training(), mean_bytes=MIB), TRAIN)[0]

    # The main process unpickles and reads for 4 of 10 s; the worker's thread is beside it.
    assert first.finding.detector == DETECTOR.id
    assert first.saved_share.low < 0.38 < first.saved_share.high
    assert first.saved_share.high < 0.58


def test_of_messages_that_are_hardly_large_half_is_saved():
    (hardly,) = found(a_sender(a_training(), mean_bytes=LARGE_BYTES))
    (large,) = found(a_sender(a_training(), mean_bytes=4 * MIB))

    assert hardly.savings[0].removable.low < 0.5 < hardly.savings[0].removable.high
    assert large.savings[0].removable.low > 0.9


def test_waiting_for_a_message_is_not_its_cost():
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "8"}).process("main", steps=1_000)
    run.spends(1.0, *READ).spends(8.0, *READ, idle=True).spends(1.0, UPDATE)
    run = a_sender(run, mean_bytes=MIB)

    (priced,) = [
        finding for finding in ranked(run, TRAIN) if finding.finding.detector == DETECTOR.id
    ]

    assert priced.saved_share.high < 0.3


def test_without_counts_nothing_tells_that_messages_are_large():
    run = a_training()
    run.process("worker").spends(10.0, *COLLECT)

    assert found(run) == []


def test_tensors_sent_one_by_one_need_no_counts():
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "8"}).process("main", steps=1_000)
    run.spends(4.0, *UNPICKLE, REDUCE).spends(6.0, UPDATE)
    run.process("worker").spends(10.0, *COLLECT)

    (finding,) = found(run)

    assert finding.title == "each tensor goes to other processes in memory of its own"
    assert "20 % of the busy time opens, passes and maps" in finding.evidence[1]


def test_what_is_waited_for_a_descriptor_goes_with_the_tensors():
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "8"}).process("main", steps=1_000)
    run.spends(2.0, *UNPICKLE, REDUCE).spends(4.0, *UNPICKLE, REDUCE, RECEIVE, idle=True)
    run.spends(4.0, UPDATE)
    run.process("worker").spends(0.1, *PUT).spends(9.9, idle=True)

    priced = ranked(run, TRAIN)[0]

    assert priced.finding.detector == "pickle-heavy"
    assert priced.saved_share.low > 0.3
    assert priced.saved_share.high > 0.6


def test_weights_are_another_finding():
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "8"}).process("main", steps=1_000)
    run.counts("ipc_messages", 400).counts("ipc_bytes", 400 * MIB)
    run.spends(1.0, *PUT_WEIGHTS).spends(9.0, UPDATE)
    run.thread("QueueFeederThread").spends(5.0, *PICKLE).spends(5.0, *FEED, idle=True)

    assert found(run) == []
    assert [finding.finding.detector for finding in ranked(run, TRAIN)][:1] == ["model-publish"]
