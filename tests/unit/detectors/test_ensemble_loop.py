from __future__ import annotations

import pytest

from rlprof.detectors.ensemble_loop import DETECTOR, OF_CONVOLUTIONS
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, claimed_s, detect, lines_of, profile_of

AGENT = Script(
    "agent.py",
    """
    import torch

    class Agent:
        def forward(self, x):
            return torch.stack([member(x).squeeze(-1) for member in self.members])

        def by_number(self, obs):
            for i in range(len(self.members)):
                q = self.members[i](obs)
                self.losses.append(q.mean())

        def beside(self, obs):
            for i, (member, target) in enumerate(zip(self.members, self.targets)):
                loss = (member(obs) - target).pow(2).mean()
                loss.backward()

        def layers(self, h):
            for layer in self.members:
                h = torch.relu(layer(h))
            return h

        def dense(self, x):
            seen = [x]
            for block in self.members:
                seen.append(block(torch.cat(seen, 1)))
            return seen

        def rest(self, h):
            for block in self.members:
                h += block(h)
            return h

        def kept(self):
            for block in self.members:
                self.h = block(self.h)

        def rows(self, h):
            for i, block in enumerate(self.members):
                h[i + 1] = block(h[i])

        def in_place(self, td):
            for layer in self.members:
                layer(td)

        def checkpointed(self, x):
            for layer in self.members:
                x = checkpoint(lambda y: layer(y), x)

        def cascade(self, h):
            for layer in self.members:
                q = layer(h)
                if q > 0:
                    break

        def sequential(self, x, factor):
            for layer in self.members:
                old = layer(x)
                self.train(layer, factor)
                factor = factor * (layer(x) - old)

        def policies(self, observations):
            return {name: net(observations[name]) for name, net in self.nets.items()}

        def of_each_agent(self, observations):
            for agent, x in observations.items():
                self.actions[agent] = self.nets[agent](x).argmax()

        def mapped(self, x):
            return torch.stack(tuple(map(lambda net: net(x), self.members)), dim=1)

        def by_name(self, x):
            return torch.stack([getattr(self, f"model_{i}")(x) for i in range(10)])

        def some_by_name(self, x):
            return torch.stack([getattr(self, f"model_{i}")(x) for i in range(4)])

        def layers_by_name(self, x):
            for i in range(10):
                x = getattr(self, f"model_{i}")(x)
            return x

        def mapped_layers(self, x):
            return list(map(lambda net: x.append(net(x[-1])), self.members))

        def two_of_them(self, x):
            return [self.members[i](x) for i in range(2)]

        def some_of_them(self, x):
            for i in np.random.choice(10, 2, replace=False):
                self.losses.append(self.members[i](x))

        def routed(self, x, owner):
            for i, net in enumerate(self.members):
                if not (owner == i).any():
                    continue
                out[owner == i] = net(x[owner == i])

        def experts(self, x, owner):
            for i, net in enumerate(self.members):
                rows = (owner == i).nonzero()[:, 0]
                means[rows] = net(x[rows])

        def by_mask(self, x, owner):
            return [net(x[owner == i]) for i, net in enumerate(self.members)]

        def masked(self, x, owner):
            return sum(net(x) * (owner == i) for i, net in enumerate(self.members))

        def of_valid_rows(self, x, done):
            return [net(x[done == 0]) for net in self.members]

        def played(self, game):
            for i, net in enumerate(self.members):
                action = net(game.observe(i)).argmax()
                done = game.play(i, action)

        def filtered(self, x):
            return [m(x) for i, m in enumerate(self.members) if i in self.active]

        def propagate(self, x, owner):
            means = [member(x) for member in self.members]
            return torch.stack(means)[owner, torch.arange(len(x))]

        def vote(self, x, rows, acts):
            values = torch.stack([member(x) for member in self.members]).mean(0)
            for member in self.members:
                self.losses.append(member(rows)[torch.arange(32), acts])
            return values.argmax()

        def update(self):
            self.forward(self.batch).mean().backward()
            self.optimizer.step()
    """,
)
CALL = f"{SITE}/torch/nn/modules/module.py:1790 Module._call_impl"
LINEAR = f"{SITE}/torch/nn/modules/linear.py:125 Linear.forward"
BACKWARD = f"{SITE}/torch/autograd/graph.py:869 _engine_run_backward"
STEP = f"{SITE}/torch/optim/adam.py:200 Adam.step"
MODULE = "torch.nn.modules.module.Module"
NETWORK = f"type=torch.nn.modules.container.Sequential bases={MODULE}"
ROWS = "type=torch.Tensor shape=64,8 dtype=torch.float32 device=cpu"
ASKED = {
    "forward": "member(x)",
    "by_number": "self.members[i](obs)",
    "beside": "loss = (member(obs)",
    "layers": "torch.relu(layer(h))",
    "dense": "seen.append(",
    "rest": "h += block",
    "kept": "self.h = block",
    "rows": "h[i + 1] = block",
    "in_place": "    layer(td)",
    "checkpointed": "x = checkpoint(",
    "cascade": "q = layer(h)",
    "sequential": "old = layer(x)",
    "policies": "net(observations",
    "of_each_agent": "self.actions[agent] =",
    "mapped": "map(lambda net: net(x)",
    "by_name": "for i in range(10)])",
    "some_by_name": "for i in range(4)])",
    "layers_by_name": 'x = getattr(self, f"model_{i}")(x)',
    "mapped_layers": "map(lambda net: x.append",
    "two_of_them": "for i in range(2)]",
    "some_of_them": "self.losses.append(self.members[i](x))",
    "routed": "out[owner == i] = net",
    "experts": "means[rows] = net",
    "by_mask": "[net(x[owner == i])",
    "masked": "net(x) * (owner",
    "of_valid_rows": "net(x[done == 0])",
    "played": "action = net(game",
    "filtered": "[m(x) for i, m",
    "propagate": "means = [member(x)",
    "vote": "values = torch.stack(",
}


