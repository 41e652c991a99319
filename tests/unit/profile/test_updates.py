from __future__ import annotations

from rlprof.profile.build import build_profile
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, STDLIB, Script

GYM = f"{SITE}/gymnasium/envs/classic_control/cartpole.py:130 CartPoleEnv.step"
LINEAR = f"{SITE}/torch/nn/modules/linear.py:125 Linear.forward"
BACKWARD = f"{SITE}/torch/autograd/__init__.py:300 backward"
RECV = f"{STDLIB}/multiprocessing/connection.py:382 Connection._recv"
NO_GRAD = f"{SITE}/torch/utils/_contextlib.py:120 decorate_context"

LEARN = f"{SITE}/somelib/loop.py:30 Algorithm.learn"
COLLECT = f"{SITE}/somelib/loop.py:44 Algorithm.collect"
TRAIN = f"{SITE}/somelib/dqn.py:{{}} DQN.train"

ONE_FILE = Script(
    "ppo.py",
    """
    while True:
        for step in range(128):
            action = agent.both(obs)
            obs = env.step(action)
        value = agent.both(obs)
        for epoch in range(4):
            for batch in batches:
                ratio = agent.both(batch)
                loss = ratio.mean()
                loss.backward()
    """,
)


def part_of(run: RunBuilder, *stack: str) -> str:
    """The component of what is at the end of a stack of the run."""
    return build_profile(run.spends(1.0, *stack).recording()).parts[-1]


def a_library_s_training() -> RunBuilder:
    run = a_run().process("main")
    run.spends(1.0, "main.py:3 <module>", LEARN, COLLECT, GYM)
    return run.spends(1.0, "main.py:3 <module>", LEARN, TRAIN.format(221), BACKWARD)


def test_a_network_asked_beside_the_gradients_is_learning_in_any_library():
    run = a_library_s_training()

    assert part_of(run, "main.py:3 <module>", LEARN, TRAIN.format(210), LINEAR) == "learning"


def test_a_network_asked_while_collecting_is_inference():
    run = a_library_s_training()

    assert part_of(run, "main.py:3 <module>", LEARN, COLLECT, LINEAR) == "inference"


def test_what_calls_the_function_of_the_gradients_is_of_the_update_too():
    run = a_library_s_training()
    ask = f"{SITE}/somelib/dqn.py:300 DQN.targets"
    run.spends(1.0, "main.py:3 <module>", LEARN, TRAIN.format(230), "helper.py:8 apply", BACKWARD)

    assert part_of(run, "main.py:3 <module>", LEARN, TRAIN.format(228), ask, LINEAR) == "learning"


def test_in_one_file_the_block_around_the_gradients_is_the_update():
    run = a_run().process("main").source(ONE_FILE.file, ONE_FILE.text)
    run.spends(1.0, ONE_FILE.at("env.step", "<module>"), GYM)
    run.spends(1.0, ONE_FILE.at("backward", "<module>"), BACKWARD)
    both = "nets.py:5 Agent.both"

    parts = [
        part_of(run, ONE_FILE.at(line, "<module>"), both, LINEAR)
        for line in ("action =", "value =", "ratio =")
    ]

    assert parts == ["inference", "inference", "learning"]


AT_ONCE = Script(
    "team.py",
    """
    def pick(network, seen):
        chosen = {}
        for name, row in seen.items():
            with torch.no_grad():
                odds = network(row)
            chosen[name] = int(odds.argmax())
        return chosen

    def optimise(network, arena):
        while True:
            taken = []
            for _ in range(100):
                moves = pick(network, seen)
                taken.append(moves)
                seen, gained = arena.move(moves)
            logits = network(taken)
            loss = -(logits * gained).mean()
            loss.backward()
    """,
)


