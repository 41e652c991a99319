from __future__ import annotations

import pytest

from rlprof.detectors.asked_twice import DETECTOR
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, claimed_s, detect, lines_of, profile_of

AGENT = Script(
    "agent.py",
    """
    class Agent:
        def update(self, obs, actions):
            values = self.critic(obs)
            loss = (self.actor(obs) * self.critic(obs).detach()).mean()
            loss.backward()

        def logged(self, obs):
            loss = self.actor(obs).mean()
            loss.backward()
            self.optimizer.step()
            return self.actor(obs).std()

        def rebound(self, obs):
            first = self.critic(obs)
            obs = obs[1:]
            second = self.critic(obs)

        def changed(self, obs):
            first = self.critic(obs)
            obs[0] = 1
            second = self.critic(obs)

        def other_input(self, obs, after):
            first = self.critic(obs)
            second = self.critic(after)

        def either(self, obs, done):
            if done:
                value = self.critic(obs)
            else:
                value = self.critic(obs) * 2

        def per_batch(self, obs, batches):
            first = self.critic(obs)
            for obs in batches:
                second = self.critic(obs)

        def in_turns(self, obs, batches):
            first = self.critic(obs)
            for batch in batches:
                second = self.critic(obs).mean()

        def on_one_line(self, obs):
            mean, deviation = self.critic(obs)[0], self.critic(obs)[1]

        def by_keyword(self, obs):
            first = self.critic(x=obs)
            second = self.critic(x=obs)

        def computed(self, obs):
            first = self.critic(obs + 1)
            second = self.critic(obs + 1)
    """,
)
LINES = {
    "update": "loss = (self.actor(obs) * self.critic",
    "logged": "return self.actor(obs).std()",
    "rebound": 3,
    "changed": 3,
    "other_input": 2,
    "either": 4,
    "per_batch": 3,
    "in_turns": 3,
    "on_one_line": 1,
    "by_keyword": 2,
    "computed": 2,
}
FORWARD = (
    f"{SITE}/torch/nn/modules/module.py:1780 Module._call_impl",
    f"{SITE}/torch/nn/modules/linear.py:134 Linear.forward",
)
NETWORK = "type=agent.Net bases=torch.nn.modules.module.Module"


def line_of(function: str) -> str:
    place = LINES[function]
    if isinstance(place, str):
        return AGENT.at(place, f"Agent.{function}")
    return f"agent.py:{AGENT.line(f'def {function}') + place} Agent.{function}"


def a_training(function: str, *, spent_s: float = 4.0, inside: str = "") -> RunBuilder:
    line = line_of(function)
    run = a_run(steady_s=10.0).process("main", steps=1_000)
    run.spends(spent_s, line, *FORWARD, *filter(None, [inside])).spends(
        10.0 - spent_s, "env.py:3 step"
    )
    return run.sees(
        line, self__critic=NETWORK, self__actor=NETWORK, obs="type=torch.Tensor shape=64,8"
    )


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, AGENT)


def test_a_network_that_was_asked_the_same_a_line_before():
    run = a_training("by_keyword")

    (finding,) = found(run)

    assert finding.title.startswith("self.critic is asked twice for the same (agent.py:")
    assert claimed_s(profile_of(run, AGENT), finding) == pytest.approx(4.0)
    assert finding.savings[0].removable == (0.9, 1.0)
    first = AGENT.line("def by_keyword") + 1
    assert finding.evidence[1].startswith(f"self.critic(x=obs) was called in line {first}")


def test_a_line_that_asks_another_network_too_is_theirs_in_part():
    (finding,) = found(a_training("update"))

    assert lines_of(finding) == [AGENT.line("loss = (self.actor(obs) * self.critic")]
    assert finding.savings[0].removable == (0.25, 1.0)


def test_twice_on_one_line_is_once_too_often():
    (finding,) = found(a_training("on_one_line"))

    assert finding.savings[0].removable == (0.25, 1.0)
    assert "on the same line" in finding.evidence[1]


@pytest.mark.parametrize(
    "function",
    ["logged", "rebound", "changed", "other_input", "either", "per_batch", "in_turns", "computed"],
)
def test_silent_where_the_answer_may_be_another(function):
    assert not found(a_training(function))


def test_silent_of_networks_that_answer_at_random():
    inside = f"{SITE}/torch/nn/modules/dropout.py:73 Dropout.forward"

    assert not found(a_training("by_keyword", inside=inside))


def test_silent_just_under_its_threshold():
    assert not found(a_training("by_keyword", spent_s=0.29))
