from __future__ import annotations

import pytest

from rlprof.detectors.python_env_loop import DETECTOR, DISPATCH_US, MIN_SHARE
from rlprof.model.finding import Confidence, Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import (
    SITE,
    STDLIB,
    Script,
    claimed_s,
    detect,
    lines_of,
    profile_of,
    ranked,
)

STEPS = 50_000
"""In ten seconds: 200 µs a step."""

TRAIN = Script(
    "train.py",
    """
    import torch

    NUM_ENVS = 16

    def act(policy, observations):
        actions = []
        for observation in observations:
            logits = policy(torch.as_tensor(observation))
            actions.append(int(torch.distributions.Categorical(logits=logits).sample()))
        return actions

    def step_all(envs, actions):
        for env, action in zip(envs, actions):
            env.step(action)

    def train(policy, optimizer):
        envs = [make() for _ in range(NUM_ENVS)]
        while True:
            step_all(envs, act(policy, observations))
            loss = policy(batch).mean()
            loss.backward()
    """,
)
ASK = TRAIN.at("logits = policy", "act")
DRAW = TRAIN.at("actions.append", "act")
CALL = TRAIN.at("step_all(envs, act", "train")
STEP = TRAIN.at("env.step(action)", "step_all")
FORWARD = f"{SITE}/torch/nn/modules/module.py:1500 Module._call_impl"
CATEGORICAL = f"{SITE}/torch/distributions/categorical.py:60 Categorical.__init__"


def a_training(*, steps: float = STEPS) -> RunBuilder:
    return a_run("train.py", steady_s=10.0).process("main", steps=steps)


def asking_one_by_one(seconds: float, *, steps: float = STEPS) -> RunBuilder:
    run = a_training(steps=steps)
    run.spends(seconds * 0.2, CALL, ASK)
    run.spends(seconds * 0.4, CALL, ASK, FORWARD)
    run.spends(seconds * 0.4, CALL, DRAW, CATEGORICAL)
    return run.spends(10.0 - seconds, CALL, STEP, f"{SITE}/ale_py/env.py:9 AtariEnv.step")


def found(run: RunBuilder, script: Script = TRAIN) -> list[Finding]:
    return detect(DETECTOR, run, script)


def test_claims_the_policy_asked_for_each_environment():
    run = asking_one_by_one(6.0)

    (finding,) = found(run)

    assert claimed_s(profile_of(run, TRAIN), finding) == pytest.approx(6.0)
    assert lines_of(finding)[0] == TRAIN.line("logits = policy")
    assert any("16 environments" in text for text in finding.evidence)
    assert finding.confidence is Confidence.MEASURED


def test_silent_just_under_its_threshold():
    assert found(asking_one_by_one(10 * MIN_SHARE * 0.9)) == []
    assert len(found(asking_one_by_one(10 * MIN_SHARE * 1.1))) == 1


def test_ranks_by_its_price():
    first = ranked(asking_one_by_one(6.0), TRAIN)[0]

    assert first.finding.detector == DETECTOR.id
    # Of 16 passes one to two are left, and a little for the rows.
    assert first.saved_share.low < 0.6 * (1 - 1.5 / 16) < first.saved_share.high


HEALTHY = Script(
    "healthy.py",
    """
    import torch

    def rollout(policy, envs):
        actions = policy(torch.as_tensor(observations)).tolist()
        for env, action in zip(envs, actions):
            env.step(action)
        for policy, observation in zip(policies, observations):
            policy(torch.as_tensor(observation))
        for index in range(num_envs):
            agents[index](observations[index])
        for batch in minibatches:
            loss = policy(batch).mean()
        for observation in observations:
            loss = policy(torch.as_tensor(observation)).mean()
            loss.backward()
    """,
)


@pytest.mark.parametrize(
    "piece",
    ["actions = policy", "env.step(action)", "policy(torch.as_tensor(observation))", "agents[index]",
     "loss = policy(batch)", "loss = policy(torch"],
)  # fmt: skip
def test_silent_on_a_healthy_run(piece):
    """One batch; steps alone; a policy for each agent; mini-batches; training one by one."""
    run = a_training()
    run.spends(5.0, HEALTHY.at(piece, "rollout"), FORWARD)
    run.spends(5.0, HEALTHY.at(piece, "rollout"))

    assert found(run, HEALTHY) == []


