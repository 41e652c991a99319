from __future__ import annotations

import pytest

from rlprof.detectors.fp64 import BATCHED, DETECTOR, MANY_ROWS, MIN_SHARE_ON_CPU, REMOVABLE
from rlprof.model.finding import Finding, Range
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, claimed_s, detect, lines_of, profile_of

DQN = Script(
    "dqn.py",
    """
    def learn(network, optimizer, batches):
        for batch in batches:
            loss = network(batch).mean()
            loss.backward()
            optimizer.step()
    """,
)
ASK = DQN.at("loss = network", "learn")
BACK = DQN.at("loss.backward", "learn")
LINEAR = f"{SITE}/torch/nn/modules/linear.py:125 Linear.forward"
GOING_BACK = f"{SITE}/torch/_tensor.py:630 Tensor.backward"
NETWORK = (
    "type=torch.nn.modules.container.Sequential bases=torch.nn.modules.module.Module optimized=1"
)
IN_DOUBLES = f"{NETWORK} dtype=torch.float64"


def a_training(torch_s: float = 6.0, network: str = IN_DOUBLES) -> RunBuilder:
    """Ten seconds, some of them in torch."""
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(torch_s / 2, ASK, LINEAR).spends(torch_s / 2, BACK, GOING_BACK)
    return run.spends(10.0 - torch_s, "env.py:3 step").sees(ASK, network=network)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, DQN)


def test_a_trained_network_in_doubles_is_told_with_the_lines_that_work_on_it():
    (finding,) = found(a_training())

    assert (
        finding.title == f"network computes in double precision (dqn.py:{DQN.line('loss = net')})"
    )
    assert sorted(lines_of(finding)) == [DQN.line("loss = network"), DQN.line("loss.backward")]
    assert finding.evidence == (
        "60 % of the steady time is spent in torch, 6 ms a step",
        "the parameters of network were seen to be torch.float64",
    )


def test_it_claims_what_torch_does():
    profile = profile_of(a_training(), DQN)
    (finding,) = DETECTOR.in_samples.detect(profile)

    assert claimed_s(profile, finding) == 6.0
    assert finding.savings[0].removable == REMOVABLE


@pytest.mark.parametrize(("rows", "removable"), [(MANY_ROWS, BATCHED), (MANY_ROWS - 1, REMOVABLE)])
def test_large_batches_are_arithmetic(rows: int, removable: Range):
    run = a_training().sees(
        ASK, batch=f"type=torch.Tensor shape={rows},8 dtype=torch.float64 device=cpu"
    )
    (finding,) = found(run)

    assert finding.savings[0].removable == removable


@pytest.mark.parametrize(
    "network",
    [f"{NETWORK} dtype=torch.float32", NETWORK, "type=torch.Tensor dtype=torch.float64 shape=3"],
    ids=["single", "not told", "a tensor"],
)
def test_silent_for(network: str):
    assert found(a_training(network=network)) == []


@pytest.mark.parametrize(
    "seen",
    [f"{NETWORK} dtype=torch.float32", "type=torch.Tensor dtype=torch.float64 shape=3 device=cuda"],
    ids=["another network in single precision", "tensors on a GPU"],
)
def test_silent_where_torch_has_other_work_too(seen: str):
    run = a_training().sees("env.py:3 step", other=seen)

    assert found(run) == []


def test_a_network_that_is_not_trained_and_tensors_of_the_cpu_say_nothing_else():
    target = NETWORK.replace("optimized=1", "optimized=0")
    run = a_training().sees("env.py:3 step", target=target)
    run.sees(BACK, loss="type=torch.Tensor dtype=torch.float64 shape= device=cpu")

    assert len(found(run)) == 1


def test_silent_just_under_its_threshold():
    assert found(a_training(10 * MIN_SHARE_ON_CPU * 0.9)) == []
    assert len(found(a_training(10 * MIN_SHARE_ON_CPU * 1.1))) == 1
