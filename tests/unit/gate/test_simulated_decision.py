"""``benchmarks/gate_simulation.py`` decides as the package does, and the promises hold in a small sample."""

from __future__ import annotations

from math import exp

import pytest

from rlprof.gate.decision import DecisionSettings, RatePair, Verdict, decide

np = pytest.importorskip("numpy", reason="numpy is missing: pip install 'rlprof[examples]'")

from benchmarks.gate_noise import NOISES  # noqa: E402 - they need numpy
from benchmarks.gate_simulation import PASS, REGRESSION, simulate  # noqa: E402 - they need numpy

STATES = (Verdict.PASS, Verdict.REGRESSION, Verdict.INCONCLUSIVE)
DEFAULT = DecisionSettings()


@pytest.mark.parametrize(
    "settings",
    [
        DEFAULT,
        DecisionSettings(max_pairs=14),
        DecisionSettings(min_effect=0.02, min_pairs=6, max_pairs=10),
    ],
)
@pytest.mark.parametrize("slowdown", [0.0, 0.06, 0.1])
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
def test_both_decide_alike(noise, slowdown, settings):
    random = np.random.default_rng(1)
    ratios = noise.ratios(random, 20, 2 * settings.max_pairs, slowdown=slowdown)

    checks = simulate(ratios, settings)

    for row, state, pairs in zip(ratios, checks.state, checks.pairs, strict=True):
        decision = decide([RatePair(1.0, exp(ratio)) for ratio in row], settings)
        assert (decision.state, decision.pairs, decision.more) == (STATES[state], pairs, 0)
        if decision.state is Verdict.REGRESSION:
            assert decision.ratio.high < 1 - decision.min_effect


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
def test_a_program_against_itself_fails_in_one_of_a_hundred_checks_at_most(noise):
    ratios = noise.ratios(np.random.default_rng(2), 1000, 2 * DEFAULT.max_pairs)

    assert np.mean(simulate(ratios, DEFAULT).state == REGRESSION) <= 0.01


@pytest.mark.parametrize(
    "noise", [noise for noise in NOISES if noise.finds], ids=lambda noise: noise.name
)
def test_a_slowdown_by_a_tenth_is_found_in_nine_of_ten_checks(noise):
    ratios = noise.ratios(np.random.default_rng(3), 1000, 2 * DEFAULT.max_pairs, slowdown=0.1)

    state = simulate(ratios, DEFAULT).state

    assert np.mean(state == REGRESSION) >= 0.9
    assert np.mean(state == PASS) <= 0.001