def test_an_agents_own_method_is_claimed_with_what_it_calls():
    script = Script(
        "agent.py",
        """
        class Agent:
            def act(self, observation):
                return int(self.scores(observation).argmax())

            def scores(self, observation):
                return self.net(torch.as_tensor(observation))

        def rollout(agent, envs, observations):
            actions = [agent.act(observation) for observation in observations]
        """,
    )
    run = a_training()
    outer, act = script.at("actions =", "rollout"), script.at("return int", "Agent.act")
    run.spends(2.0, outer, script.at("actions =", "rollout.<locals>.<listcomp>"), act)
    run.spends(
        3.0, outer, script.at("actions =", "rollout.<locals>.<listcomp>"), act,
        script.at("self.net", "Agent.scores"),
    )  # fmt: skip
    run.spends(5.0, outer, "other.py:3 wait")

    (finding,) = found(run, script)

    assert claimed_s(profile_of(run, script), finding) == pytest.approx(5.0)


def test_the_environment_on_the_same_line_is_left_out():
    script = Script(
        "loop.py",
        """
        def rollout(policy, envs):
            for env in envs:
                env.step(policy(torch.as_tensor(env.state)))
        """,
    )
    line = script.at("env.step", "rollout")
    run = a_training()
    run.spends(2.0, line)
    run.spends(5.0, line, FORWARD)
    run.spends(3.0, line, "world.py:8 World.step")

    (finding,) = found(run, script)

    assert claimed_s(profile_of(run, script), finding) == pytest.approx(5.0)


def test_a_long_pass_keeps_its_arithmetic():
    short, long = asking_one_by_one(8.0), asking_one_by_one(8.0, steps=1000)

    ranges = [found(run)[0].savings[0].removable for run in (short, long)]

    # 160 µs and 8 ms a step: of the latter only the calls are sure to go.
    assert ranges[0].low > 0.8
    assert ranges[1].low == pytest.approx(ranges[0].low * DISPATCH_US / 8000)


def test_an_unknown_count_widens_the_range():
    script = Script("train.py", TRAIN.text.replace("NUM_ENVS = 16", "NUM_ENVS = ask()"))

    (finding,) = found(asking_one_by_one(6.0), script)

    assert finding.confidence is Confidence.BOUNDED
    assert finding.savings[0].removable.low < 0.5


def test_the_command_line_tells_the_count():
    script = Script(
        "train.py",
        TRAIN.text.replace("range(NUM_ENVS)", "range(options.num_envs)").replace(" = 16", " = 4"),
    )
    run = asking_one_by_one(6.0).with_run(command=("python", "train.py", "--num-envs", "32"))

    (finding,) = found(run, script)

    assert any("32 environments" in text for text in finding.evidence)


AGENTS = Script(
    "train.py",
    """
    import torch

    NUM_ENVS = 2
    NUM_AGENTS = 8

    def act(net, envs, observations, actions):
        for env in range(NUM_ENVS):
            for agent in range(NUM_AGENTS):
                logits = net(torch.from_numpy(observations[env, agent]))
                actions[env, agent] = logits.argmax()
    """,
)


@pytest.mark.parametrize(
    ("change", "rows"),
    [
        (("", ""), " with 8 rows each"),
        (("observations[env, agent]", "observations[env]"), ""),
        (
            (
                "logits = net(torch.from_numpy(observations[env, agent]))",
                "x = observations[env, agent]; logits = net(x)",
            ),
            " with 8 rows each",
        ),
        (
            (
                "logits = net(torch.from_numpy(observations[env, agent]))",
                "x = seen + observations[env, agent]; seen = x; logits = net(x)",
            ),
            "",
        ),
        (("= logits.argmax()", "= envs[env].step(logits.argmax())"), ""),
        (("observations[env, agent]", "observations[env, agent], actions"), ""),
        (("logits = net(", "state = logits = net(state, "), ""),
    ],
    ids=[
        "agents",
        "not by agent",
        "a row of its own",
        "one of the rows before",
        "one after the other",
        "by the others' actions",
        "by a state",
    ],
)
def test_several_agents_of_each_environment_are_rows_of_one_batch(change, rows):
    script = Script("train.py", AGENTS.text.replace(*change) if change[0] else AGENTS.text)
    run = a_training()
    run.spends(6.0, script.at("logits = net", "act"), FORWARD)
    run.spends(4.0, "train.py:1 other")

    (finding,) = found(run, script)

    assert finding.evidence[1] == f"in the loop from line 8, over 2 environments{rows}"
    assert (finding.savings[0].removable.low > 0.5) == bool(rows)


