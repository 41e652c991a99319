from __future__ import annotations

from rlprof.fixes.rewrites.no_distribution_checks import FIX
from tests.fix_factory import a_case, changes, fixed, refusal

LINE = "torch.distributions.Distribution.set_default_validate_args(False)"
TEXT = '"""Train."""\n\nimport torch\nfrom torch import nn  # layers\n\nX = 1\n\n\ndef f(p):\n    return torch.distributions.Categorical(p)\n'


def test_one_line_comes_after_the_imports():
    assert changes(TEXT, fixed(FIX, TEXT, 9)) == ["+", f"+{LINE}"]
    assert f"# layers\n\n{LINE}\n" in fixed(FIX, TEXT, 9)


def test_it_is_the_script_that_changes():
    case = a_case(TEXT, 9, script="/p/main.py", main="import sys\nimport train\n\ntrain.f(0)\n")

    (file, new), *others = FIX.rewrite(case).texts.items()

    assert (file, others) == ("/p/main.py", [])
    assert new == f"import sys\nimport train\nimport torch\n\n{LINE}\n\ntrain.f(0)\n"


def test_another_name_of_torch_is_taken():
    text = "import torch as th\r\n\r\nth.f()\r\n"

    assert fixed(FIX, text, 3) == text.replace(
        "as th\r\n", "as th\r\n\r\n" + LINE.replace("torch", "th", 1) + "\r\n"
    )


def test_what_the_program_says_itself_stays():
    assert "already" in refusal(FIX, TEXT + LINE, 9)
    assert "validate_args is given" in refusal(FIX, TEXT.replace("(p)", "(p, validate_args=True)"), 10)  # fmt: skip
    assert "begins with no imports" in refusal(FIX, "x = 1\n", 1)
    assert "not recorded" in refusal(FIX, TEXT, 9, script="/p/gone.py")


def test_a_program_that_goes_on_after_a_check_has_failed_keeps_them():
    text = TEXT.replace(
        "    return torch.distributions.Categorical(p)\n",
        "    try:\n        return torch.distributions.Categorical(p)\n    except ValueError:\n        return None\n\n\nfor _ in range(9):\n    f(X)\n",
    )

    assert "catches what a check raises, and goes on (train.py:12)" in refusal(FIX, text, 11)
