from __future__ import annotations

import pytest

from rlprof.detectors.model_publish import DETECTOR, MIN_SHARE
from rlprof.detectors.recognisers.processes.publishing import publishing_lines
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import (
    SITE,
    STDLIB,
    Script,
    detect,
    lines_of,
    profile_of,
    ranked,
)

TRAIN = Script(
    "train.py",
    """
    def publish(model, queues):
        weights = {name: it.cpu().numpy() for name, it in model.state_dict().items()}
        for queue in queues:
            queue.put(weights)

    def actor(commands, model, out):
        while True:
            command = commands.get()
            model.load_state_dict({name: torch.from_numpy(it) for name, it in command.items()})
            out.put(rollout(model))

    def learn(model, optimizer, out):
        batch = out.get()
        update(model, batch)
        torch.save(model.state_dict(), "model.pt")
    """,
)
QUEUES = f"{STDLIB}/multiprocessing/queues.py"
PICKLE = f"{STDLIB}/multiprocessing/reduction.py:51 ForkingPickler.dumps"
FEED = (f"{STDLIB}/threading.py:982 Thread.run", f"{QUEUES}:244 Queue._feed")
COPY = (TRAIN.at("weights = {", "publish"),)
PUT = (TRAIN.at("queue.put(weights)", "publish"), f"{QUEUES}:94 Queue.put")
TAKE = (
    TRAIN.at("commands.get()", "actor"),
    f"{QUEUES}:103 Queue.get",
    f"{STDLIB}/multiprocessing/connection.py:250 _ConnectionBase.recv_bytes",
)
UNPICKLE = (TRAIN.at("commands.get()", "actor"), f"{QUEUES}:122 Queue.get")
LOAD = (
    TRAIN.at("load_state_dict", "actor"),
    f"{SITE}/torch/nn/modules/module.py:2588 Module.load_state_dict",
)
UPDATE = TRAIN.at("update(model, batch)", "learn")
SAVE = (
    TRAIN.at("torch.save", "learn"),
    f"{SITE}/torch/nn/modules/module.py:2200 Module.state_dict",
)
ROLL = TRAIN.at("rollout(model)", "actor")


def a_learner(*, copy_s: float, put_s: float, feed_s: float, steps: float = 1_000) -> RunBuilder:
    """A learner that is busy for the whole of 10 s; its queue's thread pickles for ``feed_s``."""
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "8"}).process("main", steps=steps)
    run.spends(copy_s, *COPY).spends(put_s, *PUT).spends(10.0 - copy_s - put_s, UPDATE)
    if feed_s:
        run.thread("QueueFeederThread").spends(feed_s, *FEED, PICKLE)
        run.spends(10.0 - feed_s, *FEED, idle=True)
    return run


def an_actor(run: RunBuilder, *, take_s: float, load_s: float) -> RunBuilder:
    run.process("actor").spends(take_s, *UNPICKLE).spends(load_s, *LOAD)
    return run.spends(10.0 - take_s - load_s, ROLL)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, TRAIN)


def test_finds_weights_that_are_sent_at_every_update():
    run = an_actor(a_learner(copy_s=2.0, put_s=1.0, feed_s=3.0), take_s=1.0, load_s=1.0)

    (finding,) = found(run.counts("updates", 1_000))

    assert (
        finding.title
        == "the model's weights are sent to other processes again and again at train.py:2"
    )
    assert lines_of(finding)[:2] == [TRAIN.line("weights = {"), TRAIN.line("queue.put(weights)")]
    assert finding.evidence[0].startswith("35 % of the busy time of all threads")
    assert "pickling beside it, for a queue 13 %" in finding.evidence[0]
    assert "8 ms for each of 1 000 optimizer steps" in finding.evidence[1]


def test_silent_just_under_its_threshold():
    under = a_learner(copy_s=10.0 * MIN_SHARE * 0.8, put_s=0.01, feed_s=0)
    over = a_learner(copy_s=10.0 * MIN_SHARE * 1.1, put_s=0.01, feed_s=0)

    assert found(under) == []
    assert len(found(over)) == 1


def test_silent_on_a_healthy_run():
    run = a_run(steady_s=10.0).process("main", steps=1_000).spends(10.0, UPDATE)

    assert found(run) == []


