from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.detectors.optimizer_not_fused import (
    ADAM_REMOVABLE,
    DETECTOR,
    MIN_SHARE,
    RMSPROP_REMOVABLE,
    SGD_REMOVABLE,
)
from rlprof.model.finding import Confidence, Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, claimed_s, detect, lines_of, profile_of, ranked

TRAIN = Script(
    "train.py",
    """
    import torch

    def train(env, policy):
        optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4)
        while True:
            loss = policy.loss(env.step())
            loss.backward()
            optimizer.step()
    """,
)
STEP = TRAIN.at("optimizer.step", "train")
BACKWARD = TRAIN.at("loss.backward", "train")
HOOK = f"{SITE}/torch/optim/optimizer.py:517 Optimizer.profile_hook_step.<locals>.wrapper"
GROUPS = f"{SITE}/torch/optim/{{}}.py:246 {{}}.step"
ONE_BY_ONE = f"{SITE}/torch/optim/{{0}}.py:440 _single_tensor_{{0}}"
FUSED = f"{SITE}/torch/optim/{{0}}.py:880 _fused_{{0}}"


def a_training(seconds: float, *, kind: str = "adam", inner: str = ONE_BY_ONE) -> RunBuilder:
    groups = GROUPS.format(kind, kind.capitalize())
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(seconds * 0.8, STEP, HOOK, groups, inner.format(kind))
    run.spends(seconds * 0.2, STEP, HOOK, groups)
    return run.spends(10.0 - seconds, BACKWARD)


def found(run: RunBuilder, text: str = TRAIN.text) -> list[Finding]:
    return detect(DETECTOR, run, Script("train.py", text))


def test_names_the_step_and_where_the_optimizer_is_made():
    (finding,) = found(a_training(4.0))

    assert lines_of(finding) == [TRAIN.line("optimizer.step")]
    assert finding.evidence == (
        "40 % of the steady time is spent in its steps, 4 ms a step",
        "time was seen in _single_tensor_adam, torch's loop over the parameters",
        f"it is made without fused=True (train.py:{TRAIN.line('optim.Adam')})",
    )
    assert finding.savings[0].removable == ADAM_REMOVABLE
    assert finding.confidence is Confidence.MEASURED


def test_is_less_sure_where_it_is_made_elsewhere():
    (finding,) = found(a_training(4.0), TRAIN.text.replace("torch.optim.Adam", "make_optimizer"))

    assert finding.confidence is Confidence.BOUNDED


def test_of_a_library_that_makes_it_its_groups_can_be_switched():
    groups = GROUPS.format("adam", "Adam")
    dqn = f"{SITE}/stable_baselines3/dqn/dqn.py:221 DQN.train"
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, "main.py:3 <module>", dqn, HOOK, groups, ONE_BY_ONE.format("adam"))
    run.spends(6.0, "main.py:3 <module>", dqn)

    (finding,) = found(run, "model.learn(10_000)\n")

    assert finding.fix.startswith("stable_baselines3 makes it.")
    assert 'group["fused"] = True' in finding.fix


@pytest.mark.parametrize(
    ("saturated", "native", "low"),
    [(True, 0.3, 0.0), (True, 0.0, ADAM_REMOVABLE.low), (False, 0.3, ADAM_REMOVABLE.low)],
)
def test_promises_nothing_where_threads_of_torch_have_no_core(saturated, native, low):
    profile = profile_of(a_training(4.0), TRAIN)
    load = replace(profile.load, saturated=saturated, native_us=round(native * profile.load.got_us))

    (finding,) = DETECTOR.in_samples.detect(replace(profile, load=load))

    assert finding.savings[0].removable == (low, ADAM_REMOVABLE.high)
    assert ("wait for each other" in finding.evidence[-1]) == (low == 0.0)


def test_leaves_what_a_closure_does_to_others():
    closure = TRAIN.at("policy.loss", "train.<locals>.closure")
    run = a_training(4.0).spends(3.0, STEP, HOOK, GROUPS.format("adam", "Adam"), closure)

    profile = profile_of(run, TRAIN)

    (finding,) = DETECTOR.in_samples.detect(profile)
    assert claimed_s(profile, finding) == pytest.approx(4.0)