PLAIN = Script(
    "grid.py",
    """
    import numpy as np

    class Grid:
        def step(self, action):
            self.x = min(7, self.x + action)
            picture = np.zeros((64, 64))
            for creature in self.creatures:
                creature.move()
            return self.x

    def rollout(actions):
        for env, action in zip(envs, actions):
            env.step(action)

    envs = [Grid() for _ in range(128)]
    """,
)


def stepping(seconds: float, piece: str) -> RunBuilder:
    run = a_training()
    at = PLAIN.at("env.step", "rollout")
    run.spends(seconds, at, PLAIN.at(piece, "Grid.step"))
    return run.spends(10.0 - seconds, "train.py:3 learn")


def test_many_plain_environments_are_worth_arrays():
    (finding,) = found(stepping(8.0, "self.x = min"), PLAIN)

    assert "stepped one by one" in finding.title
    assert finding.savings[0].removable == pytest.approx((1 - 90 / 128, 1 - 30 / 128))


@pytest.mark.parametrize("piece", ["picture =", "creature.move"])
def test_environments_that_do_more_than_plain_arithmetic_are_left_alone(piece):
    assert found(stepping(8.0, piece), PLAIN) == []


def test_few_plain_environments_are_left_alone():
    few = Script("grid.py", PLAIN.text.replace("range(128)", "range(16)"))

    assert found(stepping(8.0, "self.x = min"), few) == []


@pytest.mark.parametrize(
    "line",
    [
        "return torch.tensor([list(map(float, o)) for o in obs])",
        "return torch.stack([torch.as_tensor(o) for o in obs])",
        "return policy(torch.stack([torch.from_numpy(o) for o in obs]))",
    ],
)
def test_data_made_ready_for_one_call_asks_no_policy(line):
    script = Script("train.py", f"import torch\n\ndef batch(policy, obs):\n    {line}\n")
    run = a_training().spends(9.0, script.at("return", "batch"))
    run.spends(1.0, script.at("return", "batch"), FORWARD)

    assert found(run, script) == []


FLOCK = Script(
    "flock.py",
    """
    class Brain:
        def forward(self, x):
            return self.body(x)

    class Flock:
        def decide(self, drone):
            return self.brain(prepared(drone)).argmax()

        def turn(self):
            for drone in self.members:
                drone.tick(self.decide(drone))

        def layers(self, x):
            for layer in self.stack:
                x = layer(x)
    """,
)
TURN = FLOCK.at("drone.tick", "Flock.turn")
DECIDE = FLOCK.at("self.brain", "Flock.decide")
BODY = FLOCK.at("self.body", "Brain.forward")
NETWORK = "type=torch.nn.modules.container.Sequential bases=torch.nn.modules.module.Module"
ONE_ROW = "type=torch.Tensor shape=6 dtype=torch.float32 device=cpu"
DRONES = "type=list length=16 first.type=flock.Drone"


def a_flock(*, members: str = DRONES, x: str = ONE_ROW) -> RunBuilder:
    run = a_training()
    run.spends(
        6.0, TURN, DECIDE, FORWARD, BODY, f"{SITE}/torch/nn/modules/linear.py:9 Linear.forward"
    )
    run.sees(TURN, self__members=members).sees(BODY, self__body=NETWORK, x=x)
    return run.spends(4.0, TURN, "drone.py:3 tick")