def networks(number: int, *, mixed: bool = False, alike: bool = True) -> str:
    told = f"type=torch.nn.modules.container.ModuleList bases={MODULE} length={number} first.type=torch.nn.modules.container.Sequential"
    return f"{told} first.bases={MODULE} alike={alike:d}" + (" mixed=1" if mixed else "")


def an_update(
    function: str = "forward",
    members: str = networks(10),
    *,
    calls_s: float = 0.6,
    x: str = ROWS,
) -> RunBuilder:
    """Ten seconds: four of an ensemble's forward passes, as much of its backward pass, one of the optimizer's steps."""
    ask = AGENT.at(ASKED[function], f"Agent.{function}")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(calls_s, ask, CALL).spends(4.0 - calls_s, ask, CALL, LINEAR)
    run.spends(4.0, AGENT.at("backward()", "Agent.update"), BACKWARD)
    run.spends(1.0, AGENT.at("self.optimizer.step()", "Agent.update"), STEP)
    run.spends(1.0, "env.py:3 step")
    return run.sees(ask, self__members=members, self__nets=members, member=NETWORK, x=x, obs=x, h=x)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, AGENT)


@pytest.mark.parametrize(
    "function",
    [*("forward", "by_number", "beside", "policies", "mapped"), *("masked", "of_valid_rows")],
)
def test_networks_that_are_asked_one_after_the_other(function):
    run = an_update(function)

    (finding,) = found(run)

    assert lines_of(finding) == [AGENT.line(ASKED[function])]
    assert finding.title.startswith("10 networks are asked one after the other")
    assert claimed_s(profile_of(run, AGENT), finding) == pytest.approx(9.0)


def test_small_layers_gain_most():
    small, large = (found(an_update(calls_s=calls_s))[0] for calls_s in (0.6, 0.06))

    assert small.savings[0].removable == pytest.approx((0.9 * 0.8, 0.9))
    assert large.savings[0].removable == pytest.approx((0.0, 0.9 * 0.3))


def test_networks_of_other_sizes_cannot_be_asked_at_once():
    assert not found(an_update(members=networks(10, alike=False)))


def test_where_nobody_saw_their_sizes_or_where_they_compute_nothing_may_go():
    unseen = networks(10).replace(" alike=1", "")
    for run in (an_update(members=unseen), an_update(x="type=dict length=2 first.device=cuda")):
        (finding,) = found(run)
        assert finding.savings[0].removable.low == 0


