from __future__ import annotations

import pytest

from rlprof.detectors.grads_in_rollout import DETECTOR, DRAWING_REMOVABLE, MIN_SHARE
from rlprof.detectors.recognisers.networks.recorded_graphs import GRAPH_REMOVABLE
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, STDLIB, Script, detect, lines_of, ranked

DQN = Script(
    "dqn.py",
    """
    import torch

    class Network(torch.nn.Module):
        def forward(self, x):
            return self.head(torch.tanh(self.body(x)))

    def act(network, observation):
        values = network(torch.as_tensor(observation).unsqueeze(0))
        return values.argmax().item()

    def train(env, network, optimizer):
        while True:
            observation, reward = env.step(act(network, observation))
            loss = network(batch).pow(2).mean()
            loss.backward()
            optimizer.step()
    """,
)
ASKING = DQN.at("env.step", "train")
ACT = DQN.at("values = network", "act")
HEAD = DQN.at("self.head", "Network.forward")
LEARNING = DQN.at("loss = network", "train")
CALL = f"{SITE}/torch/nn/modules/module.py:1775 Module._wrapped_call_impl"
LINEAR = f"{SITE}/torch/nn/modules/linear.py:125 Linear.forward"
ACTING = Script(
    "sb3.py",
    """
    def act(env, model):
        while True:
            action, _ = model.predict(observation)
            observation, reward = env.step(action)
    """,
)
PREDICT = f"{SITE}/stable_baselines3/common/policies.py:3 BasePolicy.predict"
NO_GRAD = f"{SITE}/torch/utils/_contextlib.py:120 context_decorator.<locals>.decorate_context"
FORWARD = (CALL, HEAD, CALL, LINEAR)


def a_training(acting_s: float, *above: str) -> RunBuilder:
    """Ten seconds; the network acts for so long, called through ``above`` and then by ``act``."""
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(acting_s, *(above or (ASKING,)), ACT, *FORWARD)
    return run.spends(10.0 - acting_s, ASKING, "env.py:3 step")


def found(run: RunBuilder, text: str = DQN.text) -> list[Finding]:
    return detect(DETECTOR, run, Script("dqn.py", text))


def test_names_the_line_that_acts_and_why_no_gradient_is_needed():
    (finding,) = found(a_training(6.0))

    assert lines_of(finding) == [DQN.line("values = network")]
    assert finding.evidence == (
        "60 % of the steady time is spent in networks called from there, 6 ms a step",
        "the source shows no torch.no_grad() or inference_mode() around the calls",
        "what they give is only read (argmax, item, sample, detach): nothing can go back through it",
    )
    assert finding.savings[0].removable == GRAPH_REMOVABLE


def test_silent_where_the_function_is_decorated():
    assert found(a_training(6.0, ASKING, NO_GRAD)) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    values = network", "    with torch.no_grad(): values = network"),
        ("    values = network", "    torch.set_grad_enabled(False); values = network"),
        ("def act(", "@torch.inference_mode()\ndef act("),
        ("return values.argmax().item()", "kept.append(values); return values.argmax().item()"),
    ],
    ids=["with", "switched off", "decorator", "kept"],
)
def test_silent_where_gradients_are_off_or_may_be_needed(before, after):
    assert before in DQN.text

    assert found(a_training(6.0), DQN.text.replace(before, after)) == []


@pytest.mark.parametrize(
    "line",
    [
        "net[1].register_forward_hook(keep)",
        "net.register_forward_pre_hook(keep)",
        "torch.nn.modules.module.register_module_forward_hook(keep)",
        "net.register_full_backward_hook(keep)",
        "kept.append(sys._getframe(1).f_locals['values'])",
    ],
)
def test_silent_where_something_beside_the_stack_may_keep_a_part_of_the_answer(line: str):
    assert found(a_training(6.0), f"{DQN.text}\n{line}\n") == []


def test_torch_itself_has_hooks():
    module = Script(CALL.partition(":")[0], "def register_forward_hook(self, hook): ...\n")

    assert len(detect(DETECTOR, a_training(6.0), DQN, module)) == 1


TARGETS = Script(
    "td.py",
    """
    def update(batch):
        best = target(batch.after).max(1)[0].detach()
        goal = batch.rewards + 0.99 * best
        loss = (network(batch.before) - goal).pow(2).mean()
        loss.backward()
    """,
)


