from __future__ import annotations

import textwrap

import pytest

from rlprof.source.loop_turns import FEW
from rlprof.source.tensor_loops import TensorLoop, tensor_loops
from rlprof.source.values import SeenTensor

MADE = "import torch\n\ndef f(n, x):\n    t, u = torch.rand(n), torch.rand(n)\n"


def loops(body: str) -> dict[str, TensorLoop]:
    """The loops by the text of their lines."""
    text = MADE + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n"
    lines = text.splitlines()
    return {lines[number - 1].strip(): loop for number, loop in tensor_loops(text).items()}


@pytest.mark.parametrize(
    ("body", "line", "tensor"),
    [
        ("for i in range(len(t)):\n    s += t[i] * u[i]", "s += t[i] * u[i]", "t"),
        ("for i in range(t.shape[0]):\n    x[i] = t[i] ** 2", "x[i] = t[i] ** 2", "t"),
        ("for it in t:\n    s = s + it", "s = s + it", "t"),
        ("for i, it in enumerate(t):\n    x[i] = it * 2", "x[i] = it * 2", "t"),
        ("for a, b in zip(t, u):\n    x.append(a - b)", "x.append(a - b)", "t"),
        ("i = 0\nwhile i < n:\n    s += t[i]\n    i += 1", "s += t[i]", "t"),
        ("for i in range(n):\n    it = t[i]\n    s += it.abs()", "s += it.abs()", "t"),
        ("for i in range(n):\n    best = max(best, t[i])", "best = max(best, t[i])", "t"),
        (
            "for i in range(n):\n    j = np.random.randint(9)\n    x[i] = t[i, j : j + n]",
            "x[i] = t[i, j : j + n]",
            "t",
        ),
        ("y = [(it - x) / x for it in t]", "y = [(it - x) / x for it in t]", "t"),
        ("y = sum(t[i] for i in range(n))", "y = sum(t[i] for i in range(n))", "t"),
    ],
)
def test_finds_what_takes_a_tensor_apart(body, line, tensor):
    assert loops(body)[line].tensor == tensor


@pytest.mark.parametrize(
    ("turn", "is_told"),
    [
        ("Categorical(p).log_prob(a)", True),
        ("torch.distributions.Categorical(logits=p).log_prob(a)", True),
        ("Categorical(p).sample() + a", False),
        ("Mixture(p).log_prob(a)", False),
        ("self.policy(p).log_prob(a)", False),
    ],
)
def test_distributions_of_torch_answer_for_all_rows(turn, is_told):
    text = f"from torch.distributions import Categorical\nfrom mine import Mixture\n{MADE}    y = [{turn} for p, a in zip(t, u)]\n"

    assert bool(tensor_loops(text)) == is_told


def test_rows_by_a_number_are_not_few():
    body = "for i in t.argmax(1):\n    x[i] = t[i] ** 2"

    assert loops(body)["x[i] = t[i] ** 2"].tensor == "t.argmax(1)"


LOOKED_AT = """
def centred(self, g):
    return self.join([(one - self.mean) for one in g])
"""


def test_finds_what_was_seen_to_be_a_tensor():
    assert tensor_loops(LOOKED_AT) == {}

    (loop,) = tensor_loops(LOOKED_AT, frozenset({SeenTensor(3, "g", (2048,))})).values()

    assert (loop.tensor, loop.of_numbers) == ("g", True)


RESET = """
def reset(self, done):
    for i in done.nonzero().flatten().tolist():
        self.position[i] = torch.rand(2, device=self.device)
        self.clock[i] = 0
"""


def test_finds_rows_that_are_written_one_by_one_where_something_holds():
    seen = frozenset(
        {SeenTensor(4, "self.position", (512, 2)), SeenTensor(5, "self.clock", (512,))}
    )

    found = tensor_loops(RESET, seen)

    assert found.keys() == {4, 5}
    assert found[4].tensor == "self.position"
    assert found[4].may_be_little


