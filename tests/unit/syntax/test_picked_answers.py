from __future__ import annotations

import textwrap

import pytest

from rlprof.syntax.module import parse
from rlprof.syntax.picked_answers import one_is_picked


def is_picked(body: str) -> bool:
    text = "def propagate(self, x, owner):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    module = parse(text)
    assert module is not None
    line = next(n for n, each in enumerate(text.splitlines(), 1) if "member(x)" in each)
    first = line - 1 if "for member" in text.splitlines()[line - 2] else line
    return one_is_picked(module, range(first, line + 1))


@pytest.mark.parametrize(
    "body",
    [
        """
        means, logvars = zip(*(member(x) for member in self.members))
        return torch.stack(means)[owner, torch.arange(len(x))]
        """,
        """
        answers = torch.stack([member(x) for member in self.members])
        rows = torch.arange(len(x))
        mean = answers[owner, rows]
        """,
        """
        answers = []
        for member in self.members:
            answers.append(member(x))
        answers = torch.stack(answers).numpy()
        return answers[self.model_of_row, rows]
        """,
        """
        answers = torch.stack([member(x) for member in self.members])
        return answers.gather(0, owner[None])
        """,
        """
        answers = torch.stack([member(x) for member in self.members])
        return torch.take_along_dim(answers, owner[None], dim=0)
        """,
    ],
)
def test_one_answer_is_used_for_each_row(body):
    assert is_picked(body)


@pytest.mark.parametrize(
    "body",
    [
        "return torch.stack([member(x) for member in self.members]).mean(0)",
        """
        answers = torch.stack([member(x) for member in self.members])
        return answers[0, owner], answers[:, owner], answers[owner]
        """,
        """
        answers = torch.stack([member(x) for member in self.members])
        return answers.gather(2, actions[None])
        """,
        """
        other = x[owner, rows]
        answers = torch.stack([member(x) for member in self.members])
        return answers.min(0).values
        """,
    ],
)
def test_all_answers_are_used(body):
    assert not is_picked(body)


def test_items_that_loops_count_are_single_numbers():
    text = """
def table(self, x):
    for row in range(3):
        for column in range(4):
            values = [member(x) for member in self.members]
            self.sum += values[row, column]
"""
    module = parse(text)
    assert module is not None
    assert not one_is_picked(module, range(5, 6))
