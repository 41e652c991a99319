from __future__ import annotations

import pytest

from rlprof.detectors.grads_in_rollout import steps_environment
from rlprof.detectors.recognisers.networks.graph_asked import GraphUse
from rlprof.detectors.recognisers.networks.graph_use import GraphUses
from rlprof.source.updates import switches_off_for_good, without_gradients


def use(*body: str) -> GraphUse:
    """Of what the network gives on the first line of ``body``."""
    return graph_use("def act(net, obs):\n" + "".join(f"    {line}\n" for line in body), 2)


def graph_use(text: str, line: int, callee: str = "") -> GraphUse:
    return GraphUses({"act.py": text}).at("act.py", line, callee)


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


@pytest.mark.parametrize(
    "seen",
    [
        "callback.on_step(locals())",
        "callback.update(**vars())",
        "losses.append(eval(formula))",
        "exec(step)",
        "tell(sys._getframe())",
        "tell(inspect.currentframe())",
    ],
)
def test_what_is_handed_on_by_no_name_is_kept(seen: str):
    assert use("q = net(obs)", "action = q.argmax().item()", seen) is GraphUse.KEPT


@pytest.mark.parametrize(
    "body",
    [
        ("settings = locals(); q = net(obs)", "action = q.argmax().item()"),
        ("action = net(obs).argmax().item()", "callback.on_step(locals())"),
        ("q = net(obs)", "q = q.argmax().item()", "callback.on_step(locals())"),
        ("q = net(obs)", "action = q.argmax().item()", "net.eval(); seen = vars(env)"),
    ],
)
def test_names_without_a_part_of_the_graph_hand_nothing_on(body):
    assert use(*body) is GraphUse.DROPPED


def test_a_function_of_the_programs_may_be_called_eval():
    text = """
def eval(env):
    return env.score

def act(net, obs):
    q = net(obs)
    score = eval(env)
    return q.argmax().item()
"""

    assert graph_use(text, 6) is GraphUse.DROPPED


@pytest.mark.parametrize(
    ("callee", "body"),
    [
        ("get", ("logits, value, h = net.get(obs, h)", "loss = value.mean()", "loss.backward()")),
        ("sample", ("a, logp = net.sample(obs)", "loss = logp.mean()", "loss.backward()")),
        ("max", ("value = max(obs, acts)", "g, = torch.autograd.grad(value, acts)")),
        ("items", ("rec, rew = m.items(lat)", "total.append(rec)")),
        ("values", ("err = lambda q: q.mean()", "err(head.values).backward()")),
        ("pop", ("pred, h = core.pop(obs, h)", "self.h = h")),
        (
            "copy",
            ("q = net.copy(obs)", "return_later = lambda: q.mean()", "minimize(return_later)"),
        ),
        ("", ("mean = self.mean(obs)", "loss = mean.pow(2).sum()", "loss.backward()")),
        ("", ("v = self.V(obs)", "loss = v.sum()", "loss.backward()")),
    ],
)
def test_methods_of_a_policy_may_have_names_of_tensors_and_dictionaries(callee, body):
    text = "def act(net, obs):\n" + "".join(f"    {line}\n" for line in body)
    line = next(
        i
        for i, statement in enumerate(body, start=2)
        if callee in statement and "lambda" not in statement
    )

    assert graph_use(text, line, callee) is GraphUse.KEPT


@pytest.mark.parametrize(
    "body",
    [
        ("out = net(obs)", "losses = [o.mean() for o in out]", "sum(losses).backward()"),
        ("if (q := net(obs)).max() > 0:", "    q.mean().backward()"),
        ("a, b = b, net(obs)", "b.backward()"),
        ("q = net(obs)", "def closure():", "    return q.mean()", "opt.step(closure)"),
        ("size = memory.enter(net(obs))",),
        ("norm = apply_loss(opt, net(obs).mean())",),
        ("task = partial(learn, net(obs))", "done = task()"),
        ("self.total = total", "total += net(obs).mean()", "global total"),
        ("fresh = []", "self.kept = fresh", "fresh.append(net(obs))"),
        ("packed = net(pack_sequence(obs))", "loss = packed.data.mean()", "loss.backward()"),
    ],
)
def test_what_goes_back_by_another_way_is_kept(body):
    text = "def act(net, obs):\n" + "".join(f"    {line}\n" for line in body)
    line = next(i for i, statement in enumerate(body, start=2) if "net(" in statement)

    assert graph_use(text, line) is GraphUse.KEPT


def test_a_loss_that_a_loop_goes_on_with_is_kept_though_it_begins_as_a_number():
    text = """
def train(net, env):
    loss = 0.0
    while True:
        if env.t % 8 == 7:
            loss.backward()
            loss = 0.0
        loss = loss + net(env.obs).mean()
"""

    assert graph_use(text, 8) is GraphUse.KEPT


def test_what_only_a_branch_or_an_exception_leaves_is_followed():
    after = "    except ValueError:\n        loss.backward()\n"
    text = f"def f(net):\n    try:\n        loss = net(1)\n        loss = check(2)\n{after}"

    assert graph_use(text, 3) is GraphUse.KEPT


HELPERS = """
def keep(memory, value):
    memory.last = value
    return 3

def best(q):
    return int(q.argmax())

def scaled(q):
    return 2 * q

def act(net, memory, obs):
    return {use}
"""


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ("keep(memory, net(obs))", GraphUse.KEPT),
        ("best(net(obs))", GraphUse.DROPPED),
        ("scaled(net(obs))", GraphUse.RETURNED),
        ("best(scaled(q=net(obs)))", GraphUse.DROPPED),
        ("strange(net(obs))", GraphUse.KEPT),
    ],
)
def test_goes_into_the_functions_of_the_program(use, told):
    assert graph_use(HELPERS.format(use=use), 13) is told


def test_a_list_made_here_holds_what_it_is_given():
    text = """
def lowest(nets, obs, r):
    outs = []
    for net in nets:
        outs.append(net(obs))
    goal = (r + torch.stack(outs).amin(0)).detach()
    return goal
"""

    assert graph_use(text, 5) is GraphUse.DROPPED
    assert graph_use(text.replace(".detach()", ""), 5) is GraphUse.RETURNED


def test_what_is_returned_is_the_callers():
    assert use("h = net.body(obs)", "return net.actor(h), net.critic(h)") is GraphUse.RETURNED
    assert use("return net(obs)") is GraphUse.RETURNED


def test_keeps_where_the_text_cannot_be_read():
    assert graph_use("q = table[obs]\nint(q.argmax())\n", 1, "__getitem__") is GraphUse.KEPT
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


@pytest.mark.timeout(10)
def test_builtins_by_the_names_of_a_networks_methods_are_no_networks():
    text = "scale = float(LIMIT)\ndef act(net, obs):\n    return net(obs).argmax().item()\n"

    assert graph_use(text, 3) is GraphUse.DROPPED


@pytest.mark.timeout(20)
def test_functions_that_all_call_each_other_are_not_followed_without_end():
    names = [f"f{number}" for number in range(40)]
    bodies = [
        f"def {name}(x):\n    return {' + '.join(f'{other}(x)' for other in names)}"
        for name in names
    ]
    text = "\n".join([*bodies, "def act(net, obs):", "    return f0(net(obs))"])

    assert graph_use(text, len(text.splitlines())) is GraphUse.KEPT