@pytest.mark.parametrize(
    ("iterated", "is_told"),
    [
        ("np.where(done)[0]", True),
        ("torch.where(done)[0].cpu().numpy()", True),
        ("torch.where(done, self.first, self.last)", False),
        ("frame.where(done, 0).tolist()", False),
        ("range(len(np.where(done)[0]))", False),
    ],
)
def test_only_the_numbers_of_rows_are_gone_through_so(iterated: str, is_told: bool):
    text = RESET.replace("done.nonzero().flatten().tolist()", iterated)
    seen = frozenset({SeenTensor(4, "self.position", (512, 2))})

    assert any(loop.may_be_little for loop in tensor_loops(text, seen).values()) is is_told


def test_rows_of_what_acts_are_no_such_rows():
    acts = RESET.replace("torch.rand(2, device=self.device)", "self.envs[i].reset()")

    assert tensor_loops(acts, frozenset({SeenTensor(4, "self.position", (512, 2))})) == {}


@pytest.mark.parametrize("shape", [(), (FEW,)])
def test_a_few_elements_may_as_well_stay_a_loop(shape):
    assert tensor_loops(LOOKED_AT, frozenset({SeenTensor(3, "g", shape)})) == {}


@pytest.mark.parametrize(
    "body",
    [
        "y = [model(it) for it in t]",
        "y = [env.step(it) for it in t]",
        "y = [it for it in x]",
        "for i in range(n):\n    env.step(t[i])\n    s += t[i]",
        "for i in range(n):\n    loss = (t[i] - x).mean()\n    loss.backward()",
        "for i in range(0, n, 64):\n    s += t[i : i + 64].sum()",
        "for i in range(n):\n    rows = t[i * 64 : (i + 1) * 64]\n    s += rows.sum()",
        "for epoch in range(n):\n    s += (t - u).mean()",
        "for i in range(n):\n    y = model(t[i])",
        "for i in t:\n    rows = u[i]\n    update(rows)",
        "for i in t:\n    rows = u[i]\n    loss = self.train_step(rows)",
        "for i in range(n):\n    it = t[i] * 2\n    simulate(it)",
        "for i in t:\n    yield u[i]",
        "for i in range(n):\n    t[i] = x",
        "for i in range(4):\n    s += t[i]",
        "for i in range(n):\n    h = torch.tanh(t[i] + h)",
        "for h in t.chunk(4):\n    s += h.sum()",
        "t = t.tolist()\nfor i in range(n):\n    s += t[i]",
        "for i in range(n):\n    s += x[i]",
        "for i in range(n):\n    self.state = 0.9 * self.state + random.gauss(0, 1)\n    x[i] = t[i] + self.state",
        "for i in range(n):\n    self.state = 0.9 * self.state + t[i]\n    x[i] = self.state",
        "for i in range(n):\n    j = random.randint(0, i)\n    t[i], t[j] = t[j], t[i]",
        "for i in range(n):\n    x[i] = torch.rot90(t[i], random.randint(0, 3))",
        "for i in range(n):\n    x.append(x[-1] + random.gauss(0, 1) * t[i])",
        "for i in range(n):\n    j = np.random.randint(9)\n    t[i] = t[i, j : j + n]",
        "for i in range(n):\n    best = (t[i] + taken).argmin()\n    taken[best] = 9.0",
        "for i in range(n):\n    best = t[i].masked_fill(self.used, -9.0).argmax()\n    self.used[best] = True",
    ],
    ids=[
        "policy in a comprehension",
        "rollout in a comprehension",
        "comprehension over anything",
        "rollout",
        "update",
        "minibatches",
        "batches by number",
        "epochs",
        "a network asked",
        "updates",
        "updates by a method",
        "simulations",
        "generator of minibatches",
        "only written",
        "few turns",
        "recurrent",
        "chunks",
        "made a list before",
        "no tensor",
        "noise that goes on",
        "a state that goes on",
        "a shuffle",
        "another operation for each",
        "a walk",
        "written where it is read",
        "a choice among what is left",
        "a choice that is masked",
    ],
)
def test_silent_on_loops_that_are_no_such(body):
    assert loops(body) == {}


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(n):\n    x[i] = t[i] / len(x)",
        "for i in range(n):\n    x[i] = t[i].to(x.device)",
        "for i in range(n):\n    pair = torch.zeros(2)\n    pair[0] = t[i]\n    x[i] = pair.sum()",
        "for i in range(n):\n    pair[:] = t[i]\n    x[i] = torch.sum(pair)",
    ],
    ids=["its length", "its device", "made anew", "filled anew"],
)
def test_what_a_turn_fills_may_be_read_by_itself(body):
    assert loops(body)


