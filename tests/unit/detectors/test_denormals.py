from __future__ import annotations

import pytest

from rlprof.detectors.denormals import DETECTOR, MIN_SHARE, REMOVABLE
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import Script, detect, lines_of, ranked

SARSA = Script(
    "sarsa.py",
    """
    import numpy as np

    class Lambda:
        def fade(self, active):
            self.z *= self.decay

        def fade_into(self):
            np.multiply(self.z, self.decay, out=self.scratch)

        def faded(self):
            return self.decay * self.z

        def value(self):
            return self.z @ self.w

        def move(self):
            self.w += self.z

    def train(agent):
        while True:
            agent.fade(3)
    """,
)
TRAIN = SARSA.at("agent.fade", "train")
FADE = SARSA.at("self.z *=", "Lambda.fade")
FULL = "type=numpy.ndarray shape=40000 dtype=f4"
FADED = f"{FULL} denormals=1"


def a_training(
    place: str = FADE, seconds: float = 4.0, z: tuple[str, ...] = (FADED, FADED)
) -> RunBuilder:
    """Ten seconds, some of them on a line that works on traces."""
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(seconds, TRAIN, place).spends(10.0 - seconds, TRAIN)
    multiply = "type=numpy.ufunc function=numpy.multiply"
    return run.sees(place, self__z=[*z], self__w=[FULL] * len(z), np__multiply=multiply)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, SARSA)


@pytest.mark.parametrize(
    ("line", "method"),
    [
        ("self.z *=", "fade"),
        ("np.multiply", "fade_into"),
        ("return self.decay * self.z", "faded"),
        ("return self.z @", "value"),
    ],
)
def test_names_the_line_that_multiplies_denormal_numbers(line: str, method: str):
    (finding,) = found(a_training(SARSA.at(line, f"Lambda.{method}")))

    assert lines_of(finding) == [SARSA.line(line)]
    assert finding.evidence == (
        "40 % of the steady time is spent on these lines, 4 ms a step",
        "looks found 5 % of its numbers or more to be denormal, near 1e-40: self.z: array of 40000 float32",
    )
    assert [saving.removable for saving in finding.savings] == [REMOVABLE]


def test_an_array_that_had_none_at_first_is_told():
    assert found(a_training(z=(FULL, FADED, FADED)))


@pytest.mark.parametrize(
    "run",
    [
        a_training(z=(FULL, FULL)),
        a_training(z=(FADED,)),
        a_training(z=(FULL, FULL, FULL, FADED, FADED)),
        a_training(SARSA.at("self.w += self.z", "Lambda.move")),
        a_training(seconds=10 * MIN_SHARE * 0.9),
    ],
    ids=["none", "one look", "now and then", "a sum", "below its threshold"],
)
def test_silent(run: RunBuilder):
    assert found(run) == []


def test_its_price_is_the_time_of_the_lines():
    first, *_ = ranked(a_training(), SARSA)

    assert first.finding.detector == DETECTOR.id
    assert 0.1 < first.saved_share.low < 0.2 < 0.35 < first.saved_share.high < 0.6
