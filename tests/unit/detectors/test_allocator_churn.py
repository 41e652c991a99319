"""``allocator-churn`` as samples show it: calls that give back the GPU's cached memory."""

from __future__ import annotations

import pytest

from rlprof.detectors.allocator_churn import ALLOCATED_ANEW, DETECTOR, EMPTYING, MIN_SHARE
from rlprof.model.finding import Confidence, Finding
from tests.factories import a_run
from tests.profile_factory import SITE, Script, detect, lines_of

LEARN = Script(
    "learn.py",
    """
    import torch

    def learn(batches, net, optimizer):
        for batch in batches:
            loss = net(batch).square().mean()
            loss.backward()
            torch.cuda.empty_cache()

    def collect(net, env):
        net(env.step())
    """,
)
EMPTY = f"{SITE}/torch/cuda/memory.py:222 empty_cache"
LINEAR = f"{SITE}/torch/nn/modules/linear.py:125 Linear.forward"
ENGINE = f"{SITE}/torch/autograd/graph.py:869 _engine_run_backward"


def found(*, emptying: float, networks: float = 5.0, empty: str = EMPTY) -> list[Finding]:
    run = a_run(steady_s=10.0).process("main", steps=1000)
    main = "train.py:3 main"
    run.spends(emptying, main, LEARN.at("empty_cache", "learn"), empty)
    run.spends(networks / 2, main, LEARN.at("loss = net", "learn"), LINEAR)
    run.spends(networks / 2, main, LEARN.at("loss.backward", "learn"), ENGINE)
    run.spends(10.0 - emptying - networks, "train.py:4 main", LEARN.at("net(env", "collect"))
    return detect(DETECTOR, run, LEARN)


def test_names_the_call_and_leaves_open_what_allocating_anew_costs():
    (finding,) = found(emptying=1.0)

    assert lines_of(finding) == [LEARN.line("empty_cache")]
    assert finding.confidence is Confidence.BOUNDED
    emptying, anew = finding.savings
    assert emptying.removable == EMPTYING
    # Of 5 s in torch's own functions there.
    assert anew.removable == pytest.approx((0.0, ALLOCATED_ANEW * 1.0 / 5.0))
    assert finding.evidence[0] == "10 % of the steady time is spent in empty_cache(), 1 ms a step"


def test_no_more_is_saved_than_torch_takes_there():
    (finding,) = found(emptying=3.0)

    assert finding.savings[1].removable == pytest.approx((0.0, 1.0))


def test_silent_just_under_its_threshold():
    assert found(emptying=10 * MIN_SHARE * 0.9) == []
    assert len(found(emptying=10 * MIN_SHARE * 1.1)) == 1


def test_another_function_of_that_name_is_none():
    assert found(emptying=3.0, empty="cache.py:7 empty_cache") == []
