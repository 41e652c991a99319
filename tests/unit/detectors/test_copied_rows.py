from __future__ import annotations

import pytest

from rlprof.detectors.copied_rows import DETECTOR
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, claimed_s, detect, lines_of, profile_of

AGENT = Script(
    "agent.py",
    """
    import torch

    class Agent:
        def quantiles(self, obs, taus):
            x = obs.float().div(255.0).repeat_interleave(8, 0)
            h = self.project(self.encoder(x))
            return self.head(h * taus)

        def noisy(self, obs):
            x = obs.repeat_interleave(8, 0) + torch.randn_like(noise)
            return self.encoder(x)

        def shifted(self, obs, noise):
            x = obs.repeat(8, 1, 1, 1).add(noise)
            return self.encoder(x)

        def filled(self, obs):
            x = obs.repeat_interleave(8, 0)
            x += self.noise
            return self.encoder(x)

        def written(self, obs, last):
            x = obs.repeat_interleave(8, 0)
            x[:, -1] = last
            return self.encoder(x)

        def planned(self, obs):
            x = obs.repeat_interleave(8, 0)
            for _ in range(12):
                x = self.encoder(x)

        def colours(self, obs):
            x = obs.repeat(1, 3, 1, 1)
            return self.encoder(x)

        def beside(self, obs, acts):
            x = obs.repeat_interleave(8, 0)
            return self.encoder(x, acts=acts)

        def forward(self, img, act):
            return self.heads(self.encoder(img), act)

        def penalty(self, obs, acts):
            return self.critic(obs.repeat_interleave(8, 0), acts)

        def values(self, obs, acts):
            return self.critic(obs, acts)

        def update(self):
            self.quantiles(self.batch, self.taus).mean().backward()
    """,
)
ASK = AGENT.at("self.project(", "Agent.quantiles")
INSIDE = AGENT.at("self.heads(", "Agent.forward")
PENALTY = AGENT.at("self.critic(obs.repeat", "Agent.penalty")
CALL = f"{SITE}/torch/nn/modules/module.py:1790 Module._call_impl"
CONVOLVE = f"{SITE}/torch/nn/modules/conv.py:548 Conv2d.forward"
LINEAR = f"{SITE}/torch/nn/modules/linear.py:125 Linear.forward"
BACKWARD = f"{SITE}/torch/autograd/graph.py:869 _engine_run_backward"
NETWORK = "type=torch.nn.modules.container.Sequential bases=torch.nn.modules.module.Module"
CRITIC = "type=__main__.Agent bases=torch.nn.modules.module.Module"
FEW, MANY = (f"type=torch.Tensor shape={rows},4,40,40 dtype=torch.float32" for rows in (16, 128))


def a_training(*stack: str, inside: str = CONVOLVE) -> RunBuilder:
    """Ten seconds, of which the network's forward pass takes four and its backward pass four."""
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(4.0, *stack, CALL, inside)
    run.spends(4.0, AGENT.at("backward()", "Agent.update"), BACKWARD)
    return run.spends(2.0, "env.py:3 step")


def quantiles(*, rows: str = MANY, inside: str = CONVOLVE) -> RunBuilder:
    run = a_training(ASK, inside=inside)
    run.sees(ASK, x=rows, self__encoder=NETWORK, self__project=NETWORK)
    return run.sees(AGENT.at("x = obs.float", "Agent.quantiles"), obs=FEW)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, AGENT)


def test_copies_that_are_made_before_the_network_is_asked():
    run = quantiles()

    (finding,) = found(run)

    assert lines_of(finding) == [AGENT.line("self.project(")]
    assert finding.evidence[1].startswith("each row comes 8 times: obs: tensor of 16 × 4")
    assert claimed_s(profile_of(run, AGENT), finding) == 8.0
    assert finding.savings[0].removable == pytest.approx((0.75 * 7 / 8, 7 / 8))


def test_copies_that_a_caller_hands_over():
    run = a_training(PENALTY, INSIDE)
    run.sees(INSIDE, img=(FEW, MANY), self__encoder=NETWORK)
    run.sees(PENALTY, obs=FEW, self__critic=CRITIC)

    (finding,) = found(run)

    assert lines_of(finding) == [AGENT.line("self.heads(")]
    assert finding.evidence[1].startswith("each row comes 8 times")


