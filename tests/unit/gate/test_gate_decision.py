"""When a check passes, fails, or asks for more pairs."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

import pytest

from rlprof.errors import UsageError
from rlprof.gate.decision import (
    DecisionSettings,
    RatePair,
    Verdict,
    decide,
    decide_unpaired,
)

DEFAULT = DecisionSettings()

WOBBLE = (0.0, 0.01, -0.01, 0.004, -0.006, 0.008, -0.003, 0.002)
"""Relative errors of pairs, small beside the minimum effect."""

WIDE = (0.0, 0.09, -0.08, 0.05, -0.06, 0.07, -0.09, 0.06)
"""The same, larger than it."""


def pairs(
    count: int, *, slowdown: float = 0.0, noise: tuple[float, ...] = WOBBLE
) -> list[RatePair]:
    return [
        RatePair(1000.0, 1000.0 * (1 - slowdown) * (1 + noise[number % len(noise)]))
        for number in range(count)
    ]


def test_nothing_is_decided_before_the_first_pair():
    decision = decide([], DEFAULT)

    assert (decision.state, decision.more, decision.pairs) == (Verdict.INCONCLUSIVE, 5, 0)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_what_is_missing_to_the_first_look_is_asked_for(count):
    decision = decide(pairs(count), DEFAULT)

    assert (decision.more, decision.is_confirming) == (5 - count, False)


def test_the_same_program_passes_at_the_first_look():
    decision = decide(pairs(5), DEFAULT)

    assert (decision.state, decision.more, decision.pairs) == (Verdict.PASS, 0, 5)
    assert decision.ratio.low > 0.95


def test_a_faster_program_passes():
    assert decide(pairs(5, slowdown=-0.3), DEFAULT).state is Verdict.PASS


def test_a_regression_is_not_called_one_until_fresh_pairs_show_it_again():
    seen_once = decide(pairs(5, slowdown=0.1), DEFAULT)

    assert (seen_once.state, seen_once.more) == (Verdict.INCONCLUSIVE, 5)
    assert seen_once.is_confirming


def test_a_regression_that_fresh_pairs_show_again_fails():
    decision = decide(pairs(10, slowdown=0.1), DEFAULT)

    assert (decision.state, decision.more, decision.pairs) == (Verdict.REGRESSION, 0, 10)
    assert decision.ratio.median == pytest.approx(0.9, abs=0.005)
    assert decision.ratio.high < 0.95
    assert decision.is_confirming


def test_fresh_pairs_may_be_less_sure_by_themselves_than_the_first():
    one_quick_run = [*pairs(4, slowdown=0.12), *pairs(1)]

    confirmed = decide([*pairs(5, slowdown=0.12), *one_quick_run], DEFAULT)

    assert confirmed.state is Verdict.REGRESSION
    assert confirmed.ratio.high < 0.95
    assert decide(one_quick_run, DEFAULT).more == 3


def test_a_regression_that_went_away_does_not_fail():
    came_and_went = [*pairs(5, slowdown=0.1), *pairs(5)]

    decision = decide(came_and_went, DEFAULT)

    assert (decision.state, decision.more) == (Verdict.INCONCLUSIVE, 0)
    assert decision.is_confirming
    assert any("fresh ones did not" in reason for reason in decision.reasons)


def test_a_regression_that_many_fresh_pairs_do_not_show_passes_in_the_end():
    seen = pairs(5, slowdown=0.055, noise=(0.0,))
    # One wild pair keeps the looks at five and at eight from saying anything.
    fresh = pairs(12, noise=(0.02, -0.14, 0.01, 0.03))
    fresh[5:] = pairs(7, noise=(0.02, 0.01, 0.03))

    early, late = (decide([*seen, *fresh[:count]], DEFAULT) for count in (8, 12))

    assert (early.is_confirming, early.more) == (True, 4)
    assert (late.state, late.pairs, late.is_confirming) == (Verdict.PASS, 17, True)
    assert late.reasons == ("The first 5 pairs showed a regression, and fresh ones did not.",)


@pytest.mark.parametrize(("count", "more"), [(5, 3), (6, 2), (8, 4), (11, 1)])
def test_more_pairs_are_asked_for_while_it_is_unclear(count, more):
    decision = decide(pairs(count, slowdown=0.05), DEFAULT)

    assert (decision.state, decision.more) == (Verdict.INCONCLUSIVE, more)


def test_a_slowdown_at_the_limit_is_never_decided():
    decision = decide(pairs(12, slowdown=0.05), DEFAULT)

    assert (decision.state, decision.more, decision.pairs) == (Verdict.INCONCLUSIVE, 0, 12)
    assert any("neither shown nor out of the question" in reason for reason in decision.reasons)


def test_at_the_limit_a_quieter_machine_would_not_help():
    limit = decide(pairs(12, slowdown=0.05), DEFAULT)
    noisy = decide(pairs(12, slowdown=0.03, noise=WIDE), DEFAULT)

    assert limit.state is noisy.state is Verdict.INCONCLUSIVE
    assert (limit.is_at_limit, noisy.is_at_limit) == (True, False)
    assert not any("quieter" in reason for reason in limit.reasons)
    assert any("a smaller --min-effect makes that a failure" in reason for reason in limit.reasons)
    assert any(
        "a quieter machine or a larger --max-pairs find" in reason for reason in noisy.reasons
    )


@pytest.mark.parametrize("slowdown", [-0.4, 0.6])
def test_what_is_decided_is_not_at_the_limit(slowdown):
    assert not decide(pairs(10, slowdown=slowdown), DEFAULT).is_at_limit


def test_pairs_after_the_decision_do_not_count():
    decision = decide([*pairs(5), *pairs(7, slowdown=0.5)], DEFAULT)

    assert (decision.state, decision.pairs) == (Verdict.PASS, 5)


def test_noise_raises_the_effect_that_fails_but_not_the_one_that_passes():
    decision = decide(pairs(12, slowdown=0.02, noise=tuple(3 * error for error in WIDE)), DEFAULT)

    assert decision.state is Verdict.INCONCLUSIVE
    assert decision.min_effect > 0.05
    assert decision.asked == 0.05
    assert any("counts, not 5.0 %" in reason for reason in decision.reasons)


def test_a_pass_in_much_noise_says_nothing_of_what_fails_there():
    decision = decide(pairs(12, slowdown=-0.4, noise=WIDE), DEFAULT)

    assert (decision.state, decision.reasons) == (Verdict.PASS, ())
    assert decision.min_effect > decision.asked == 0.05


@pytest.mark.parametrize(("asked", "is_told"), [(0.04, True), (0.045, False)])
def test_a_pass_that_finds_only_twice_the_slowdown_that_matters_says_how_to_find_less(
    asked, is_told
):
    noisy = pairs(12, slowdown=-0.4, noise=tuple(0.5 * error for error in WIDE))

    decision = decide(noisy, DecisionSettings(min_effect=asked))

    assert (decision.state, decision.mde > 2 * asked) == (Verdict.PASS, is_told)
    told = "Runs that take turns (--interleave), longer runs, a quieter machine or a larger --max-pairs find smaller ones."
    assert decision.remedy == (told if is_told else "")


def test_who_has_taken_the_remedy_or_failed_is_given_none():
    much = pairs(12, slowdown=-0.4, noise=WIDE)

    assert decide(much, DEFAULT).remedy
    assert decide(much, DEFAULT, in_turns=True).remedy == ""
    assert decide(pairs(24, slowdown=0.6, noise=WIDE), DEFAULT).remedy == ""


def test_an_effect_that_is_asked_for_is_not_raised():
    settings = DecisionSettings(min_effect=0.02)

    decision = decide(pairs(12, slowdown=0.02, noise=WIDE), settings)

    assert decision.min_effect == 0.02


def test_a_smaller_effect_finds_a_smaller_slowdown():
    small = pairs(10, slowdown=0.04)

    assert decide(small, DecisionSettings(min_effect=0.02)).state is Verdict.REGRESSION
    assert decide(small, DEFAULT).state is not Verdict.REGRESSION


def test_the_minimum_detectable_effect_grows_with_the_noise():
    quiet, loud = decide(pairs(12), DEFAULT), decide(pairs(12, noise=WIDE), DEFAULT)

    assert 0.05 < quiet.mde < 0.08
    assert loud.mde > quiet.mde + 0.05


def test_the_minimum_detectable_effect_is_that_of_a_check_that_goes_on_to_the_end():
    """Four times the same six pairs: a check that stopped at the first could have gone on."""
    settings = DecisionSettings(min_pairs=6, max_pairs=24)
    six = pairs(6, noise=(0.0, 0.02, -0.02, 0.01, -0.01, 0.015))

    early, late = decide(six, settings), decide(six[:6] * 4, replace(settings, min_pairs=24))

    assert (early.pairs, late.pairs) == (6, 24)
    assert early.mde == pytest.approx(late.mde, abs=0.005)


def test_equal_rates_leave_no_noise_and_pass():
    decision = decide([RatePair(100.0, 100.0)] * 5, DEFAULT)

    assert (decision.state, decision.noise) == (Verdict.PASS, 0.0)
    assert decision.mde == pytest.approx(0.05)


def test_the_machine_may_change_its_speed_from_pair_to_pair():
    speeds = (1.0, 3.0, 0.4, 1.7, 0.9)
    changing = [
        RatePair(pair.base * v, pair.head * v) for pair, v in zip(pairs(5), speeds, strict=True)
    ]

    assert decide(changing, DEFAULT).ratio == pytest.approx(decide(pairs(5), DEFAULT).ratio)


@pytest.mark.parametrize(
    ("settings", "looks"),
    [
        (DecisionSettings(), (5, 8, 12)),
        (DecisionSettings(max_pairs=5), (5,)),
        (DecisionSettings(max_pairs=10), (5, 8, 10)),
        (DecisionSettings(min_pairs=8, max_pairs=20), (8, 12, 18, 20)),
        # Four looks have an error of 1/40 each, and five pairs are bounded at 1/32.
        (DecisionSettings(max_pairs=13), (8, 12, 13)),
        (DecisionSettings(max_pairs=20), (8, 12, 18, 20)),
    ],
)
def test_looks_grow_by_half_up_to_the_cap_and_each_can_decide(settings, looks):
    assert settings.looks == looks
    assert settings.error == 0.1 / len(looks)


@pytest.mark.parametrize("wrong", [(4, 12), (0, 12), (8, 7)])
def test_too_few_pairs_are_refused(wrong):
    with pytest.raises(UsageError) as error:
        DecisionSettings(min_pairs=wrong[0], max_pairs=wrong[1])

    assert error.value.slug == "bad-pairs"


@pytest.mark.parametrize("wrong", [0.0, -0.05, 1.0, float("nan")])
def test_an_effect_that_is_none_is_refused(wrong):
    with pytest.raises(UsageError) as error:
        DecisionSettings(min_effect=wrong)

    assert error.value.slug == "bad-min-effect"


# --- against a baseline --------------------------------------------------------------------

SAVED = [1000.0 * (1 + error) for error in WOBBLE]


def heads(count: int, *, slowdown: float = 0.0) -> list[float]:
    return [pair.head for pair in pairs(count, slowdown=slowdown)]


def test_head_alone_passes_against_saved_runs():
    decision = decide_unpaired(SAVED, heads(5), DEFAULT)

    assert (decision.state, decision.more, decision.pairs) == (Verdict.PASS, 0, 5)
    assert decision.ratio.low > 0.95


def test_head_alone_fails_against_saved_runs_when_fresh_runs_are_slower_too():
    assert decide_unpaired(SAVED, heads(5, slowdown=0.1), DEFAULT).is_confirming
    assert decide_unpaired(SAVED, heads(10, slowdown=0.1), DEFAULT).state is Verdict.REGRESSION


def test_where_there_are_no_pairs_none_are_told_and_saving_again_is_advised():
    saved = [1000.0 * (1 + error) for error in WIDE]

    decision = decide_unpaired(saved, heads(12, slowdown=0.03), DEFAULT)

    told = " ".join(decision.reasons)
    assert decision.state is Verdict.INCONCLUSIVE
    assert "between a saved run and one of head" in told
    assert "A baseline that is saved again, of more runs (--pairs)" in told
    assert "from pair" not in told
    assert "--max-pairs" not in told


def test_a_pass_that_saw_little_against_saved_runs_advises_to_save_again():
    saved = [1000.0 * (1 + error) for error in WIDE]

    decision = decide_unpaired(saved, heads(12, slowdown=-0.4), DEFAULT)

    assert decision.state is Verdict.PASS
    assert decision.remedy.startswith("A baseline that is saved again")


def test_one_saved_run_cannot_tell_whatever_head_does():
    decision = decide_unpaired(SAVED[:1], heads(12, slowdown=0.5), DEFAULT)

    assert (decision.state, decision.more, decision.mde) == (Verdict.INCONCLUSIVE, 0, 1.0)
    assert not isfinite(decision.ratio.high)
    assert decision.reasons == (
        "A slowdown of 5.0 % is neither shown nor out of the question.",
        "A single run does not tell how much runs vary.",
    )