def test_a_network_asked_row_by_row_in_a_loop_over_objects_is_one_whatever_the_names():
    (finding,) = found(a_flock(), FLOCK)

    assert lines_of(finding) == [FLOCK.line("drone.tick")]
    assert finding.title.startswith("a network is asked for one row at a time (flock.py:")
    assert finding.evidence[1] == "in the loop from line 11, over 16 rows"
    assert claimed_s(profile_of(a_flock(), FLOCK), finding) == 6.0


@pytest.mark.parametrize(
    "changed",
    [
        {"x": "type=torch.Tensor shape=16,6 dtype=torch.float32 device=cpu"},
        {"members": "type=list length=16 first.type=float"},
        {"members": "type=list length=1 first.type=flock.Drone"},
    ],
)
def test_silent_where_a_batch_or_no_objects_were_seen(changed: dict[str, str]):
    assert found(a_flock(**changed), FLOCK) == []


TABLE = Script(
    "agents.py",
    """
    def choose(trunk, observations, picks):
        for agent in range(12):
            picks[agent] = trunk(torch.as_tensor(observations[agent])).argmax()
    """,
)
CHOOSE = TABLE.at("picks[agent]", "choose")


@pytest.mark.parametrize(
    ("observations", "agent", "is_told"),
    [
        ("type=numpy.ndarray shape=12,7 dtype=float32", "type=int", True),
        ("type=numpy.ndarray shape=12,7 dtype=float32", "type=numpy.ndarray shape=5 dtype=int64", False),
        ("type=numpy.ndarray shape=12,4,7 dtype=float32", "type=int", False),
    ],
)  # fmt: skip
def test_a_row_of_a_table_is_one_row(observations: str, agent: str, is_told: bool):
    run = a_training().spends(10.0, CHOOSE, FORWARD)
    run.sees(CHOOSE, trunk=NETWORK, observations=observations, agent=agent)

    assert bool(found(run, TABLE)) is is_told


def test_silent_for_the_layers_of_a_network():
    line = FLOCK.at("x = layer(x)", "Flock.layers")
    run = a_training().spends(10.0, line, FORWARD)
    run.sees(
        line,
        self__stack="type=list length=3 first.type=l.Linear first.bases=torch.nn.modules.module.Module",
        layer=NETWORK,
        x=ONE_ROW,
    )

    assert found(run, FLOCK) == []


@pytest.mark.parametrize(
    "given", ["torch.from_numpy(row)", "torch.tensor(row).float()", "torch.as_tensor(row)[None]"]
)
def test_a_row_is_one_whatever_makes_a_tensor_of_it(given: str):
    script = Script(
        "players.py",
        f"""
        def take_in(layers, views):
            return {{name: layers({given}) for name, row in views.items()}}
        """,
    )
    line = script.at("layers(", "take_in")
    run = a_training().spends(6.0, line, FORWARD).spends(4.0, "world.py:3 move")
    run.sees(
        line,
        layers=NETWORK,
        row="type=numpy.ndarray shape=32 dtype=f4",
        views="type=dict length=6 first.type=numpy.ndarray first.shape=32",
    )

    (finding,) = found(run, script)
    assert "over 6 rows" in finding.evidence[1]


def test_the_loop_that_starts_workers_does_not_ask_what_they_ask():
    """The stack of a forked worker goes on from that of who forked it."""
    script = Script(
        "actors.py",
        """
        def act(layers, seen):
            q = layers(torch.as_tensor(seen).unsqueeze(0))

        def main(started):
            for process in started:
                process.start()
        """,
    )
    line = script.at("layers(", "act")
    started = (
        script.at("process.start()", "main"),
        f"{STDLIB}/multiprocessing/process.py:121 BaseProcess.start",
    )
    forked = f"{STDLIB}/multiprocessing/process.py:314 BaseProcess._bootstrap"
    run = a_run(steady_s=10.0).process("actor", steps=1000)
    run.spends(6.0, *started, forked, line, FORWARD).spends(
        4.0, *started, forked, "world.py:3 move"
    )
    run.sees(line, layers=NETWORK, seen="type=numpy.ndarray shape=6 dtype=f4")
    run.sees(started[0], started="type=list length=2 first.type=multiprocessing.context.Process")

    assert found(run, script) == []


