"""Steps of a recurrent network that could be one call, and those that could not."""

from __future__ import annotations

import ast
from textwrap import dedent, indent

import pytest

from rlprof.source.recurrence import Asked, CallingFunction, asked_in_turn
from rlprof.source.recurrent_values import Touch
from rlprof.source.value import Value
from rlprof.syntax.module import SourceModule, parse
from tests.value_factory import a_value

SEEN = {
    "cell": "torch.nn.modules.rnn.GRUCell",
    "second": "torch.nn.modules.rnn.GRUCell",
    "net": "__main__.Net",
}


def asked(text: str, *calls: str) -> Asked | None:
    """How a network is asked by the first loop of ``text``; ``calls`` are pieces of the lines on the way there."""
    module = parse(dedent(text))
    assert module is not None
    levels = [
        CallingFunction(module, _line(text, piece), _known()) for piece in calls or ("cell(",)
    ]
    return asked_in_turn(levels, _loop(module))


def _known() -> dict[str, Value]:
    networks = {name: a_value(f"type={kind}") for name, kind in SEEN.items()}
    return networks | {"h": a_value("type=torch.Tensor shape=32,64")}


def _loop(module: SourceModule) -> ast.For:
    return next(loop for loop in ast.walk(module.tree) if isinstance(loop, ast.For))


def _line(text: str, piece: str) -> int:
    return next(i for i, line in enumerate(dedent(text).splitlines(), start=1) if piece in line)


def in_a_loop(body: str) -> str:
    return "def unroll(xs, h):\n    for t in range(len(xs)):\n" + indent(dedent(body), " " * 8)


@pytest.mark.parametrize(
    ("body", "touch"),
    [
        ("h = cell(embed(xs[t]), h)\nmade.append(head(h))", Touch.KEPT),
        ("h = cell(xs[t], h.view(1, -1))", Touch.KEPT),
        ("h = cell(xs[t], h)\nh2 = second(h, h2)", Touch.KEPT),
        ("h = cell(xs[t], (1 - done[t]) * h)", Touch.RESET),
        ("h = cell(xs[t], h)\nh = h * mask[t]", Touch.RESET),
        ("h = cell(xs[t], mask[t] * h + (1 - mask[t]) * first)", Touch.RESET),
        ("h = cell(xs[t], torch.where(done[t], first, h))", Touch.RESET),
        ("h = cell(xs[t], h)\nh[done[t]] = 0", Touch.RESET),
        ("if done[t]:\n    h = first\nh = cell(xs[t], h)", Touch.RESET),
    ],
)
def test_inputs_that_are_there(body: str, touch: Touch):
    found = asked(in_a_loop(body))

    assert found is not None
    assert found.touch is touch
    assert found.state is not None
    assert found.state.shape == (32, 64)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            "x = pre(cat([z, acts[t]]))\nh = cell(x, h)\nz = sample(post(h))", id="a world model"
        ),
        pytest.param("a = actor(h)\nh = cell(a, h)", id="imagination"),
        pytest.param("h = cell(tokens[-1], h)\ntokens.append(pick(h))", id="a decoder"),
        pytest.param("h = cell(seen[t - 1], h)\nseen[t] = pick(h)", id="a decoder with a buffer"),
        pytest.param(
            "h = cell(env.state, h)\nreward = env.step(pick(h)) + bonus[t]", id="an environment"
        ),
        pytest.param("h = norm(cell(xs[t], h))", id="a norm of the state"),
        pytest.param("h = cell(xs[t], h)\nh = h + talk(h)", id="what others tell"),
        pytest.param("h = cell(xs[t], h.detach())", id="gradients of one step"),
        pytest.param("h = cell(xs[t], zeros)", id="no state of the step before"),
        pytest.param("h = cell(xs[t])", id="a sequence of its own each"),
        pytest.param(
            "if t and own:\n    x = last\nelse:\n    x = xs[t]\nh = cell(x, h)\nlast = pick(h)",
            id="its own answer now and then",
        ),
    ],
)
def test_none_where_a_step_needs_the_one_before(body: str):
    assert asked(in_a_loop(body)) is None


THROUGH_A_NETWORK = """
class Net:
    def forward(self, x, h):
        y = self.inner(x, state=h)
        return self.head(y), y

    def inner(self, x, *, state):
        return cell(x, state)

def unroll(net, xs, h):
    for x in xs:
        {call}
        made.append(q)
"""


@pytest.mark.parametrize(
    ("call", "touch"),
    [
        ("q, h = net(x, h)", Touch.KEPT),
        ("q, h = net(x, h * m)", Touch.RESET),
        ("q, h = net(mix(x, q), h)", None),
    ],
)
def test_the_way_goes_through_functions(call: str, touch: Touch | None):
    text = THROUGH_A_NETWORK.format(call=call)

    found = asked(text, "net(", "self.inner(x", "cell(x")

    assert (found.touch if found else None) is touch


def test_a_state_may_be_an_attribute():
    text = """
    class Net:
        def forward(self, x):
            self.h = cell(x, self.h)
            return self.head(self.h)

        def fed(self, x):
            return self.forward(mix(x, self.h))

    def unroll(net, xs):
        for x in xs:
            made.append(net(x))
            again.append(net.fed(x))
    """
    assert asked(text, "net(x)", "cell(") is not None
    assert asked(text, "net.fed(", "self.forward(", "cell(") is None
