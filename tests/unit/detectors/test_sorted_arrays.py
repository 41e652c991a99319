"""Arrays and tensors that are sorted for a few of them, as ``slow-call`` tells of them."""

from __future__ import annotations

import pytest

from rlprof.detectors.recognisers.calls.sorted_arrays import NUCLEUS, SORTED_FOR_FEW
from rlprof.detectors.slow_call import DETECTOR
from rlprof.model.finding import Finding
from tests.factories import a_run
from tests.profile_factory import Script, detect

ARRAY = "type=numpy.ndarray shape=5000 dtype=f8"
TENSOR = "type=torch.Tensor shape=16,5000 dtype=torch.float32 device=cpu grad=0"


def told(body: str, scores: str = ARRAY) -> list[Finding]:
    """What is told of time on the first line of a function with this body."""
    lines = "\n    ".join(body.split("\n"))
    text = f"import numpy as np\nimport torch\n\ndef pick(scores, k, heat):\n    {lines}\n"
    script = Script("pick.py", f"{text}\ndef act():\n    while True:\n        pick(q, 8, 1.0)\n")
    place = script.at(body.split("\n")[0], "pick")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, script.at("pick(q", "act"), place).spends(6.0, "env.py:3 step")
    return detect(DETECTOR, run.sees(place, scores=scores), script)


@pytest.mark.parametrize(
    ("body", "scores"),
    [
        ("return np.argsort(scores)[-k:]", ARRAY),
        ("return np.argsort(-scores)[:k]", ARRAY),
        ("return scores.argsort()[::-1][:k]", ARRAY),
        ("return torch.sort(scores, descending=True).values[:, :k]", TENSOR),
        (
            "best, order = torch.sort(scores / heat, descending=True)\nbest, order = best[:, :k], order[:, :k]\nreturn best.sum(), order",
            TENSOR,
        ),
        ("order = np.argsort(scores)\nreturn order[-k:]", ARRAY),
    ],
    ids=["the last", "the first", "backwards", "of a tensor", "cut later", "kept, and cut"],
)
def test_a_few_of_an_order(body: str, scores: str):
    (finding,) = told(body, scores)

    assert finding.title == "a whole array is sorted for a few of it (pick.py:5)"
    assert [saving.removable for saving in finding.savings] == [SORTED_FOR_FEW.removable]


@pytest.mark.parametrize(
    "body",
    [
        "ordered, order = scores.sort(dim=-1, descending=True)\nmass = ordered.softmax(-1)\ndrop = mass.cumsum(-1) - mass > k\nreturn drop.scatter(-1, order, drop)",
        "ordered, order = torch.sort(scores / heat, descending=True)\nreturn order[torch.cumsum(ordered, -1) < k]",
    ],
    ids=["of its masses", "of itself"],
)
def test_a_nucleus(body: str):
    (finding,) = told(body, TENSOR)

    assert finding.title == "a whole vocabulary is sorted for a nucleus (pick.py:5)"
    assert [saving.removable for saving in finding.savings] == [NUCLEUS.removable]


def test_silent_of_a_sum_of_something_else():
    body = "ordered, order = scores.sort(dim=-1)\nsteps = heat.cumsum(-1)\nreturn ordered, order, steps"

    assert told(body, TENSOR) == []


@pytest.mark.parametrize(
    ("body", "scores"),
    [
        ("return np.argsort(scores)", ARRAY),
        ("return np.argsort(scores)[::-1]", ARRAY),
        ("return np.argsort(scores)[len(scores) // 2]", ARRAY),
        ("order = np.argsort(scores)\nreturn order[:k], order.sum()", ARRAY),
        ("return np.argsort(scores)[-k:]", ARRAY.replace("5000", "500")),
        ("return ranked(scores)[-k:]", ARRAY),
        ("return np.argsort(scores)[-k:]", "type=list length=5000 first.type=float"),
    ],
    ids=["all", "all backwards", "the middle", "all of it, too", "few", "of another", "a list"],
)
def test_silent_where_the_order_is_used_or_short(body: str, scores: str):
    assert told(body, scores) == []
