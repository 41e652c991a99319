from __future__ import annotations

import pytest

from rlprof.analysis.source.target_updates import target_updates
from rlprof.detectors.target_update_per_parameter import (
    DETECTOR,
    MIN_SHARE,
    ONE_CALL_REMOVABLE,
    REMOVABLE,
)
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, detect, lines_of, ranked

SAC = Script(
    "sac.py",
    """
    def follow(target, critic):
        for slow, fast in zip(target.parameters(), critic.parameters()):
            slow.data.copy_(TAU * fast.data + (1 - TAU) * slow.data)

    def train(env, policy):
        env.step(policy)
    """,
)
LOOP = SAC.at("for slow", "follow")
MOVE = SAC.at("slow.data.copy_", "follow")
STEP = SAC.at("env.step", "train")
PARAMETERS = f"{SITE}/torch/nn/modules/module.py:2600 Module.named_parameters"


def a_training(seconds: float) -> RunBuilder:
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(seconds * 0.2, LOOP, PARAMETERS).spends(seconds * 0.8, MOVE)
    return run.spends(10.0 - seconds, STEP, "env.py:3 step")


def found(run: RunBuilder, text: str = SAC.text) -> list[Finding]:
    return detect(DETECTOR, run, Script("sac.py", text))


def test_names_the_loop_and_its_lines():
    (finding,) = found(a_training(4.0))

    assert finding.title.endswith(f"(sac.py:{SAC.line('for slow')})")
    assert lines_of(finding) == [SAC.line("slow.data.copy_"), SAC.line("for slow")]
    assert finding.evidence == (
        "40 % of the steady time is spent in that loop, 4 ms a step",
        "the source shows a Python loop over the parameters of two networks",
    )
    assert finding.savings[0].removable == REMOVABLE


def test_promises_less_where_each_parameter_takes_one_call():
    text = SAC.text.replace(
        "copy_(TAU * fast.data + (1 - TAU) * slow.data)", "lerp_(fast.data, TAU)"
    )

    (finding,) = found(a_training(4.0), text)

    assert finding.savings[0].removable == ONE_CALL_REMOVABLE


def test_silent_just_under_its_threshold():
    assert found(a_training(10 * MIN_SHARE * 0.9)) == []
    assert len(found(a_training(10 * MIN_SHARE * 1.1))) == 1


def test_silent_without_the_source():
    assert detect(DETECTOR, a_training(5.0)) == []


def test_ranks_by_the_time_of_the_loop():
    first, *_ = ranked(a_training(5.0), SAC)

    assert first.finding.detector == DETECTOR.id
    assert first.saved_share.low < 0.4 < first.saved_share.high


PAIRS = "for a, b in zip(f.parameters(), g.parameters()):\n    "
STATES = "a = f.state_dict()\nb = g.state_dict()\nfor k in a:\n    "


@pytest.mark.parametrize(
    ("code", "in_one_call"),
    [
        (PAIRS + "b.data.mul_(1 - tau).add_(tau * a.data)", False),
        (PAIRS + "b.data.mul_(1 - tau)\n    b.data.add_(tau * a.data)", False),
        (PAIRS + "b.data = tau * a.data + (1 - tau) * b.data", False),
        (PAIRS + "b.data.copy_(a.data)", True),
        (PAIRS + "b.data.lerp_(a.data, 1 - tau)", True),
        (STATES + "b[k] = a[k] * tau + b[k] * (1 - tau)", False),
        (PAIRS + "total += (a - b).norm()", None),
        (PAIRS + "assert a.shape == b.shape", None),
        ("for p in f.parameters():\n    p.data.clamp_(-1, 1)", None),
        ("for a, b in zip(f.layers(), g.layers()):\n    b.copy_(a)", None),
        ("for k in table:\n    b[k] = a[k] * 2\nf.state_dict()", None),
        ("def broken(:\n    parameters()", None),
    ],
)
def test_reads_updates_off_the_source(code, in_one_call):
    forms = {it.in_one_call for it in target_updates(code).values()}

    assert forms == (set() if in_one_call is None else {in_one_call})