def test_finds_a_loop_inside_of_one_that_updates():
    body = "for i in range(n):\n    update(i)\n    for j in range(n):\n        s += t[j] * u[j]"

    assert set(loops(body)) == {"s += t[j] * u[j]"}


def test_an_element_that_decides_a_branch_or_is_read_is_a_number():
    branch = loops("for i in range(n):\n    if t[i] > 0.5:\n        x.append(t[i])")
    read = loops("for i in range(n):\n    x.append(t[i].item())")
    row = loops("for i in range(n):\n    x.append(t[i] - 1)")

    assert [{loop.of_numbers for loop in found.values()} for found in (branch, read, row)] == [
        {True},
        {True},
        {False},
    ]


@pytest.mark.parametrize(
    "body",
    [
        "for i in reversed(range(n)):\n    last = t[i] + 0.9 * last",
        "for i in range(n - 1, -1, -1):\n    last = t[i] + 0.9 * last\n    x[i] = last",
        "for i in reversed(range(n)):\n    x[i] = t[i] + 0.9 * x[i + 1]",
        "for reward in reversed(t):\n    last = reward + 0.9 * last",
    ],
)
def test_tells_recursions_from_the_end(body):
    assert {loop.goes_backwards for loop in loops(body).values()} == {True}


def test_a_recursion_claims_rows_whose_tensor_the_text_does_not_show():
    found = loops("for i in reversed(range(n)):\n    on = 1 - x[i]\n    last = t[i] + on * last")

    assert set(found) == {
        "for i in reversed(range(n)):",
        "on = 1 - x[i]",
        "last = t[i] + on * last",
    }


def test_a_recursion_claims_its_whole_body():
    """Without a call of Python's in it, all of its time is seen at its last line."""
    found = loops(
        "for i in reversed(range(n)):\n    last = t[i] + 0.9 * last\n    x.insert(0, last)"
    )

    assert "x.insert(0, last)" in found


def test_tensors_that_the_text_does_not_show_are_known_by_their_values():
    text = textwrap.dedent("""
    def returns(rewards, last):
        for t in reversed(range(len(rewards))):
            last = rewards[t] + 0.99 * last
            found[t] = last
    """)

    assert tensor_loops(text) == {}
    assert set(tensor_loops(text, frozenset({SeenTensor(5, "rewards", (64, 16))}))) == {3, 4, 5}


def test_silent_on_a_recursion_over_arrays_and_lists():
    text = """
    import torch
    import numpy as np

    def returns(rewards, dones):
        found = np.zeros_like(rewards)
        last = 0.0
        for t in reversed(range(len(rewards))):
            last = rewards[t] + 0.99 * last * (1 - dones[t])
            found[t] = last
        return torch.as_tensor(found)

    def finish(policy):
        total, found = 0.0, []
        for reward in reversed(policy.rewards):
            total = reward + 0.99 * total
            found.insert(0, total)
        return torch.tensor(found)
    """

    assert tensor_loops(textwrap.dedent(text)) == {}


def test_follows_tensors_into_the_functions_of_the_file():
    text = """
    import torch

    def returns(rewards):
        for t in reversed(range(len(rewards))):
            last = rewards[t] + 0.99 * last

    class Rollout:
        def __init__(self):
            self.rewards = torch.zeros(128, 8)

        def finish(self):
            returns(self.rewards)
    """

    assert [loop.tensor for loop in tensor_loops(textwrap.dedent(text)).values()] == ["rewards"] * 2


def test_an_expression_too_deep_to_follow_is_read_in_part():
    body = "for i in range(n):\n    s = " + " + ".join(["t[i]"] * 1500)

    (statement,) = loops(body)
    assert statement.startswith("s = ")


@pytest.mark.parametrize("text", ["", "def broken(:\n    torch", "import torch\nx = '\0'", "x = 1"])
def test_takes_any_text(text):
    assert tensor_loops(text) == {}
