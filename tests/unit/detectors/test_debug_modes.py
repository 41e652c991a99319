"""``debug-modes`` on autograd's anomaly mode, as samples show it."""

from __future__ import annotations

import pytest

from rlprof.detectors.debug_modes import CHECKED_LARGE, CHECKED_SMALL, DETECTOR, MIN_SHARE, STACKS
from rlprof.model.finding import Confidence, Finding
from tests.factories import a_run
from tests.profile_factory import SITE, STDLIB, Script, detect, lines_of

LINEAR = f"{SITE}/torch/nn/modules/linear.py:125 Linear.forward"
FORMAT = (
    f"{SITE}/torch/fx/traceback.py:229 format_stack",
    f"{STDLIB}/traceback.py:213 format_stack",
)
ENGINE = f"{SITE}/torch/autograd/graph.py:869 _engine_run_backward"
COMPILER = f"{SITE}/torch/fx/proxy.py:150 Tracer.create_node"


def a_script(switch: str) -> Script:
    return Script(
        "learn.py",
        f"""
        import torch

        def update(net, batch, optimizer):
            with {switch}:
                loss = net(batch).square().mean()
                loss.backward()
            optimizer.step()
        """,
    )


ON = a_script("torch.autograd.detect_anomaly()")


def a_training(
    *, stacks: float = 3.0, backward: float = 2.0, script: Script = ON, above: tuple[str, ...] = ()
) -> list[Finding]:
    run = a_run(steady_s=10.0).process("main", steps=1000)
    asks, goes = script.at("loss = net", "update"), script.at("loss.backward", "update")
    if stacks:
        run.spends(stacks, asks, *above, LINEAR, *FORMAT)
    run.spends(backward, goes, ENGINE).spends(10.0 - stacks - backward, asks, LINEAR)
    return detect(DETECTOR, run, script)


def test_stacks_that_torch_records_for_each_op_tell_of_it():
    (finding,) = a_training()

    assert (
        finding.title
        == f"autograd's anomaly detection is on (learn.py:{ON.line('detect_anomaly')})"
    )
    assert lines_of(finding) == [ON.line("detect_anomaly"), ON.line("loss = net")]
    assert [saving.removable for saving in finding.savings] == [STACKS, CHECKED_SMALL]
    assert finding.confidence is Confidence.MEASURED
    assert finding.evidence[0].startswith("30 % of the steady time is spent in format_stack")


def test_of_a_long_backward_pass_checks_may_be_a_small_part():
    (finding,) = a_training(stacks=1.0, backward=5.0)

    assert [saving.removable for saving in finding.savings] == [STACKS, CHECKED_LARGE]
    assert finding.confidence is Confidence.BOUNDED


def test_gradients_that_are_not_checked_cost_nothing():
    (finding,) = a_training(script=a_script("torch.autograd.detect_anomaly(check_nan=False)"))

    assert [saving.removable for saving in finding.savings] == [STACKS]


def test_a_switch_that_depends_on_something_promises_nothing_of_the_backward_pass():
    (finding,) = a_training(script=a_script("torch.autograd.set_detect_anomaly(options.debug)"))

    assert finding.savings[1].removable.low == 0.0


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"stacks": 0.0}, id="no stacks"),
        pytest.param({"stacks": 10 * MIN_SHARE * 0.5, "backward": 0.0}, id="hardly any"),
        pytest.param({"above": (COMPILER,)}, id="those of a compiler"),
    ],
)
def test_silent_without_it(changes: dict[str, object]):
    assert a_training(**changes) == []