@pytest.mark.parametrize(
    ("given", "answer", "times"),
    [
        ("torch.as_tensor(t.after).unsqueeze(0)", "1,3", 1),
        ("torch.as_tensor(t.after).float()[None]", "1,3", 1),
        ("torch.from_numpy(t.after).reshape(1, -1)", "1,3", 1),
        ("torch.tensor([t.after])", "1,3", 1),
        ("torch.as_tensor(t.after).unsqueeze(0)", "1,20,3", 0),
        ("torch.as_tensor(t.after).unsqueeze(1)", "8,3", 0),
        ("torch.as_tensor(t.after)", "1,3", 0),
    ],
)
def test_a_batch_of_one_that_is_made_at_the_call(given: str, answer: str, times: int):
    """Looks see nothing of a field of a named tuple, which is computed."""
    script = Script(
        "targets.py",
        f"""
        def targets(layers, drawn):
            for t in drawn:
                q = layers({given})
        """,
    )
    line = script.at("layers(", "targets")
    run = a_training().spends(6.0, line, FORWARD).spends(4.0, "world.py:3 move")
    run.sees(
        line,
        layers=NETWORK,
        q=f"type=torch.Tensor shape={answer} dtype=torch.float32 device=cpu",
        drawn="type=list length=32 first.type=memory.Transition first.bases=tuple",
    )

    assert len(found(run, script)) == times


def test_what_works_on_the_answer_for_one_row_belongs_to_it():
    script = Script(
        "players.py",
        """
        def take_in(layers, views):
            moves = {}
            for name, row in views.items():
                logits = layers(row)
                odds = torch.softmax(logits, 0)
                moves[name] = int(torch.multinomial(odds, 1))
                scores[name] = torch.rand(1)
            return moves
        """,
    )
    asked = script.at("layers(", "take_in")
    run = a_training().spends(3.0, asked, FORWARD).spends(1.0, script.at("softmax", "take_in"))
    run.spends(2.0, script.at("multinomial", "take_in")).spends(1.0, script.at("rand", "take_in"))
    run.spends(3.0, "world.py:3 move")
    row = {"type": "numpy.ndarray", "shape": "32", "dtype": "f4"}
    run.sees(
        asked,
        layers=NETWORK,
        row=ONE_ROW,
        views="type=dict length=6 " + " ".join(f"first.{key}={told}" for key, told in row.items()),
    )

    (finding,) = found(run, script)
    assert claimed_s(profile_of(run, script), finding) == 6.0


ROLLOUT = Script(
    "rollout.py",
    """
    import torch

    def collect(env, net, obs, batch, seen):
        for t in range(len(batch)):
            logits = net(torch.from_numpy(obs))
            batch[t] = obs
            obs = env.step(logits)

    def replayed(net, batch):
        for t in range(len(batch)):
            logits = net(torch.from_numpy(batch[t]))
            keep(logits)

    def choose(net, obs):
        return net(torch.from_numpy(obs)).argmax()

    def chosen_again(net, batch):
        for t in range(len(batch)):
            keep(choose(net, batch[t]))  # again

    def written_ahead(env, net, batch):
        for t in range(len(batch)):
            action = choose(net, batch[t])  # ahead
            batch[t + 1] = env.step(action)

    def handed(env, net, obs, batch):
        for t in range(len(batch)):
            action = choose(net, obs) + batch[t]  # handed
            obs = env.step(action)
    """,
)
ASKS = {
    "collect": "logits = net(torch.from_numpy(obs))",
    "replayed": "logits = net(torch.from_numpy(batch[t]))",
    "chosen_again": "# again",
    "written_ahead": "# ahead",
    "handed": "# handed",
}


