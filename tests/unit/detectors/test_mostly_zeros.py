from __future__ import annotations

import pytest

from rlprof.detectors.mostly_zeros import DETECTOR, MIN_SHARE, REMOVABLE
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import Script, detect, lines_of, ranked

TILES = Script(
    "tiles.py",
    """
    import numpy as np

    class Linear:
        def values(self, phi):
            return self.w @ phi

        def dotted(self, phi):
            return np.dot(self.w, phi)

        def moved(self, phi, a, error):
            self.w[a] += self.rate * error * phi

        def layer(self, phi):
            return phi @ self.w.T

        def scaled(self, phi):
            return self.scale * phi

    def train(agent, coder):
        while True:
            agent.values(coder.features())
    """,
)
TRAIN = TILES.at("agent.values", "train")
VALUES = TILES.at("return self.w @ phi", "Linear.values")
FEATURES = "type=numpy.ndarray shape=18144 dtype=f8 zeros=1"
WEIGHTS = "type=numpy.ndarray shape=5,18144 dtype=f8"


def a_training(
    place: str = VALUES,
    seconds: float = 4.0,
    phi: str = FEATURES,
    looks: int = 2,
    size: int = 18_144,
) -> RunBuilder:
    """Ten seconds, some of them on a line that multiplies features."""
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(seconds, TRAIN, place).spends(10.0 - seconds, TRAIN)
    dot = "type=numpy._ArrayFunctionDispatcher function=numpy.dot"
    phi, weights = (text.replace("18144", str(size)) for text in (phi, WEIGHTS))
    return run.sees(place, phi=[phi] * looks, self__w=[weights] * looks, np__dot=dot)


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, TILES)


@pytest.mark.parametrize(
    ("line", "method"),
    [("return self.w @ phi", "values"), ("np.dot", "dotted"), ("self.w[a] +=", "moved")],
)
def test_names_the_line_that_multiplies_zeros(line: str, method: str):
    (finding,) = found(a_training(TILES.at(line, f"Linear.{method}")))

    assert lines_of(finding) == [TILES.line(line)]
    assert finding.evidence == (
        "40 % of the steady time is spent on these lines, 4 ms a step",
        "each look found 95 % of its numbers or more to be zeros: phi: array of 18144 float64",
    )
    assert [saving.removable for saving in finding.savings] == [REMOVABLE]


@pytest.mark.parametrize(
    "run",
    [
        a_training(phi=FEATURES.removesuffix(" zeros=1")),
        a_training(looks=1),
        a_training(size=3000),
        a_training(TILES.at("return self.scale", "Linear.scaled")),
        a_training(seconds=10 * MIN_SHARE * 0.9),
    ],
    ids=["filled", "one look", "small", "no product", "below its threshold"],
)
def test_silent(run: RunBuilder):
    assert found(run) == []


def test_silent_on_weights_that_begin_with_zeros():
    run = a_training(phi=FEATURES.removesuffix(" zeros=1"))
    run.sees(VALUES, self__w=[f"{WEIGHTS} zeros=1", WEIGHTS])

    assert found(run) == []


def test_silent_of_products_of_two_tables():
    run = a_training(TILES.at("return phi @", "Linear.layer"))
    place = TILES.at("return phi @", "Linear.layer")
    transposed = "type=numpy.ndarray shape=512,64 dtype=f8"
    run.sees(
        place,
        phi=["type=numpy.ndarray shape=64,512 dtype=f8 zeros=1"] * 2,
        self__w__T=[transposed] * 2,
    )

    assert found(run) == []


def test_one_look_is_enough_at_further_lines_of_the_same_array():
    moved = TILES.at("self.w[a] +=", "Linear.moved")
    run = a_training().spends(3.0, TRAIN, moved).sees(moved, phi=FEATURES)

    (finding,) = found(run)

    assert len(lines_of(finding)) == 2


def test_its_price_is_the_time_of_the_lines():
    first, *_ = ranked(a_training(), TILES)

    assert first.finding.detector == DETECTOR.id
    assert 0.1 < first.saved_share.low < 0.2 < 0.35 < first.saved_share.high < 0.6
