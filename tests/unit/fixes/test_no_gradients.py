from __future__ import annotations

import pytest

from rlprof.fixes.rewrites.no_gradients import FIX
from tests.fix_factory import changes, fixed, refusal

NETWORK = "type=train.Net bases=torch.nn.modules.module.Module"


def test_the_statement_goes_into_a_block():
    text = "import torch\n\ndef act(policy, obs):\n    # Greedy.\n    a = policy(\n        obs  # one\n    ).argmax()  # best\n    return a\n"

    assert fixed(FIX, text, 6, seen={"policy": NETWORK}) == (
        "import torch\n\ndef act(policy, obs):\n    # Greedy.\n    with torch.no_grad():\n        a = policy(\n"
        "            obs  # one\n        ).argmax()  # best\n    return a\n"
    )


def test_torch_is_imported_where_it_is_not():
    text = "from nets import policy\n\n\ndef act(obs):\n\treturn policy(obs).argmax()\n"

    assert changes(text, fixed(FIX, text, 5)) == [
        "+import torch",
        "-\treturn policy(obs).argmax()",
        "+\twith torch.no_grad():",
        "+\t\treturn policy(obs).argmax()",
    ]


def test_each_line_of_a_finding_goes_into_one():
    text = "import torch\na = policy(x)\nb = policy(y)\n"

    assert fixed(FIX, text, 2, 3).count("with torch.no_grad():") == 2


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("a = actor(x), critic(x)", "several networks"),
        ("yield actor(x)", "more than compute"),
        ("a = lambda: actor(x)", "more than compute"),
        ("loss(actor(x)).backward()", "gradients are computed"),
        ("a = actor(x); b = 1", "several statements"),
        ("if actor(x): pass", "head of a block"),
    ],
)
def test_others_are_left_alone(statement, why):
    text = f"import torch\ndef f(x):\n    {statement}\n"

    assert why in refusal(FIX, text, 3, seen={"actor": NETWORK, "critic": NETWORK})