def test_silent_on_a_fused_one():
    assert found(a_training(4.0, inner=FUSED)) == []


def test_silent_where_gradients_go_through_the_step():
    differentiable = TRAIN.text.replace("lr=3e-4", "lr=3e-4, differentiable=True")

    assert found(a_training(4.0), differentiable) == []


@pytest.mark.parametrize(("momentum", "is_one"), [("momentum=0.9", True), ("lr=1e-3", False)])
def test_finds_sgd_only_with_momentum(momentum, is_one):
    text = TRAIN.text.replace("Adam(", "SGD(").replace("lr=3e-4", momentum)

    removable = [
        finding.savings[0].removable for finding in found(a_training(4.0, kind="sgd"), text)
    ]

    assert removable == ([SGD_REMOVABLE] if is_one else [])


SGD = "type=torch.optim.sgd.SGD bases=torch.optim.optimizer.Optimizer"
BY_NAME = TRAIN.text.replace("torch.optim.Adam", "getattr(torch.optim, config.name)")


@pytest.mark.parametrize(
    ("seen", "is_one"),
    [
        (f"{SGD} momentum=1 differentiable=0", True),
        (f"{SGD} momentum=0 differentiable=0", False),
        (f"{SGD} momentum=1 differentiable=1", False),
        (
            "type=train.Own bases=torch.optim.sgd.SGD,torch.optim.optimizer.Optimizer momentum=1",
            True,
        ),
        (SGD, False),
    ],
)
def test_knows_momentum_by_the_optimizer_however_it_is_made(seen, is_one):
    run = a_training(4.0, kind="sgd").sees(STEP, optimizer=seen)

    assert bool(found(run, BY_NAME)) == is_one


def test_goes_by_the_optimizer_that_steps_and_not_by_another_that_is_made():
    text = TRAIN.text.replace("Adam(", "SGD(").replace("lr=3e-4", "momentum=0.9")
    run = a_training(4.0, kind="sgd").sees(STEP, optimizer=f"{SGD} momentum=0 differentiable=0")

    assert found(run, text) == []


@pytest.mark.parametrize(
    ("kind", "name", "sparse", "is_one"),
    [
        ("adagrad", "Adagrad", "True", False),
        ("adagrad", "Adagrad", "False", True),
        ("adam", "Adam", "True", True),
    ],
)
def test_silent_where_gradients_may_be_sparse_which_no_fused_one_takes(kind, name, sparse, is_one):
    text = TRAIN.text.replace("Adam(", f"{name}(")
    text += f"\ntable = torch.nn.Embedding(5000, 2, sparse={sparse})\n"

    assert bool(found(a_training(4.0, kind=kind), text)) == is_one


def test_of_rmsprop_all_are_asked_for_at_once_in_another_way():
    text = TRAIN.text.replace("Adam(", "RMSprop(")

    (finding,) = found(a_training(4.0, kind="rmsprop"), text)

    assert finding.savings[0].removable == RMSPROP_REMOVABLE
    assert finding.evidence[2].startswith("it is made without foreach=True")
    assert finding.fix.startswith("Make it with foreach=True")


def test_silent_on_rmsprop_that_goes_over_all_at_once():
    run = a_training(4.0, kind="rmsprop", inner=FUSED.replace("_fused_", "_multi_tensor_"))

    assert found(run, TRAIN.text.replace("Adam(", "RMSprop(")) == []


def test_silent_just_under_its_threshold():
    assert found(a_training(10 * MIN_SHARE * 0.9)) == []
    assert len(found(a_training(10 * MIN_SHARE * 1.1))) == 1


def test_ranks_by_the_time_of_the_steps():
    first, *_ = ranked(a_training(5.0), TRAIN)

    assert first.finding.detector == DETECTOR.id
    assert first.saved_share.low < 0.36 < first.saved_share.high
