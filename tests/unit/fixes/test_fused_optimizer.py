from __future__ import annotations

import pytest

from rlprof.fixes.rewrites.fused_optimizer import FIX
from tests.fix_factory import a_case, changes, fixed, refusal

HEAD = "import torch\nfrom torch import optim\n"


@pytest.mark.parametrize(
    ("call", "new"),
    [
        ("optim.Adam(net.parameters(), lr=1e-3)", "optim.Adam(net.parameters(), lr=1e-3, fused=True)"),
        ("torch.optim.SGD(p, 0.1)", "torch.optim.SGD(p, 0.1, fused=True)"),
        ("optim.Adam( p )", "optim.Adam( p, fused=True )"),
        ("optim.Adam(p,)", "optim.Adam(p, fused=True,)"),
        ("optim.Adam(\n    p,\n    lr=1,  # high\n)", "optim.Adam(\n    p,\n    lr=1,  # high\n    fused=True,\n)"),
        ("optim.Adam(\n    p,\n    lr=1  # high\n)", "optim.Adam(\n    p,\n    lr=1,  # high\n    fused=True\n)"),
        ("optim.Adam(p,\n    lr=1\n)", "optim.Adam(p,\n    lr=1, fused=True\n)"),
        ("optim.Adam(\n    p,\n    lr=1\n)", "optim.Adam(\n    p,\n    lr=1,\n    fused=True\n)"),
    ],
)  # fmt: skip
def test_the_option_is_given(call, new):
    text = f"{HEAD}opt = {call}\nfor x in y:\n    opt.step()\n"

    line = text.count("\n")
    assert fixed(FIX, text, line) == text.replace(call, new)


def test_the_one_whose_step_is_slow_is_taken():
    text = f"{HEAD}self.a = optim.Adam(p)\nself.b = optim.Adam(q)\nagent.b.step()\n"

    assert changes(text, fixed(FIX, text, 5)) == [
        "-self.b = optim.Adam(q)",
        "+self.b = optim.Adam(q, fused=True)",
    ]


def test_one_of_another_class_than_was_seen_is_left_alone():
    text = f"{HEAD}a = optim.SGD(p, 0.1)\nagent.step()\n"
    seen = {"agent": "type=torch.optim.adam.Adam"}

    assert "makes an optimizer by its name" in refusal(FIX, text, 4, seen=seen)


def test_it_may_be_made_in_another_file():
    case = a_case("def f(x):\n    x.step()\n", 2, made=f"{HEAD}def g(p): return optim.AdamW(p)\n")

    assert FIX.rewrite(case).texts == {
        "/p/made.py": f"{HEAD}def g(p): return optim.AdamW(p, fused=True)\n"
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("o = optim.Adam(p, foreach=True)", "foreach is given"),
        ("o = optim.Adam(p, **more)", "by stars"),
        ("a = optim.Adam(p)\nb = optim.Adam(q)", "several optimizers"),
        ("o = mine.Adam(p)", "makes an optimizer by its name"),
    ],
)
def test_others_are_left_alone(text, why):
    assert why in refusal(FIX, f"{HEAD}{text}\nz.step()\n", 3 + text.count("\n") + 1)
