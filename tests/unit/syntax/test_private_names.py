"""Arrays and containers that share memory with nothing else."""

from __future__ import annotations

import pytest

from rlprof.syntax.module import parse
from rlprof.syntax.private_names import is_private

CLASS = """
import numpy as np

class Learner:
    def __init__(self, rows):
        self.w = {made}

    def learn(self, x, i):
        {used}
"""


def is_private_attribute(made: str = "np.zeros(4)", used: str = "self.w += x") -> bool:
    module = parse(CLASS.format(made=made, used=used))
    assert module is not None
    learn = next(function for function in module.functions if function.node.name == "learn")
    return is_private([module], module, learn, "self", ["w"])


def is_private_variable(body: str) -> bool:
    module = parse("import numpy as np\ndef f(x, rows):\n    " + body.replace("\n", "\n    "))
    assert module is not None
    return is_private([module], module, module.functions[0], "v", [])


@pytest.mark.parametrize(
    "used",
    [
        "self.w += x",
        "self.w[i] = x",
        "y = x @ self.w.T",
        "y = self.w[i] * x",
        "y = self.w[i, 0] * x",
        "y = self.w.sum(0)",
        "y = np.hstack([self.w, x])",
        "y = len(self.w) + self.w.shape[0]",
        "self.w.fill(0)",
        "print(self.w)",
        "y = self.w.reshape(-1) + 1",
    ],
)
def test_what_only_goes_into_new_values_is_private(used: str):
    assert is_private_attribute(used=used)


@pytest.mark.parametrize(
    "used",
    [
        "y = self.w",
        "y = self.w[i]",
        "y = self.w.T",
        "y = self.w.reshape(-1)",
        "y = np.asarray(self.w)",
        "return self.w",
        "other(self.w)",
        "x.rows = [self.w, x]",
        "for y in self.w: y += 1",
        "y = [row for row in self.w]",
        "y, z = self.w, 1",
        "self.w = x",
        "y = max(self.w)",
        "y = self.w if i else x",
        "y = lambda: self.w",
    ],
)
def test_what_somebody_may_keep_is_not(used: str):
    assert not is_private_attribute(used=used)


@pytest.mark.parametrize("made", ["rows", "rows[0]", "np.asarray(rows)", "rows.T", "other()"])
def test_what_was_there_before_is_not(made: str):
    assert not is_private_attribute(made=made)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("v = []\nv.append(x)\nreturn v", True),
        ("v = 0.0\nv += x.sum()\nprint(f'{v}')", True),
        ("v = np.arange(9)\nnp.random.shuffle(v)\npart = v[2:4]\nprint(x[part].sum())", True),
        ("v = np.arange(9)\npart = v[2:4]\nother(part)", False),
        ("v = np.arange(9)\npart = v\nwhole = part\nrows.kept = whole", False),
        ("v = rows\nv[0] = 1", False),
        ("v = []\nrows.kept = v", False),
        ("for v in rows:\n    v += 1", False),
    ],
)
def test_variables_may_be_returned(body: str, expected: bool):
    assert is_private_variable(body) is expected
