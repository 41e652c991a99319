"""How often ``rlprof check`` errs: simulated checks over the noise of real runners.

    python benchmarks/gate.py --checks 10000

Needs numpy. Prints what the intervals in question are worth with few pairs, then what the whole rule does:
false failures where head is base (A/A), what is found of true slowdowns, and the pairs that it takes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from math import inf, sqrt

import numpy as np
from gate_noise import (
    BEYOND,
    IRREGULAR,
    JOB_SIGMA,
    LOG_NORMAL,
    NOISES,
    Array,
    Noise,
    within_job,
)
from gate_simulation import INCONCLUSIVE, PASS, REGRESSION, signed_rank_bounds, simulate
from measuring import print_table, say

from rlprof.gate.counters import RunCounters, compare_counters
from rlprof.gate.decision import (
    MIN_EFFECT,
    DecisionSettings,
    State,
    decide_unpaired,
    detectable_effect,
)
from rlprof.gate.statistics import EFFICIENCY

SEED = 20261121


def generator(row: int) -> Array:
    """Numbers of its own for each row of a table, the same on every day."""
    return np.random.default_rng([SEED, row])


SETTINGS = DecisionSettings()
LONGEST = 2 * SETTINGS.max_pairs
"""Pairs of a check that sees a regression at the end of its first series."""

RESAMPLES = 1000
PAIRS = 5
"""In which counters are judged."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--checks", type=int, default=10_000, help="simulated checks a row")
    arguments = parser.parse_args()
    checks: int = arguments.checks
    intervals(checks)
    rule(checks)
    detectable(checks)
    others(checks)
    baseline(checks // 20)
    counters(checks // 10)
    rare_events(checks)


# --- which interval ------------------------------------------------------------------------


def intervals(checks: int) -> None:
    """How often the upper end lies below the truth, though it should in ``SETTINGS.error`` at most."""
    bounds: dict[str, Callable[[Array, Array], Array]] = {
        "signed ranks": lambda ratios, _: signed_rank_bounds(ratios, SETTINGS.error)[1],
        "bootstrap of the median": lambda ratios, random: bootstrap(ratios, random, np.median),
        "bootstrap of the mean": lambda ratios, random: bootstrap(ratios, random, np.mean),
        "Student's t": lambda ratios, _: student(ratios),
    }
    rows = []
    # What is log-normal is so at any size.
    for row, noise in enumerate((LOG_NORMAL[0], *IRREGULAR)):
        say(f"intervals: {noise.name}")
        cells = []
        for bound in bounds.values():
            errors = []
            for pairs in SETTINGS.looks:
                random = generator(row)
                high = bound(noise.ratios(random, checks, pairs), random)
                errors.append(f"{100 * np.mean(high < 0):.1f}")
            cells.append(" / ".join(errors))
        rows.append([noise.name, *cells])
    looks = ", ".join(map(str, SETTINGS.looks))
    print_table(
        f"Error of one end, in % of {checks} checks, with {looks} pairs "
        f"(asked for: at most {100 * SETTINGS.error:.1f} %; bootstrap of {checks // 5} checks)",
        ["noise", *bounds],
        rows,
    )


def bootstrap(ratios: Array, random: Array, statistic: Callable[..., Array]) -> Array:
    """Upper end of the percentile interval, of every fifth check: it takes a thousand times as long."""
    ratios = ratios[::5]
    checks, pairs = ratios.shape
    highs = []
    for start in range(0, checks, 250):
        part = ratios[start : start + 250]
        drawn = random.integers(0, pairs, (len(part), RESAMPLES, pairs))
        values = np.take_along_axis(part[:, None, :], drawn, axis=2)
        highs.append(np.quantile(statistic(values, axis=2), 1 - SETTINGS.error, axis=1))
    return np.concatenate(highs)


def student(ratios: Array) -> Array:
    pairs = ratios.shape[1]
    reach = STUDENT[pairs] * ratios.std(axis=1, ddof=1) / sqrt(pairs)
    return ratios.mean(axis=1) + reach


STUDENT = {5: 2.5014, 8: 2.1695, 12: 2.0351}
"""Quantiles of Student's t at 1 - 1/30, by number of pairs."""

STUDENT_95 = 2.1318
"""That at 95 %, of five pairs."""


# --- the whole rule ------------------------------------------------------------------------


def rule(checks: int) -> None:
    rows = []
    for row, noise in enumerate((*NOISES, *BEYOND)):
        say(f"rule: {noise.name}")
        same, edge, slower = (
            simulate(
                noise.ratios(generator(3 * row + column), checks, LONGEST, slowdown=by), SETTINGS
            )
            for column, by in enumerate((0.0, MIN_EFFECT, 0.1))
        )
        false, found = np.mean(same.state == REGRESSION), np.mean(slower.state == REGRESSION)
        target = f" (≥ {100 * noise.finds:.0f})" if noise.finds else ""
        rows.append(
            [
                noise.name,
                _percent(false, 2) + (" (≤ 1)" if noise.is_promised else ""),
                _percent(np.mean(same.state == PASS)),
                _percent(np.mean(same.state == INCONCLUSIVE)),
                _percent(np.mean(edge.state == REGRESSION), 2),
                _percent(found) + target,
                _percent(np.mean(slower.state == PASS), 2),
                f"{2 * same.pairs.mean():.0f}",
                f"{2 * slower.pairs.mean():.0f}",
            ]
        )
    print_table(
        f"`rlprof check` at default settings, in % of {checks} checks a cell (targets in brackets)",
        [
            "noise",
            "A/A fails",
            "A/A passes",
            "A/A inconclusive",
            "true −5 % fails",
            "true −10 % fails",
            "true −10 % passes",
            "runs, A/A",
            "runs, −10 %",
        ],
        rows,
    )


def _percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}"


def detectable(checks: int) -> None:
    """Whether the minimum detectable effect is what it is called: found nine times in ten."""
    rows = []
    for row, sigma in enumerate((0.003, 0.01, 0.02, 0.03, 0.05, 0.1)):
        noise = Noise("", within_job(sigma))
        spread = sqrt(2) * sigma / sqrt(EFFICIENCY * SETTINGS.max_pairs)
        effect = detectable_effect(spread, SETTINGS)
        found = simulate(noise.ratios(generator(row), checks, LONGEST, slowdown=effect), SETTINGS)
        rows.append(
            [
                f"{100 * sigma:g} %",
                f"{100 * effect:.1f} %",
                _percent(np.mean(found.state == REGRESSION)),
                _percent(np.mean(found.state == PASS), 2),
                f"{2 * found.pairs.mean():.0f}",
            ]
        )
    print_table(
        "Minimum detectable effect, where the noise is known (target: 90 % found)",
        ["within a job", "minimum detectable effect", "found, %", "passed, %", "runs"],
        rows,
    )


# --- other gates ---------------------------------------------------------------------------


def others(checks: int) -> None:
    """What other rules make of runs of one and the same program, and of one slower by 10 %."""
    gates: dict[str, Callable[[Noise, Array, int, float], Array]] = {
        "rlprof check": ours,
        "one run, 10 % below one of another job": one_run,
        "five runs after five others, means 5 % apart": blocks,
        "five pairs, t-test at 5 %, no minimum effect": t_test,
    }
    noises = {noise.name: noise for noise in NOISES}
    rows = []
    for row, name in enumerate(SHOWN):
        say(f"other gates: {name}")
        cells = [
            " / ".join(
                _percent(np.mean(gate(noises[name], generator(row), checks, by)))
                for by in (0.0, 0.1)
            )
            for gate in gates.values()
        ]
        rows.append([name, *cells])
    print_table(
        f"Other gates: fails in A/A / fails at true −10 %, in % of {checks} checks",
        ["noise", *gates],
        rows,
    )


SHOWN = (
    "within a job 1 %",
    "within a job 3 %",
    "layouts 10 % apart, either half of the time",
    "machine drifts by 5 %, correlated by 0.9",
)
"""Noises that other gates are shown with."""


def ours(noise: Noise, random: Array, checks: int, by: float) -> Array:
    found = simulate(noise.ratios(random, checks, LONGEST, slowdown=by), SETTINGS)
    return found.state == REGRESSION


def one_run(noise: Noise, random: Array, checks: int, by: float) -> Array:
    jobs = random.normal(0, JOB_SIGMA * sqrt(2), checks)
    return np.log(1 - by) + jobs + noise.ratios(random, checks, 1)[:, 0] < np.log(0.9)


def blocks(noise: Noise, random: Array, checks: int, by: float) -> Array:
    runs = noise.draw(random, checks, 10)
    return np.exp(runs[:, 5:]).mean(axis=1) * (1 - by) < 0.95 * np.exp(runs[:, :5]).mean(axis=1)


def t_test(noise: Noise, random: Array, checks: int, by: float) -> Array:
    ratios = noise.ratios(random, checks, 5, slowdown=by)
    return ratios.mean(axis=1) + STUDENT_95 * ratios.std(axis=1, ddof=1) / sqrt(5) < 0


# --- baseline file -------------------------------------------------------------------------


def baseline(checks: int) -> None:
    """Saved runs against head alone: what the machine was that day is not in the pairs any more."""
    rows = []
    for sigma in (0.01, 0.03):
        for between in (0.0, 0.02, 0.05, JOB_SIGMA):
            say(f"baseline: {sigma}, {between}")
            random = generator(len(rows))
            same, slower = ([*unpaired(random, checks, sigma, between, by)] for by in (0.0, 0.1))
            rows.append(
                [
                    f"{100 * sigma:g} %",
                    f"{100 * between:g} %",
                    _percent(same.count(State.REGRESSION) / checks),
                    _percent(same.count(State.PASS) / checks),
                    _percent(slower.count(State.REGRESSION) / checks),
                ]
            )
    print_table(
        f"Against a baseline file of {SETTINGS.max_pairs} runs, in % of {checks} checks",
        ["within a job", "between jobs", "A/A fails", "A/A passes", "true −10 % fails"],
        rows,
    )


def unpaired(
    random: Array, checks: int, sigma: float, between: float, by: float
) -> Iterator[State]:
    for _ in range(checks):
        saved = np.exp(random.normal(0, sigma, SETTINGS.max_pairs))
        today = random.normal(0, between * sqrt(2))
        runs = (1 - by) * np.exp(today + random.normal(0, sigma, LONGEST))
        wanted, more = 0, SETTINGS.min_pairs
        while more:
            wanted += more
            decision = decide_unpaired(saved.tolist(), runs[:wanted].tolist(), SETTINGS)
            more = decision.more
        yield decision.state


# --- counters ------------------------------------------------------------------------------


def counters(checks: int) -> None:
    """Counts that vary from run to run, judged after each of five pairs; nothing is asked for."""
    rows = []
    for row, sigma in enumerate((0.0, 0.01, 0.05, 0.1, 0.2)):
        random = generator(row)
        cells = [
            _percent(np.mean(counted(random, checks, sigma, extra) < inf)) for extra in (0, 0.1)
        ]
        pairs = counted(random, checks, sigma, 1.0)
        when = pairs[pairs < inf]
        last = f"{_percent(len(when) / checks)} (pair {np.median(when):.0f})" if len(when) else "0"
        rows.append([f"{100 * sigma:g} %", *cells, last])
    print_table(
        f"Counters that vary from run to run: fails after {PAIRS} pairs, in % of {checks} checks",
        ["variation", "the same", "a tenth more", "twice as many (median pair)"],
        rows,
    )


def counted(random: Array, checks: int, sigma: float, extra: float) -> Array:
    """The pair at which each check failed, or infinity."""
    return np.array(
        [
            failing_pair(
                np.round(10_000 * np.exp(random.normal(0, sigma, PAIRS))),
                np.round(10_000 * (1 + extra) * np.exp(random.normal(0, sigma, PAIRS))),
            )
            for _ in range(checks)
        ]
    )


def rare_events(checks: int) -> None:
    """Events that come at random, and seldom: judged after one pair, and after each of five."""
    rows = []
    for row, mean in enumerate((0.5, 2, 8, 40)):
        random = generator(row)
        fails = {
            times: np.array(
                [
                    failing_pair(
                        random.poisson(mean, PAIRS), random.poisson(times * mean, PAIRS), steps=500
                    )
                    for _ in range(checks)
                ]
            )
            for times in (1, 3)
        }
        cells = [_percent(np.mean(fails[1] <= pair)) for pair in (1, PAIRS)]
        rows.append([f"{mean:g}", *cells, _percent(np.mean(fails[3] <= PAIRS))])
    print_table(
        f"Events that come at random in runs of 500 steps: fails after {PAIRS} pairs, in % of {checks} checks",
        ["events in a run", "the same, first pair", "the same", "three times as many"],
        rows,
    )


def failing_pair(base: Array, head: Array, *, steps: int = 10_000) -> float:
    """Number of the pair at which head fails, counting so many events in each run; infinity for none."""
    runs = [
        [RunCounters({"log_records": float(events) / steps}, steps) for events in side]
        for side in (base, head)
    ]
    for pairs in range(1, len(base) + 1):
        if any(counter.fails for counter in compare_counters(runs[0][:pairs], runs[1][:pairs])):
            return pairs
    return inf


if __name__ == "__main__":
    main()
