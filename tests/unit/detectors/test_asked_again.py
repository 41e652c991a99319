"""`copied-rows` where one turn asks a network several times for the same rows."""

from __future__ import annotations

import pytest

from rlprof.detectors.copied_rows import DETECTOR
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, claimed_s, detect, profile_of

AGENT = Script(
    "agent.py",
    """
    import torch

    class Net(torch.nn.Module):
        def spread(self, x):
            return Categorical(logits=self.actor(self.body(x)))

        def log_prob(self, x, acts):
            return self.spread(x).log_prob(acts)

        def entropy(self, x):
            return self.spread(x).entropy()

        def worth(self, x):
            h = self.body(x)
            return self.critic(h).squeeze(-1)

    def update(net, batch, optimizer):
        for rows in batch.split(64):
            gain = rows.returns - net.worth(rows.obs).detach()
            ratio = (net.log_prob(rows.obs, rows.acts) - rows.old).exp()
            worth = net.worth(rows.obs)
            loss = -(ratio * gain).mean() - net.entropy(rows.obs).mean()
            loss.backward()

    def act(net, obs, env):
        with torch.no_grad():
            action = net.log_prob(obs, None)
        worth = net.worth(obs)
        return action, worth
    """,
)
CALL = f"{SITE}/torch/nn/modules/module.py:1790 Module._call_impl"
LINEAR = f"{SITE}/torch/nn/modules/linear.py:125 Linear.forward"
BACKWARD = f"{SITE}/torch/autograd/graph.py:869 _engine_run_backward"
NETWORK = "type=torch.nn.modules.container.Sequential bases=torch.nn.modules.module.Module"
SPREAD = ("return Categorical", "Net.spread")
WAYS = {
    "gain = ": (("h = self.body(x)", "Net.worth"),),
    "ratio = ": (("return self.spread(x).log_prob", "Net.log_prob"), SPREAD),
    "worth = ": (("h = self.body(x)", "Net.worth"),),
    "loss = ": (("return self.spread(x).entropy", "Net.entropy"), SPREAD),
}


def an_update(script: Script, **seconds: float) -> RunBuilder:
    """Ten seconds: one in each of the four calls by default, two in the backward pass."""
    run = a_run(steady_s=10.0).process("main", steps=1000)
    for place, below in WAYS.items():
        stack = (script.at(place, "update"), *(script.at(*line) for line in below))
        run.spends(seconds.get(place.split()[0], 1.0), *stack, CALL, LINEAR)
    run.spends(2.0, script.at("loss.backward()", "update"), BACKWARD)
    for text, function in (("h = self.body(x)", "Net.worth"), SPREAD):
        run.sees(script.at(text, function), self__body=NETWORK, self__actor=NETWORK)
    return run


def found(run: RunBuilder, script: Script = AGENT) -> list[Finding]:
    return detect(DETECTOR, run, script)


def test_tells_of_a_network_that_four_lines_of_an_update_ask_for_the_same_rows():
    run = an_update(AGENT)

    (finding,) = found(run)

    lines = [AGENT.line(place) for place in WAYS]
    assert finding.title.startswith("a network is asked 4 times for the same (agent.py:")
    assert finding.evidence[1] == (
        "net.body is given rows.obs at "
        + " and ".join(f"agent.py:{line}" for line in lines)
        + ", and nothing changes either in between"
    )
    assert claimed_s(profile_of(run, AGENT), finding) == pytest.approx(6.0), "backward, too"


def test_the_dearest_call_stays():
    (finding,) = found(an_update(AGENT, gain=3.0))

    assert max(saving.removable.high for saving in finding.savings) == pytest.approx(0.5)


def test_what_a_with_asks_comes_to_pass_too():
    run = a_run(steady_s=10.0).process("main", steps=1000)
    first = (AGENT.at("action = ", "act"), *(AGENT.at(*line) for line in WAYS["ratio = "]))
    second = (AGENT.at("worth = net.worth(obs)", "act"), AGENT.at("h = self.body(x)", "Net.worth"))
    run.spends(5.0, *first, CALL, LINEAR).spends(5.0, *second, CALL, LINEAR)
    for stack in (first, second):
        run.sees(stack[-1], self__body=NETWORK)

    assert len(found(run)) == 1


@pytest.mark.parametrize(
    ("between", "is_told"),
    [
        ("optimizer.step()", False),
        ("rows.obs[0] = 0", False),
        ("rows.obs.mul_(2)", False),
        ("net = net.next", False),
        ("net.train()", False),
        ("rows.acts = rows.acts.long()", True),
    ],
)
def test_what_comes_after_a_change_is_another_question(between, is_told):
    first = "gain = rows.returns - net.worth(rows.obs).detach()\n"
    script = Script(AGENT.file, AGENT.text.replace(first, f"{first}        {between}\n"))

    assert between in script.text
    assert bool(found(an_update(script, worth=0.0, loss=0.0), script)) == is_told


