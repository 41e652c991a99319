"""Networks that are asked anew in each epoch, as ``repeated-work`` tells of them."""

from __future__ import annotations

import pytest

from rlprof.detectors.repeated_work import DETECTOR, MOST_OF_TURNS, REMOVABLE
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, detect, lines_of

TUNER = Script(
    "tuner.py",
    """
    import torch

    class Tuner:
        def loss(self, ids, old):
            with torch.no_grad():
                ref = self.anchor(ids)
            return self.policy(ids) - ref

        def iterate(self, ids, old):
            for _ in range(5):
                for rows in torch.randperm(32).split(16):
                    self.loss(ids[rows], old[rows]).backward()
    """,
)
ITERATE = TUNER.at("self.loss(ids", "Tuner.iterate")
ANCHOR = TUNER.at("ref = self.anchor", "Tuner.loss")
POLICY = TUNER.at("return self.policy", "Tuner.loss")
CALL = f"{SITE}/torch/nn/modules/module.py:1775 Module._wrapped_call_impl"
LINEAR = f"{SITE}/torch/nn/modules/linear.py:125 Linear.forward"
NETWORK = "type=torch.nn.modules.container.Sequential bases=torch.nn.modules.module.Module"
FROZEN = [f"{NETWORK} optimized=0 gradients=0 changes=9"] * 2


def a_training(anchor: list[str] = FROZEN) -> RunBuilder:
    """Ten seconds: a reference and a policy are asked."""
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(3.0, ITERATE, ANCHOR, CALL, LINEAR).spends(7.0, ITERATE, POLICY, CALL, LINEAR)
    run.sees(ANCHOR, self__anchor=anchor)
    return run.sees(POLICY, self__policy=[f"{NETWORK} optimized=1"] * 2)


def found(run: RunBuilder, text: str = TUNER.text) -> list[Finding]:
    return detect(DETECTOR, run, Script("tuner.py", text))


def test_a_reference_model_is_asked_anew_in_each_epoch():
    (finding,) = found(a_training())

    assert lines_of(finding) == [TUNER.line("ref = self.anchor")]
    assert finding.evidence == (
        "30 % of the steady time is spent in its calls, 3 ms a step",
        "no look found self.anchor changed, and no optimizer moves it",
        f"it is asked in each of 5 turns of the loop at line {TUNER.line('for _ in range')} for rows of ids, which no turn changes",
    )
    (saving,) = finding.savings
    assert saving.removable == (REMOVABLE.low * 0.8, 0.8)


def test_of_unknown_many_epochs_half_goes_at_least():
    (finding,) = found(a_training(), TUNER.text.replace("range(5)", "range(epochs())"))

    assert [saving.removable for saving in finding.savings] == [(0.5, MOST_OF_TURNS)]


@pytest.mark.parametrize(
    "looks",
    [
        FROZEN[:1],
        [f"{NETWORK} optimized=0 gradients=0 changes={count}" for count in (9, 10)],
        [f"{NETWORK} optimized=1"] * 2,
        ["type=function function=tuner.anchor"] * 2,
    ],
    ids=["one look", "moved by hand", "trained", "no network"],
)
def test_silent_on_what_may_answer_otherwise(looks: list[str]):
    assert found(a_training(looks)) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [("range(5)", "range(1)"), ("ids[rows]", "memory.sample(16)"), ("(ids)\n", "(noisy(ids))\n")],
    ids=["one epoch", "drawn from a memory", "given something else"],
)
def test_silent_where_each_turn_may_ask_for_something_else(before: str, after: str):
    assert before in TUNER.text

    assert found(a_training(), TUNER.text.replace(before, after, 1)) == []