@pytest.mark.parametrize("function", ASKS)
def test_a_rollout_does_not_know_the_next_row_yet(function: str):
    line = ROLLOUT.at(ASKS[function], function)
    choosing = ROLLOUT.at(".argmax()", "choose")
    is_handed = "choose(" in ROLLOUT.text.splitlines()[ROLLOUT.line(ASKS[function]) - 1]
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(5.0, line, *([choosing] if is_handed else []), FORWARD)
    run.spends(5.0, "env.py:3 step")
    row = "type=numpy.ndarray shape=8 dtype=f4"
    run.sees(
        line,
        net=NETWORK,
        batch="type=numpy.ndarray shape=65,8 dtype=f4",
        obs=row,
        **{"batch[t]": row},
    )
    run.sees(choosing, net=NETWORK, obs=row)

    assert bool(detect(DETECTOR, run, ROLLOUT)) is (function in {"replayed", "chosen_again"})


READS = Script(
    "train.py",
    """
    def collect(envs, policy, observations):
        actions, values = policy(observations)
        for number, env in enumerate(envs):
            action, value = actions[number].item(), values[number].item()
            env.step(action)

    def read_arrays(envs, policy, observations):
        actions = policy(observations)
        for number, env in enumerate(envs):
            action = actions[number].detach().cpu().numpy()
            env.step(action)

    def ask(envs, policy, observations):
        for number, env in enumerate(envs):
            action = policy(observations[number]).argmax().item()
            env.step(action)
    """,
)


@pytest.mark.parametrize(
    ("piece", "function", "beginning"),
    [
        ("actions[number].item", "collect", "the policy's answers are read for one environment"),
        ("actions[number].detach", "read_arrays", "the policy's answers are read for one env"),
        ("policy(observations[number])", "ask", "the policy is asked for one environment"),
    ],
)
def test_answers_that_are_read_one_by_one_are_no_policy_that_is_asked_so(
    piece: str, function: str, beginning: str
):
    run = a_training().spends(4.0, READS.at(piece, function)).spends(6.0, "env.py:3 step")

    (finding,) = detect(DETECTOR, run, READS)

    assert finding.title.startswith(beginning)


def test_where_a_network_works_below_the_line_it_is_asked():
    read = READS.at("actions[number].item", "collect")
    run = a_training().spends(4.0, read, FORWARD).spends(6.0, "env.py:3 step")

    (finding,) = detect(DETECTOR, run, READS)

    assert finding.title.startswith("the policy is asked for one environment")


MAPPED = Script(
    "mapped.py",
    """
    def rollout(agent, venv, states, rows):
        actions = list(map(agent.act, states))
        values = list(map(lambda state: agent.net(state), states))
        numbers = list(map(agent.look_up, rows))
        venv.step(actions)
    """,
)
LOOKS_UP = "agent.py:7 Agent.look_up"


@pytest.mark.parametrize(
    ("piece", "inner"),
    [
        ("actions =", "agent.py:3 Agent.act"),
        ("values =", "mapped.py:4 rollout.<locals>.<lambda>"),
    ],
)
def test_a_map_is_a_loop(piece: str, inner: str):
    run = a_training().spends(6.0, MAPPED.at(piece, "rollout"), inner, FORWARD)
    run.spends(4.0, MAPPED.at("venv.step", "rollout"))

    (finding,) = found(run, MAPPED)

    assert lines_of(finding)[0] == MAPPED.line(piece)
    assert claimed_s(profile_of(run, MAPPED), finding) == 6.0


def test_a_map_through_what_was_seen_is_one_where_it_asks_a_network_for_a_row():
    script = Script("mapped.py", MAPPED.text + "\n\ndef look_up(x):\n    return net(x)\n")
    ask = script.at("return net(x)", "Agent.look_up")
    looks = script.at("numbers =", "rollout")
    run = a_training().spends(6.0, looks, ask, FORWARD).spends(4.0, "env.py:3 step")
    run.sees(looks, rows="type=numpy.ndarray shape=16,4 dtype=f4")
    assert found(run, script) == []

    (finding,) = found(run.sees(ask, net=NETWORK, x=ONE_ROW), script)

    assert "over 16 rows" in finding.evidence[1]


def test_a_map_that_asks_no_network_is_no_such_loop():
    run = a_training().spends(6.0, MAPPED.at("numbers =", "rollout"), LOOKS_UP)

    assert found(run.spends(4.0, MAPPED.at("venv.step", "rollout")), MAPPED) == []
