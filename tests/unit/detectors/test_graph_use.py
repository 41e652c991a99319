from __future__ import annotations

import pytest

from rlprof.detectors.grads_in_rollout import steps_environment
from rlprof.detectors.recognisers.graph_use import GraphUse, graph_use
from rlprof.source.gradients import switches_off_for_good, without_gradients


def use(*body: str) -> GraphUse:
    """Of what the network gives on the first line of ``body``."""
    return graph_use("def act(net, obs):\n" + "".join(f"    {line}\n" for line in body), 2)


@pytest.mark.parametrize(
    "body",
    [
        ("q = net(obs)", "action = q.argmax(1).item()", "env.step(action)"),
        ("return torch.argmax(net(torch.as_tensor(obs).unsqueeze(0)))",),
        ("return self.net(obs.to(device)).max(1)[1].view(1, 1)",),
        ("h = net.body(obs)", "logits = net.head(h)", "return Categorical(logits=logits).sample()"),
        (
            "policy, value = net(obs)",
            "kept.append(policy.log_prob(a).detach())",
            "v = value.item()",
        ),
        ("value = net(obs)", "value = value.detach().numpy()", "values.append(value)"),
        ("if net(obs).argmax() > 3:", "    pass"),
        ("value = net(obs)", "values.append(float(value))"),
        ("logits = net(obs)", "actions.append(logits.sign().long())"),
    ],
)
def test_what_is_only_read_is_dropped(body):
    assert use(*body) is GraphUse.DROPPED


@pytest.mark.parametrize(
    "body",
    [
        ("log_probs.append(net(obs).log_prob(a))",),
        ("x = obs; out = net(x); k = 3", "loss = out.mean(); loss.backward(); opt.step()"),
        ("policy = net(obs)", "action = policy.sample()", "kept.append(policy.log_prob(action))"),
        ("loss = mse(net(obs), wanted)", "loss.backward()"),
        ("values[t] = net(obs).flatten()",),
        ("self.value = net(obs)",),
        ("yield net(obs)",),
        ("accelerator.backward(net(obs).mean())",),
        ("value = net(obs)", "if done:", "    value = value.detach()", "values.append(value)"),
        ("q = net(obs).float()", "loss = mse(q, wanted)", "loss.backward()"),
        ("loss = mse(net(obs).round(), wanted)", "loss.backward()"),
        ("grads = torch.autograd.grad(net(obs).mean(), net.parameters())",),
    ],
)
def test_what_may_be_differentiated_is_kept(body):
    assert use(*body) is GraphUse.KEPT


def test_what_is_returned_is_the_callers():
    assert use("h = net.body(obs)", "return net.actor(h), net.critic(h)") is GraphUse.RETURNED
    assert use("return net(obs)") is GraphUse.RETURNED


def test_keeps_where_the_text_cannot_be_read():
    assert graph_use("def broken(:\n", 1) is GraphUse.KEPT
    assert graph_use("x = 1\n", 7) is GraphUse.KEPT


@pytest.mark.parametrize("terms", [400, 1500])
def test_an_expression_too_deep_to_follow_holds_all_that_it_names(terms):
    items = " + ".join(["q.item()"] * terms)

    assert use("q = net(obs)", f"y = {items}") is use("q = net(obs)", "y = q.item()")
    assert use("q = net(obs)", f"self.y = q + {items}") is GraphUse.KEPT


def test_knows_where_gradients_are_off():
    text = "with torch.no_grad():\n    a = 1\nb = 2\n@torch.inference_mode()\ndef f():\n    c = 3\n"

    assert without_gradients(text) == {1, 2, 5, 6}
    assert without_gradients("with torch.set_grad_enabled(False):\n    a = 1\n") == {1, 2}
    assert without_gradients("with torch.set_grad_enabled(training):\n    a = 1\n") == frozenset()


def test_knows_when_they_are_off_for_good():
    assert switches_off_for_good("torch.set_grad_enabled(False)\n")
    assert not switches_off_for_good("torch.set_grad_enabled(True)\n")
    assert not switches_off_for_good("with torch.no_grad():\n    pass\n")


@pytest.mark.parametrize(
    ("call", "is_one"),
    [
        ("obs = env.step(action)", True),
        ("obs = self.envs.step(action)", True),
        ("obs = world.step(action)", True),
        ("optimizer.step(closure)", False),
        ("scaler.step(optimizer)", False),
        ("self.opt.step(closure)", False),
        ("rlprof.step(64)", False),
        ("scheduler.step(loss)", False),
    ],
)
def test_knows_what_steps_an_environment(call, is_one):
    assert steps_environment(f"def f():\n    {call}\n", 2) is is_one