def test_a_rollout_whose_helper_switches_gradients_off_is_no_update():
    """Nobody knows that ``move`` steps an environment, and the function has the name of an update."""
    function, row = AT_ONCE.at("moves = pick", "optimise"), AT_ONCE.at("odds = network", "pick")
    run = a_run().process("main").source(AT_ONCE.file, AT_ONCE.text)
    run.spends(1.0, AT_ONCE.at("loss.backward()", "optimise"), BACKWARD)
    run.spends(1.0, AT_ONCE.at("logits = network", "optimise"), LINEAR)
    run.spends(1.0, AT_ONCE.at("seen, gained = ", "optimise"), "arena.py:9 Arena.move")
    run.spends(4.0, function, row, LINEAR)

    profile = build_profile(run.recording())

    by_line = {node.frame.line: profile.parts[node.id] for node in profile.steady.nodes}
    assert by_line[AT_ONCE.line("logits = network")] == "learning"
    assert by_line[9] == "other", "Arena.move"
    assert profile.parts[-1] == "inference", "the network in pick"


def test_a_learner_that_answers_its_workers_is_no_update_where_it_does():
    run = a_run().process("main")
    run.spends(1.0, "learner.py:10 serve", RECV)
    run.spends(1.0, "learner.py:14 serve", "learner.py:30 improve", BACKWARD)

    assert part_of(run, "learner.py:11 serve", LINEAR) == "inference"
    assert part_of(run, "learner.py:14 serve", "learner.py:28 improve", LINEAR) == "learning"


def test_threads_and_wrappers_of_a_framework_are_no_part_of_an_update():
    bootstrap = f"{STDLIB}/threading.py:1038 Thread._bootstrap_inner"
    run = a_run().process("main")
    run.spends(1.0, bootstrap, "learner.py:9 Learner.run", NO_GRAD, "learner.py:30 f", BACKWARD)

    assert part_of(run, bootstrap, "server.py:5 Server.run", LINEAR) == "inference"


def test_samples_drawn_for_an_update_stay_data():
    run = a_library_s_training()
    sample = f"{SITE}/stable_baselines3/common/buffers.py:110 ReplayBuffer.sample"

    assert (
        part_of(run, "main.py:3 <module>", LEARN, TRAIN.format(205), sample) == "data preparation"
    )


def test_parts_of_a_library_s_training_add_up():
    run = a_library_s_training()
    run.spends(6.0, "main.py:3 <module>", LEARN, TRAIN.format(210), LINEAR)

    profile = build_profile(run.recording())

    shares = {part.name: round(part.share, 2) for part in profile.components}
    assert shares["learning"] == 0.88
    assert "inference" not in shares


POOL = Script(
    "pool.py",
    """
    while True:
        for step in range(50):
            chosen = net(obs)
            results = list(pool.map(Loom.pick, looms, chosen))
            losses.append(chosen * results)
        loss = losses.mean()
        loss.backward()
    """,
)


def test_what_a_pool_is_given_or_waited_for_is_no_learning():
    run = a_run().process("main", steps=100).source(POOL.file, POOL.text)
    hands = POOL.at("pool.map", "<module>")
    futures = f"{STDLIB}/concurrent/futures/{{}}"
    run.spends(1.0, POOL.at("net(obs)", "<module>"), LINEAR)
    run.spends(1.0, POOL.at("backward", "<module>"), BACKWARD)
    run.spends(6.0, hands, futures.format("_base.py:451 Future.result"), idle=True)
    run.thread("pool").spends(4.0, futures.format("thread.py:81 _worker"), "looms.py:8 pick", GYM)

    parts = {part.name: part.share for part in build_profile(run.recording()).components}
    given = part_of(run.thread("main"), hands, futures.format("thread.py:161 submit"))

    assert parts["learning"] < 0.3
    assert parts["environment"] > 0.3
    assert given == "transfer"


def test_work_of_a_forked_worker_is_not_transfer_as_its_stack_goes_through_who_made_the_pool():
    pool = f"{STDLIB}/multiprocessing/pool.py:{{}}"
    begins = f"{STDLIB}/multiprocessing/process.py:314 BaseProcess._bootstrap"
    stack = ("main.py:9 <module>", pool.format("329 Pool._repopulate_pool_static"), begins)
    worker = (*stack, pool.format("125 worker"), pool.format("48 mapstar"))
    run = a_run().process("main", steps=100)

    assert part_of(run, *worker, "es.py:7 roll") == "other"
    assert part_of(run, "main.py:9 <module>", pool.format("364 Pool.map")) == "transfer"