@pytest.mark.parametrize(
    ("before", "after", "is_told"),
    [("", "", True), (".detach()", "", False), ("best = target", "with torch.no_grad(): best = target", False)],
)  # fmt: skip
def test_tells_targets_whose_graph_is_dropped(before, after, is_told):
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(3.0, TARGETS.at("best = target", "update"), CALL, LINEAR)
    run.spends(7.0, TARGETS.at("loss.backward", "update"))

    told = detect(DETECTOR, run, Script("td.py", TARGETS.text.replace(before, after)))

    assert [finding.title for finding in told] == [
        "gradients are recorded and never used (td.py:2)"
    ] * is_told


def a_library_acting(*below: str) -> RunBuilder:
    """Ten seconds, in six of which ``model.predict`` asks the network."""
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, ACTING.at("model.predict", "act"), PREDICT, *below, *FORWARD[:1], LINEAR)
    return run.spends(4.0, ACTING.at("env.step", "act"), "env.py:3 step")


def of_the_library(text: str) -> Script:
    return Script(PREDICT.partition(":")[0], text)


def test_silent_where_a_library_asks_the_network_and_its_source_is_not_known():
    assert detect(DETECTOR, a_library_acting(), ACTING) == []


def test_silent_where_a_library_switches_gradients_off():
    text = """
    def predict(self, observation):
        with th.no_grad():
            return self.network(observation), None
    """

    assert detect(DETECTOR, a_library_acting(), ACTING, of_the_library(text)) == []


def test_fires_where_the_source_of_the_library_shows_that_it_does_not():
    text = """
    def predict(self, observation):
        observation = observation / 255
        return self.network(observation).argmax(), None
    """

    (finding,) = detect(DETECTOR, a_library_acting(), ACTING, of_the_library(text))

    assert lines_of(finding) == [ACTING.line("model.predict")]


def test_silent_where_a_library_without_gradients_asks_a_policy_of_the_users():
    policy = Script(
        "policy.py",
        """
        def _predict(self, observation):
            return self.network(observation).argmax()
        """,
    )
    run = a_library_acting(policy.at("self.network", "Policy._predict"))

    assert detect(DETECTOR, run, ACTING, policy) == []


@pytest.mark.parametrize(
    ("file", "is_told"), [("multiprocessing/process.py", True), ("contextlib.py", False)]
)
def test_the_standard_library_switches_no_gradients_off_but_by_decorators(file: str, is_told: bool):
    run = a_training(5.0, ASKING, f"{STDLIB}/{file}:108 run")

    assert bool(found(run)) == is_told


def test_fires_below_a_launcher_that_calls_the_script():
    launched = a_training(6.0, f"{SITE}/hydra/main.py:94 decorated_main", ASKING)

    assert len(found(launched)) == 1


def test_silent_on_the_passes_that_are_learned_from():
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(8.0, LEARNING, *FORWARD)

    assert found(run.spends(2.0, ASKING)) == []


def test_silent_just_under_its_threshold():
    assert found(a_training(10 * MIN_SHARE * 0.9)) == []
    assert len(found(a_training(10 * MIN_SHARE * 1.1))) == 1


def test_silent_without_the_source():
    assert detect(DETECTOR, a_training(6.0)) == []


LSTM = Script(
    "lstm.py",
    """
    def get(self, obs, h):
        return self.head(self.cell(obs, h))

    def update(policy, optimizer, batch):
        loss = 0.0
        for obs in batch:
            logits, value, h = policy.get(obs, h)
            loss = loss + value.pow(2).mean()
        loss.backward()

    def collect(policy, env, obs):
        logits, value, h = policy.get(obs, h)
        dist = Categorical(logits=logits)
        obs, reward = env.step(dist.sample().item())
    """,
)
GET = LSTM.at("self.head", "Policy.get")
UPDATES, COLLECTS = "lstm.py:7 update", "lstm.py:12 collect"
CATEGORICAL = f"{SITE}/torch/distributions/categorical.py:60 Categorical.__init__"


@pytest.mark.parametrize(("asks", "is_told"), [(UPDATES, False), (COLLECTS, True)])
def test_a_method_named_get_is_the_policys_own(asks: str, is_told: bool):
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(6.0, asks, GET, CALL, LINEAR)

    assert bool(detect(DETECTOR, run.spends(4.0, "env.py:3 step"), LSTM)) is is_told


def test_what_distributions_make_of_the_answer_is_in_the_price():
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(4.0, COLLECTS, GET, CALL, LINEAR)
    run.spends(6.0, LSTM.at("dist = ", "collect"), CATEGORICAL)

    (finding,) = detect(DETECTOR, run, LSTM)

    assert [saving.removable for saving in finding.savings] == [GRAPH_REMOVABLE, DRAWING_REMOVABLE]


