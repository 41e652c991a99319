from __future__ import annotations

import pytest

from rlprof.source.diagonals import takes_diagonals
from rlprof.syntax.module import parse


@pytest.mark.parametrize(
    ("matrix", "is_diagonal"),
    [
        ("torch.diag_embed(var.expand_as(mean))", True),
        ("scale_tril=torch.diag(std)", True),
        ("covariance_matrix=0.1 * torch.eye(4).to(device)", True),
        ("self.cov", True),
        ("local", True),
        ("torch.diag(a) + torch.diag(b)", True),
        ("torch.diag(a) + noise", False),
        ("a @ a.T", False),
        ("self.learned", False),
        ("changed", False),
        ("from_elsewhere", False),
        ("validate_args=False", False),
    ],
)
def test_a_matrix_is_diagonal_where_all_that_it_may_be_is(matrix: str, is_diagonal: bool):
    module = parse(
        f"""
class Actor:
    def __init__(self):
        self.cov = torch.diag(torch.full((4,), 0.5))
        self.learned = torch.eye(4)

    def fit(self, data):
        self.learned = data.T @ data

    def act(self, mean, from_elsewhere):
        local = torch.eye(4)
        changed = torch.eye(4)
        changed += from_elsewhere
        return MultivariateNormal(mean, {matrix})
"""
    )
    assert module is not None

    assert takes_diagonals(module, "MultivariateNormal") is is_diagonal


def test_a_file_without_such_a_call_tells_nothing():
    module = parse("dist = Normal(mean, torch.eye(4))\n")
    assert module is not None

    assert takes_diagonals(module, "MultivariateNormal") is None


def test_a_name_that_stands_for_itself_is_not_asked_for_ever():
    module = parse("cov = cov * 2\ndist = MultivariateNormal(mean, cov)\n")
    assert module is not None

    assert takes_diagonals(module, "MultivariateNormal") is False
