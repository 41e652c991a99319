from __future__ import annotations

import pytest

from rlprof.fixes.rewrites.targets_at_once import FIX
from tests.fix_factory import changes, fixed, refusal

LOOP = "for p, t in zip(net.parameters(), target.parameters()):"
LERP = "torch._foreach_lerp_(list(target.parameters()), list(net.parameters()), {})"
COPY = "torch._foreach_copy_(list(target.parameters()), list(net.parameters()))"


def a_loop(*body: str, head: str = LOOP) -> str:
    return f"import torch\n\ndef f(net, target, tau):\n    {head}\n" + "".join(
        f"        {line}\n" for line in body
    )


@pytest.mark.parametrize(
    ("body", "call"),
    [
        (["t.data.copy_(tau * p.data + (1 - tau) * t.data)"], LERP.format("tau")),
        (["t.data.copy_(t.data * (1.0 - tau) + p.data * tau)"], LERP.format("tau")),
        (["t.data.copy_(0.995 * t.data + 0.005 * p.data)"], LERP.format("0.005")),
        (["t.data = (1 - self.tau) * t.data + self.tau * p.data"], LERP.format("self.tau")),
        (["t.data.mul_(polyak)", "t.data.add_((1 - polyak) * p.data)"], LERP.format("1 - polyak")),
        (["t.data.mul_(1 - tau).add_(p.data, alpha=tau)"], LERP.format("tau")),
        (["t.data.lerp_(p.data, tau)"], LERP.format("tau")),
        (["t.data.copy_(p.data)"], COPY),
        (["t.copy_(p.detach())"], COPY),
    ],
)
def test_all_are_moved_by_one_call(body, call):
    text = a_loop(*body)

    new = fixed(FIX, text, 5)

    assert new.endswith(f"tau):\n    with torch.no_grad():\n        {call}\n")


def test_the_target_may_come_first():
    text = a_loop(
        "p.data.mul_(1 - tau)", "p.data.add_(t.data, alpha=tau)"
    )  # Here p is of the target.

    assert "torch._foreach_lerp_(list(net.parameters()), list(target.parameters()), tau)" in fixed(
        FIX, text, 6
    )


def test_comments_stay_and_a_block_without_gradients_is_no_other():
    text = (
        "import torch\nwith torch.no_grad():\n    # Slowly.\n    for p, t in zip(net.parameters(), target.parameters()):  # all\n"
        "        # Polyak.\n        t.lerp_(p, 0.1)  # in place\n    x = 1\n"
    )

    assert changes(text, fixed(FIX, text, 6)) == [
        "-    for p, t in zip(net.parameters(), target.parameters()):  # all",
        "-        # Polyak.",
        "-        t.lerp_(p, 0.1)  # in place",
        "+    # all",
        "+    # Polyak.",
        "+    # in place",
        f"+    {LERP.format('0.1')}",
    ]


@pytest.mark.parametrize(
    "text",
    [
        a_loop("t.data.copy_(tau * p.data + (1 - rho) * t.data)"),
        a_loop("t.data.copy_(0.1 * p.data + 0.8 * t.data)"),
        a_loop("t.data.copy_(p.data)", "count += 1"),
        a_loop("t.data.copy_(p.mean() * p.data + (1 - p.mean()) * t.data)"),
        a_loop("t.data.copy_(p.data)", head=LOOP.replace("zip", "pairs")),
        a_loop("t.data.copy_(p.data)", head=LOOP.replace("net.parameters()", "net")),
    ],
)
def test_others_are_left_alone(text):
    assert "usual ways" in refusal(FIX, text, 5)


@pytest.mark.parametrize(
    "body",
    ["t.data.copy_(tau * p.data + (1 - tau) * t.data)", "t.data.copy_(p.data)", "t.data.lerp_(p.data, tau)"],
)  # fmt: skip
def test_the_parameters_are_the_same_but_for_rounding(body):
    torch = pytest.importorskip("torch")
    text = f"import torch\nfor p, t in zip(net.parameters(), target.parameters()):\n    {body}\n"
    moved = []
    for each in (text, fixed(FIX, text, 3)):
        torch.manual_seed(0)
        net, target = torch.nn.Linear(5, 5), torch.nn.Linear(5, 5)
        exec(each, {"net": net, "target": target, "tau": 0.01})
        moved.append(target.weight)
        assert target.weight.requires_grad

    assert torch.allclose(*moved)