def test_ranks_by_its_price_on_the_critical_thread():
    run = an_actor(a_learner(copy_s=3.0, put_s=2.0, feed_s=4.0), take_s=1.0, load_s=1.0)

    first = ranked(run, TRAIN)[0]

    # Of the learner alone: what the queue's thread pickles and the actor loads is beside it.
    assert first.finding.detector == DETECTOR.id
    assert first.saved_share.low < 0.5 * 0.9 < first.saved_share.high
    assert first.saved_share.high < 0.68


def test_on_full_cores_the_thread_that_pickles_counts_too():
    """Shares as they were seen where a fix saved 0.40 (docs/pricing.md)."""
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "2"}).process("main", steps=1_000)
    run.spends(0.8, *COPY).spends(0.4, *PUT).spends(8.8, UPDATE, cpu=0.75)
    run.thread("QueueFeederThread").spends(6.0, *FEED, PICKLE, cpu=0.8).spends(
        4.0, *FEED, idle=True
    )
    run = an_actor(run, take_s=1.5, load_s=1.0)

    first = ranked(run, TRAIN)[0]

    assert first.finding.detector == DETECTOR.id
    assert first.saved_share.low < 0.40 < first.saved_share.high


def test_the_learners_wait_for_the_interpreter_lock_is_claimed():
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": "8"}).process("main", steps=1_000)
    run.spends(0.5, *COPY).spends(0.5, *PUT).spends(6.0, UPDATE)
    run.spends(3.0, UPDATE, f"{SITE}/torch/optim/sgd.py:9 step", idle=True)
    run.thread("QueueFeederThread").spends(6.0, *FEED, PICKLE).spends(4.0, *FEED, idle=True)

    first = ranked(run, TRAIN)[0]

    assert first.finding.detector == DETECTOR.id
    assert first.saved_share.low < 0.4 * 0.9 < first.saved_share.high
    assert first.saved_share.low > 0.25


def test_waiting_for_orders_is_not_the_cost_of_weights():
    run = a_learner(copy_s=0.2, put_s=0.1, feed_s=0.5)
    run.process("actor", steps=1_000).spends(8.0, *TAKE, idle=True).spends(1.0, *TAKE)
    run.spends(1.0, ROLL)

    (finding,) = found(run)
    tree = profile_of(run, TRAIN).steady
    claimed_s = sum(
        tree.self_cost(node).wall_us * saving.removable.high / 1e6
        for saving in finding.savings
        for node in saving.nodes
    )

    assert claimed_s < 2.0


def test_a_policy_that_is_sent_now_and_then_is_no_cost():
    rare = a_learner(copy_s=0.1, put_s=0.1, feed_s=1.0).counts("ipc_messages", 8)
    often = a_learner(copy_s=0.1, put_s=0.1, feed_s=1.0).counts("ipc_messages", 8_000)

    assert found(rare) == []
    assert len(found(often)) == 1


def test_a_checkpoint_is_no_publishing():
    run = a_run(steady_s=10.0).process("main", steps=1_000)
    run.spends(5.0, *SAVE).spends(5.0, UPDATE)

    assert found(run) == []