def test_of_several_answers_one_is_used():
    small, large = (found(an_update("propagate", calls_s=calls_s))[0] for calls_s in (0.6, 0.06))

    assert large.title.startswith("10 networks answer each row, and one is used")
    assert "rows alone" in large.fix
    assert small.savings[0].removable == pytest.approx((0.0, 0.9))
    assert large.savings[0].removable == pytest.approx((0.9 * 0.7, 0.9))


def test_of_the_actions_of_each_network_some_are_picked_and_of_the_networks_none():
    (finding,) = found(an_update("vote"))

    assert finding.title.startswith("10 networks are asked one after the other")


def test_convolutions_at_once_may_gain_nothing():
    run = an_update()
    ask = AGENT.at(ASKED["forward"], "Agent.forward")
    run.spends(1.0, ask, CALL, f"{SITE}/torch/nn/modules/conv.py:553 Conv2d.forward")

    (finding,) = found(run)

    assert finding.savings[0].removable == OF_CONVOLUTIONS
    assert finding.fix.endswith("few rows alone.")


def test_silent_of_recurrent_networks_which_take_the_weights_of_one():
    run = an_update()
    ask = AGENT.at(ASKED["forward"], "Agent.forward")
    run.spends(1.0, ask, CALL, f"{SITE}/torch/nn/modules/rnn.py:1100 GRU.forward")

    assert not found(run)


def test_on_a_gpu_nobody_knows_the_least():
    (finding,) = found(an_update(x=ROWS.replace("cpu", "cuda")))

    assert finding.savings[0].removable == pytest.approx((0.0, 0.9))


@pytest.mark.parametrize(
    "function",
    [
        *("layers", "dense", "rest", "kept", "rows"),
        *("in_place", "checkpointed", "cascade", "sequential"),
        *(
            "two_of_them",
            "some_of_them",
            "routed",
            "experts",
            "by_mask",
            "played",
            "filtered",
            "mapped_layers",
        ),
    ],
)
def test_layers_of_one_network_are_no_ensemble(function):
    assert not found(an_update(function))


@pytest.mark.parametrize("members", [networks(2), networks(10, mixed=True), NETWORK])
def test_too_few_or_different_networks(members):
    assert not found(an_update(members=members))


def test_silent_under_its_threshold():
    run = a_run(steady_s=10.0).process("main", steps=1000)
    ask = AGENT.at(ASKED["forward"], "Agent.forward")
    run.spends(0.29, ask, CALL, LINEAR).spends(9.71, "env.py:3 step")
    run.sees(ask, self__members=networks(10), member=NETWORK, x=ROWS)

    assert not found(run)


@pytest.mark.parametrize(
    ("agents", "nets", "is_told"),
    [
        ("type=dict length=10 first.type=numpy.ndarray", networks(10), True),
        ("type=dict length=7 first.type=numpy.ndarray", networks(10), False),
        ("type=dict length=10 first.type=numpy.ndarray", networks(10, alike=False), False),
        ("type=list length=10 first.type=tuple", networks(10), False),
    ],
)
def test_networks_by_their_agents_are_all_asked_where_there_are_as_many(agents, nets, is_told):
    by_key = nets.replace("container.ModuleList", "container.ModuleDict")
    run = an_update("of_each_agent", by_key)
    line = AGENT.at(ASKED["of_each_agent"], "Agent.of_each_agent")

    assert bool(found(run.sees(line, observations=agents))) == is_told


@pytest.mark.parametrize(
    ("function", "told", "is_told"),
    [
        ("by_name", "stem=model_ numbered=10 alike=1", True),
        ("by_name", "stem=model_ numbered=10 alike=0", False),
        ("by_name", "stem=head_ numbered=10 alike=1", False),
        ("by_name", "optimized=1", False),
        ("some_by_name", "stem=model_ numbered=10 alike=1", False),
        ("layers_by_name", "stem=model_ numbered=10 alike=1", False),
    ],
)
def test_networks_that_have_numbers_in_their_names(function, told, is_told):
    line = AGENT.at(ASKED[function], f"Agent.{function}")
    run = an_update(function).sees(line, self=f"type=agent.Agent bases={MODULE} {told}")

    assert bool(found(run)) == is_told