def test_silent_where_the_network_keeps_what_is_learned_from():
    keeping = DQN.text.replace(
        "return self.head(", "self.seen = torch.tanh(self.body(x)); return self.head("
    )

    assert found(a_training(6.0), keeping) == []


@pytest.mark.parametrize(
    ("body", "is_told"),
    [
        ("seen.append(x); return x", False),
        ("self.penalty = x.pow(2).mean(); return x", False),
        ("seen.append(x.detach()); return x", True),
        ("self.calls += 1; y = (x - x.mean()) / self.scale; return y", True),
    ],
)
def test_a_layer_of_the_programs_may_keep_what_passes_through_it(body: str, is_told: bool):
    layer = Script("tap.py", f"class Tap(Module):\n    def forward(self, x):\n        {body}")
    run = a_training(6.0).spends(0.1, ASKING, ACT, CALL, CALL, "tap.py:3 Tap.forward")

    assert bool(detect(DETECTOR, run, DQN, layer)) is is_told


@pytest.mark.parametrize(
    ("below", "is_told"),
    [
        pytest.param(
            f"{SITE}/torch/nn/modules/module.py:1956 Module.__getattr__", True, id="a layer"
        ),
        pytest.param("dqn.py:3 Network.__getattr__", False, id="a method of the program's"),
    ],
)
def test_to_look_for_a_layer_keeps_nothing_of_the_answer(below, is_told):
    run = a_training(6.0).spends(0.1, ASKING, ACT, CALL, HEAD, below)

    assert bool(found(run)) == is_told


PPO = Script(
    "ppo.py",
    """
    import torch

    class Memory:
        def __init__(self):
            self.states, self.logprobs = [], []

    def act(policy, state, memory):
        dist = policy(state)
        action = dist.sample()
        memory.logprobs.append(dist.log_prob(action))
        return action.item()

    def update(memory, policy, optimizer):
        old = torch.squeeze(torch.stack(memory.logprobs, dim=0)).detach().to(device)
        loss = (policy.evaluate(memory.states) - old).mean()
        loss.backward()
        optimizer.step()

    def train(env, policy, memory):
        while True:
            state, reward = env.step(act(policy, state, memory))
    """,
)
DETACHED = "torch.squeeze(torch.stack(memory.logprobs, dim=0)).detach()"


def of_ppo(text: str) -> list[Finding]:
    run = a_run(steady_s=10.0).process("main", steps=1000)
    step = PPO.at("env.step", "train")
    run.spends(6.0, step, PPO.at("dist = policy", "act"), CALL, LINEAR).spends(
        4.0, step, "env.py:3 step"
    )
    return detect(DETECTOR, run, Script("ppo.py", text))


def test_what_is_kept_for_later_and_detached_by_whoever_reads_it_needs_no_graph():
    (finding,) = of_ppo(PPO.text)

    assert lines_of(finding) == [PPO.line("dist = policy")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (DETACHED, "torch.stack(memory.logprobs)"),
        (DETACHED, f"{DETACHED} + memory.logprobs[0]"),
        (DETACHED, f"{DETACHED} + sum(old for old in memory.logprobs)"),
        (DETACHED, f"{DETACHED} + vars(memory)['logprobs'][0]"),
        (DETACHED, f"{DETACHED} + sum(getattr(memory, 'logprobs'))"),
        (DETACHED, f"{DETACHED} + work(memory.logprobs).detach()"),
        ("= [], []", "= [], kept"),
        (DETACHED, f"{DETACHED} + Pair(*memory)[1]; Pair = namedtuple('Pair', 'rewards logprobs')"),
        (DETACHED, "torch.zeros(3)"),
    ],
)
def test_silent_where_what_is_kept_may_be_learned_from(before, after):
    assert before in PPO.text

    assert of_ppo(PPO.text.replace(before, after)) == []


def test_a_target_of_an_update_is_not_acting_though_the_training_steps():
    training = "def train(env):\n    while True:\n        env.step(0); update(batch)\n"
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(3.0, "main.py:3 train", TARGETS.at("best = target", "update"), CALL, LINEAR)

    (finding,) = detect(
        DETECTOR, run.spends(7.0, "main.py:3 train"), TARGETS, Script("main.py", training)
    )

    assert finding.title == "gradients are recorded and never used (td.py:2)"


def test_promises_a_part_of_the_networks_time():
    first, *_ = ranked(a_training(8.0), DQN)

    assert first.finding.detector == DETECTOR.id
    assert 0.01 < first.saved_share.low < 0.12 < first.saved_share.high < 0.36