def test_threads_of_queues_for_other_things_are_not_claimed():
    run = a_learner(copy_s=0.5, put_s=0.1, feed_s=2.0)
    other = a_run(steady_s=10.0).process("main", steps=1_000)
    other.spends(0.5, *COPY).spends(0.1, *PUT)
    other.spends(1.0, TRAIN.at("out.put", "actor"), f"{QUEUES}:94 Queue.put").spends(8.4, UPDATE)
    other.thread("QueueFeederThread").spends(2.0, *FEED, PICKLE).spends(8.0, *FEED, idle=True)

    assert "pickling beside it" in found(run)[0].evidence[0]
    assert "pickling beside it" not in found(other)[0].evidence[0]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("def f(q, model):\n    q.put(model.state_dict())\n", {2: "send"}),
        ("def f(c, net):\n    w = copy.deepcopy(net)\n    c.send(w)\n", {2: "copy", 3: "send"}),
        ("def f(c, m):\n    m.load_state_dict(c.recv())\n", {2: "take"}),
        ("def f(c, m):\n    got = c.recv()\n    m.load_state_dict(got)\n", {2: "take", 3: "load"}),
        ("def f(q, weights):\n    q.put(weights.copy())\n", {2: "send"}),
        ("def f(q, batch, weights):\n    q.put((batch, weights))\n", {}),
        ("def f(target, m):\n    target.load_state_dict(m.state_dict())\n", {}),
        ("def f(m):\n    m.load_state_dict(torch.load('a.pt'))\n", {}),
        ("def f(m):\n    best = copy.deepcopy(m.state_dict())\n", {}),
        # What a copy answers is no weights.
        (
            "def f(q, net):\n    mine = copy.deepcopy(net)\n    seen = mine(obs).numpy()\n    q.put(seen)\n",
            {},
        ),
        (
            "def f(q, net):\n    mine = copy.deepcopy(net)\n    act = mine.act(obs)\n    q.put(act)\n",
            {},
        ),
        (
            "def f(q, net):\n    mine = copy.deepcopy(net)\n    w = mine.state_dict()\n    q.put(w)\n",
            {2: "copy", 3: "copy", 4: "send"},
        ),
        (
            "def f(q, net):\n    w = copy.deepcopy(net.state_dict())\n    p = list(w.items())\n    q.put(p)\n",
            {2: "copy", 4: "send"},
        ),
        ("def publish_weights(m, shared):\n    shared.update(m.state_dict())\n", {2: "copy"}),
        ("def broken(:\n", {}),
    ],
)
def test_tells_weights_for_others_from_targets_and_checkpoints(text, kinds):
    assert publishing_lines(text) == kinds


PULLS = Script(
    "actor.py",
    """
    class Board:
        def pull(self, net):
            flat = self.raw.copy()
            vector_to_parameters(flat, net.parameters())

    def act(env, board, net):
        while True:
            for t in range(20):
                board.pull(net)
                env.step(choose(net))

    def act_in_rollouts(env, board, net):
        while True:
            board.pull(net)
            for t in range(20):
                env.step(choose(net))

    def act_when_there_are_new_ones(env, board, net):
        while True:
            if board.version != net.version:
                board.pull(net)
            env.step(choose(net))

    def learn(net, batch):
        target.load_state_dict(net.state_dict())
        env.step(0)
    """,
)
FLAT = PULLS.at("flat = self.raw", "Board.pull")
VECTOR = PULLS.at("vector_to_parameters", "Board.pull")
TO_PARAMETERS = f"{SITE}/torch/nn/utils/convert_parameters.py:60 vector_to_parameters"
STEP_ENV = f"{SITE}/gymnasium/core.py:300 Wrapper.step"


def actors_that_pull(function: str, *, trains: bool = False) -> list[Finding]:
    """Ten seconds of an actor, four of them in weights that it takes and loads; ``trains``: it steps an optimizer, too."""
    pull, step = (
        f"{PULLS.file}:{PULLS.line(f'def {function}(') + line} {function}"
        for line in ((2, 4) if function == "act_in_rollouts" else (3, 4))
    )
    run = a_run(steady_s=10.0).process("main", steps=1_000).counts("updates", 500)
    run.spends(2.0, PULLS.at("target.load_state_dict", "learn"))
    run.spends(8.0, PULLS.at("env.step(0)", "learn"), *TAKE[1:], idle=True)
    run.process("actor")
    if trains:
        run.counts("updates", 500)
    run.spends(1.0, pull, FLAT).spends(3.0, pull, VECTOR, TO_PARAMETERS)
    # What begins an episode is no step.
    run.spends(5.0, step, STEP_ENV).spends(1.0, pull, STEP_ENV.replace("step", "reset"))
    return [
        finding
        for finding in detect(DETECTOR, run, PULLS)
        if finding.title.startswith("weights are loaded")
    ]


def test_weights_that_an_actor_loads_at_each_step_are_told():
    (finding,) = actors_that_pull("act")

    line = PULLS.line("board.pull(net)")
    assert finding.title == f"weights are loaded anew at each step (actor.py:{line})"
    assert lines_of(finding) == [line]
    assert "once per rollout" in finding.fix


@pytest.mark.parametrize(
    ("function", "trains"),
    [("act_in_rollouts", False), ("act_when_there_are_new_ones", False), ("act", True)],
)
def test_silent_for_rollouts_and_for_who_trains(function, trains):
    assert actors_that_pull(function, trains=trains) == []
