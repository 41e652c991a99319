from __future__ import annotations

import pytest

from rlprof.detectors.python_loop_over_tensor import (
    DETECTOR,
    NUMBERS_REMOVABLE,
    ROWS_REMOVABLE,
)
from rlprof.detectors.recognisers.line_time import MIN_SHARE
from rlprof.model.finding import Confidence, Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, claimed_s, detect, lines_of, profile_of, ranked

REPLAY = Script(
    "replay.py",
    """
    import torch

    def priorities(errors: torch.Tensor):
        found = torch.zeros(len(errors))
        for i in range(len(errors)):
            if errors[i] > 1.0:
                found[i] = errors[i].sqrt()
        return found

    def centred(rows: torch.Tensor):
        return_ = []
        for row in rows:
            return_.append(row - row.mean())
        return return_

    def train(env, policy, actions: torch.Tensor):
        for i in range(len(actions)):
            env.step(actions[i])
    """,
)
TEST = REPLAY.at("if errors", "priorities")
SQRT = REPLAY.at("errors[i].sqrt", "priorities")
ROW = REPLAY.at("row.mean", "centred")
STEP = REPLAY.at("env.step", "train")
ITERATING = f"{SITE}/torch/_tensor.py:1150 Tensor.__iter__"


def a_training(*, numbers_s: float = 0.0, rows_s: float = 0.0) -> RunBuilder:
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(numbers_s / 2, TEST).spends(numbers_s / 2, SQRT).spends(rows_s / 2, ROW)
    run.spends(rows_s / 2, REPLAY.at("for row in", "centred"), ITERATING)
    return run.spends(10.0 - numbers_s - rows_s, STEP, "env.py:3 step")


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, REPLAY)


def test_names_the_tensor_and_the_loop():
    (finding,) = found(a_training(numbers_s=4.0))

    loop = REPLAY.line("for i in range(len(errors))")
    assert finding.title == f"a Python loop goes through errors one by one (replay.py:{loop})"
    assert set(lines_of(finding)) == {REPLAY.line("if errors"), REPLAY.line("errors[i].sqrt")}
    assert finding.evidence == (
        "40 % of the steady time is spent in that loop, 4 ms a step",
        "the source shows that no turn needs the one before, and nothing but torch is called on them",
    )
    assert finding.savings[0].removable == NUMBERS_REMOVABLE
    assert finding.confidence is Confidence.MEASURED


def test_finds_a_comprehension_over_what_was_seen_to_be_a_tensor():
    script = Script(
        "scaling.py",
        """
        def centred(torch, whole, values):
            return torch.stack([(one - whole) / 2 for one in values])
        """,
    )
    line = script.at("torch.stack", "centred")
    run = a_run(steady_s=10.0).process("main", steps=1000).spends(6.0, line)
    run.spends(4.0, "train.py:3 main")

    assert detect(DETECTOR, run, script) == []

    run.sees(line, values="type=torch.Tensor shape=2048 dtype=torch.float32")
    run.sees(line, torch__stack="type=builtin_function_or_method function=torch.stack")
    ids = [finding.finding.detector for finding in ranked(run, script)]
    assert [slug for slug in ids if slug != "hot-spot"] == ["python-loop-over-tensor"]


def test_is_less_sure_of_rows():
    (finding,) = found(a_training(rows_s=4.0))

    assert finding.savings[0].removable == ROWS_REMOVABLE
    assert finding.confidence is Confidence.BOUNDED
    assert set(lines_of(finding)) == {REPLAY.line("for row in"), REPLAY.line("row.mean")}


def test_silent_on_a_rollout_that_takes_one_action_after_the_other():
    assert found(a_training()) == []


def test_silent_just_under_its_threshold():
    assert found(a_training(numbers_s=10 * MIN_SHARE * 0.9)) == []
    assert len(found(a_training(numbers_s=10 * MIN_SHARE * 1.1))) == 1


def test_silent_without_the_source():
    assert detect(DETECTOR, a_training(numbers_s=5.0)) == []


def test_ranks_by_the_time_of_the_loop():
    first, *_ = ranked(a_training(numbers_s=5.0), REPLAY)

    assert first.finding.detector == DETECTOR.id
    assert first.saved_share.low < 0.48 < first.saved_share.high


BELIEF = Script(
    "belief.py",
    """
    import numpy as np

    def correct(points, weights, seen):
        for k in range(len(points)):
            far = np.linalg.norm(points[k] - seen)
            weights[k] *= np.exp(-far)

    def spread(points, weights, seen):
        for k in range(len(points)):
            weights[k] = move(points[k])
    """,
)
NORM = f"{SITE}/numpy/linalg/_linalg.py:2500 norm"


def a_belief(points: str, function: str = "correct") -> RunBuilder:
    far = BELIEF.at("far =" if function == "correct" else "move(", function)
    weigh = BELIEF.at("weights[k] *=", function)
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(4.0, far, NORM).spends(2.0, weigh).spends(4.0, "env.py:3 step")
    run.sees(far, points=f"type=numpy.ndarray shape={points} dtype=f8")
    return run.sees(weigh, weights="type=numpy.ndarray shape=200 dtype=f8")


def test_finds_a_loop_over_an_array_that_was_seen():
    profile = profile_of(a_belief("200,2"), BELIEF)
    (finding,) = DETECTOR.in_samples.detect(profile)

    assert lines_of(finding) == [BELIEF.line("far ="), BELIEF.line("weights[k] *=")]
    assert "points is an array of numpy with 200 rows" in finding.evidence[1]
    assert claimed_s(profile, finding) == 6.0


@pytest.mark.parametrize("points", ["8,2", "200,512"])
def test_silent_for_few_rows_of_an_array_and_for_long_ones(points: str):
    assert detect(DETECTOR, a_belief(points), BELIEF) == []


def test_silent_where_the_programs_own_code_is_called_for_each_row():
    assert detect(DETECTOR, a_belief("200,2", "spread"), BELIEF) == []


def test_silent_on_what_is_made_of_an_array_in_the_loop():
    script = Script(
        "made.py",
        """
        import numpy as np

        def lengths(points, found):
            for k in range(100):
                moved = points + k
                found[k] = np.sqrt(moved[k])
        """,
    )
    made, line = script.at("moved = ", "lengths"), script.at("found[k] =", "lengths")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(6.0, line).spends(4.0, "env.py:3 step")
    run.sees(made, points="type=numpy.ndarray shape=100 dtype=f8", k="type=int")

    assert detect(DETECTOR, run, script) == []