def test_what_is_copied_may_have_been_seen_at_the_caller_alone():
    learn = AGENT.at("self.quantiles(self.batch", "Agent.update")
    run = a_training(learn, ASK).sees(ASK, x=MANY, self__encoder=NETWORK, self__project=NETWORK)
    run.sees(learn, self__batch=FEW)

    assert found(run)[0].evidence[1].startswith("each row comes 8 times: obs: tensor of 16 × 4")


def test_batches_of_two_sizes_are_told_apart():
    few, many = (
        (look.replace("=16,", "=8,").replace("=128,", "=64,"), look) for look in (FEW, MANY)
    )
    run = a_training(ASK).sees(ASK, x=many, self__encoder=NETWORK, self__project=NETWORK)
    run.sees(AGENT.at("x = obs.float", "Agent.quantiles"), obs=tuple(reversed(few)))

    assert found(run)[0].evidence[1].startswith("each row comes 8 times")


def test_other_callers_of_the_same_line_are_not_claimed():
    run = a_training(PENALTY, INSIDE)
    run.spends(1.0, AGENT.at("self.critic(obs, acts)", "Agent.values"), INSIDE, CALL, CONVOLVE)
    run.sees(INSIDE, img=(FEW, MANY), self__encoder=NETWORK).sees(
        PENALTY, obs=FEW, self__critic=CRITIC
    )

    (finding,) = found(run)

    profile = profile_of(run, AGENT)
    assert sum(profile.steady.self_cost(node).wall_us for node in finding.savings[0].nodes) == 4e6


def test_small_layers_may_save_nothing():
    (finding,) = found(quantiles(inside=LINEAR))

    assert finding.savings[0].removable.low == 0


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(quantiles(rows=FEW), id="as many rows as before"),
        pytest.param(quantiles(rows=MANY.replace("128", "100")), id="rows of something else"),
        pytest.param(a_training(ASK), id="nothing was seen"),
    ],
)
def test_silent(run: RunBuilder):
    assert found(run) == []


@pytest.mark.parametrize("function", ["noisy", "shifted", "filled", "written", "planned", "beside"])
def test_silent_where_the_rows_differ_when_the_network_is_asked(function: str):
    function, lines = f"Agent.{function}", AGENT.text.splitlines()
    begins = AGENT.line(f"def {function.removeprefix('Agent.')}(")
    asks = next(at for at in range(begins, len(lines)) if "self.encoder(x" in lines[at]) + 1
    place = f"agent.py:{asks} {function}"
    run = a_training(place).sees(place, x=MANY, self__encoder=NETWORK)

    assert found(run.sees(f"agent.py:{begins + 1} {function}", obs=FEW)) == []


def test_silent_on_copies_of_channels():
    made = AGENT.at("obs.repeat(1, 3", "Agent.colours")
    place = f"agent.py:{AGENT.line('obs.repeat(1, 3') + 1} Agent.colours"
    one, many = (f"type=torch.Tensor shape={rows},3,40,40 dtype=torch.float32" for rows in (1, 256))
    run = a_training(place).sees(place, x=(one, many), self__encoder=NETWORK)

    assert found(run.sees(made, obs=(one, many))) == []


def test_dropout_is_asked_for_copies_on_purpose():
    dropout = f"{SITE}/torch/nn/modules/dropout.py:70 Dropout.forward"

    assert found(quantiles().spends(0.5, ASK, dropout)) == []


def test_policies_that_draw_are_asked_for_copies_on_purpose():
    draw = f"{SITE}/torch/distributions/normal.py:70 Normal.rsample"

    assert found(quantiles().spends(0.5, ASK, draw)) == []


def test_where_another_network_is_asked_on_the_line_nobody_knows_whose_time_it_is():
    run = a_training(PENALTY, INSIDE).sees(PENALTY, obs=FEW, self__critic=CRITIC)
    run.sees(INSIDE, img=(FEW, MANY), self__encoder=NETWORK, self__heads=NETWORK)

    assert found(run)[0].savings[0].removable.low == 0
