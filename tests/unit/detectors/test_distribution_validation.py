from __future__ import annotations

from rlprof.detectors.distribution_validation import DETECTOR, MIN_SHARE
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, detect, lines_of, ranked

PPO = Script(
    "ppo.py",
    """
    def act(policy, observations):
        return Categorical(logits=policy(observations)).sample()

    def quiet(policy, observations):
        return Categorical(logits=policy(observations), validate_args=False).sample()
    """,
)
ACT = PPO.at("Categorical(logits=policy(observations)).sample", "act")
QUIET = PPO.at("validate_args=False", "quiet")
MAKING = f"{SITE}/torch/distributions/categorical.py:66 Categorical.__init__"
CHECKING = f"{SITE}/torch/distributions/distribution.py:66 Distribution.__init__"
CONSTRAINT = f"{SITE}/torch/distributions/constraints.py:420 _Simplex.check"
SAMPLING = f"{SITE}/torch/distributions/categorical.py:130 Categorical.sample"


def a_training(checking_s: float, *, line: str = ACT) -> RunBuilder:
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(checking_s / 2, line, MAKING, CHECKING)
    run.spends(checking_s / 2, line, MAKING, CHECKING, CONSTRAINT)
    return run.spends(1.0, line, MAKING).spends(9.0 - checking_s, line, SAMPLING)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, PPO)


def test_names_the_line_that_makes_the_distribution():
    (finding,) = found(a_training(3.0))

    assert lines_of(finding) == [PPO.line("Categorical(logits=policy(observations)).sample")]
    assert finding.evidence == (
        "30 % of the steady time goes into checking, 3 ms a step",
        "nothing on that line switches it off, and it is on by default",
    )


def test_says_so_where_the_line_tells():
    (finding,) = found(a_training(3.0, line=QUIET))

    assert finding.evidence[1] == "validate_args is given on that line"


def test_silent_just_under_its_threshold():
    assert found(a_training(10 * MIN_SHARE * 0.9)) == []
    assert len(found(a_training(10 * MIN_SHARE * 1.1))) == 1


def test_silent_on_distributions_that_do_not_check():
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(5.0, ACT, MAKING).spends(5.0, ACT, SAMPLING)

    assert found(run) == []


def test_ranks_by_the_time_in_the_checks():
    first, *_ = ranked(a_training(4.0), PPO)

    assert first.finding.detector == DETECTOR.id
    assert first.saved_share.low < 0.38 < first.saved_share.high < 0.6