def test_silent_where_each_is_asked_for_rows_of_its_own():
    text = AGENT.text
    for number, place in enumerate(
        ("net.worth(rows.obs).detach()", "net.worth(rows.obs)", "net.entropy(rows.obs)")
    ):
        text = text.replace(place, place.replace("rows.obs", f"rows.obs_{number}"), 1)
    script = Script(AGENT.file, text)

    assert found(an_update(script), script) == []


def test_silent_where_one_of_two_branches_asks():
    text = AGENT.text.replace(
        "        worth = net.worth(rows.obs)\n",
        "        if rows.last:\n            worth = net.worth(rows.obs)\n",
    )
    script = Script(AGENT.file, text)
    run = an_update(script, ratio=0.0, loss=0.0)

    assert "if rows.last" in text
    assert found(run, script) == []


TWICE = """
import torch

class Agent:
    def worth(self, x):
        return self.body(x).mean()

    def update_critic(self, x):
        loss = self.worth(x)
        self.optimizer.step()

    def move_on(self):
        self.state = self.state + 1

    def turn(self, net, obs, env, buffer, batch):
        {}


def train(agent):
    while True:
        agent.turn()
"""


@pytest.mark.parametrize(
    ("lines", "is_told"),
    [
        (["a = net.worth(obs)", "b = net.worth(obs)"], True),
        (["x = obs.float()", "a = net.worth(x)", "b = net.worth(x)"], True),
        (["a = net.worth(torch.as_tensor(obs))", "b = net.worth(torch.as_tensor(obs))"], True),
        (["with torch.autocast():", "    a = net.worth(obs)", "    b = net.worth(obs)"], True),
        (["a = net.worth(obs)", "self.update_critic(obs)", "b = net.worth(obs)"], False),
        (["a = net.worth(self.state)", "self.move_on()", "b = net.worth(self.state)"], False),
        (["with torch.autocast():", "    a = net.worth(obs)", "    opt.step()", "    b = net.worth(obs)"], False),
        (["a = net.worth(obs)", "with torch.autocast():", "    opt.step()", "    b = net.worth(obs)"], False),
        (["with ema.average():", "    a = net.worth(obs)", "b = net.worth(obs)"], False),
        (["x = torch.as_tensor(obs)", "a = net.worth(x)", "obs = env.move(a)", "y = torch.as_tensor(obs)", "b = net.worth(y)"], False),
        (["x = obs.float()", "a = net.worth(x)", "x[:, 3] = 0", "b = net.worth(x)"], False),
        (["x = buffer.sample(64)", "y = buffer.sample(64)", "a = net.worth(x)", "b = net.worth(y)"], False),
        (["a = net.worth(self.shifted(obs))", "b = net.worth(self.shifted(obs))"], False),
        (["a = net.worth(*batch)", "b = net.worth(*batch)"], False),
        (["x, y = obs[env], batch[env]", "a = net.worth(x)", "b = net.worth(y)"], False),
        (["x, y = obs.float(), obs.float()", "a = net.worth(x)", "b = net.worth(y)"], True),
        (["x, y = torch.zeros(9), torch.zeros(9)", "x[env], y[env] = obs, batch", "a = net.worth(x[env])", "b = net.worth(y[env])"], False),
        (["x = obs.float()", "obs[0] = 0", "y = obs.float()", "a = net.worth(x)", "b = net.worth(y)"], False),
        (["a = [net.worth(it) for it in obs]", "b = [net.worth(it) for it in batch]"], False),
    ],
)  # fmt: skip
def test_the_same_is_asked_where_nothing_comes_in_between(lines, is_told):
    script = Script("twice.py", TWICE.format("\n        ".join(lines)))
    worth = script.at("return self.body(x).mean()", "Agent.worth")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    for piece in ("a = ", "b = "):
        run.spends(
            4.0,
            script.at("agent.turn()", "train"),
            script.at(piece, "Agent.turn"),
            worth,
            CALL,
            LINEAR,
        )
    run.spends(2.0, script.at("agent.turn()", "train"))
    run.sees(worth, self__body=NETWORK)

    assert bool(found(run, script)) == is_told


def test_a_network_that_answers_by_chance_is_asked_again_on_purpose():
    run = an_update(AGENT)
    place = AGENT.at("gain = ", "update")
    run.spends(
        1.0,
        place,
        AGENT.at("h = self.body(x)", "Net.worth"),
        CALL,
        f"{SITE}/torch/nn/modules/dropout.py:70 Dropout.forward",
    )

    assert found(run) == []
