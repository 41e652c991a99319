"""The reason why a run has no steps per second, and what to do about it, in words."""

from __future__ import annotations

from typing import Final

from rlprof.model.profile import Throughput
from rlprof.model.report import Report
from rlprof.report.wording import GLUE, count, rate, rate_unit

_COUNT_STEPS: Final = (
    "Steps per second are not known: nothing counted steps. Call rlprof.step(n) where the "
    "script has done n steps, or give --sps-pattern for what it prints."
)

_TOO_FEW_RATES: Final = (
    "Steps per second are not known: the program printed too few rates to tell a steady one. Let "
    "it train for longer."
)

_HARDLY_ANY_RATE: Final = (
    "Steps per second are not known: the program printed a rate once or twice, which tells no steady one. Call "
    "rlprof.step(n) where the script has done n steps, or have it print its rate all along."
)


def on_the_rate(report: Report) -> str:
    """Say why there are no steps per second and what to do about it, or why no rate is promised; empty where there is
    a steady rate, or a crash tells why there is none.
    """
    throughput = report.throughput
    if report.crash and report.crash.before_steady:
        return ""
    if throughput.drifts_by_factors:
        return _drift(throughput)
    if throughput.steady_sps is not None:
        return ""
    steps = throughput.total_steps
    if throughput.unit == "none":
        return _COUNT_STEPS
    if not steps:
        return _HARDLY_ANY_RATE if throughput.was_hardly_printed else _TOO_FEW_RATES
    return (
        f"Steps per second are not known: {count(steps)} {throughput.unit} were counted, in too short a time "
        "to tell a steady rate. Let it train for longer."
    )


def _drift(throughput: Throughput) -> str:
    assert throughput.drift is not None, "drifts by factors"
    first, last = (f"{rate(value)}{GLUE}{rate_unit(throughput)}" for value in throughput.drift)
    return (
        f"The rate is not steady: {first} in the first third of the steady phase, {last} in the last. "
        "Prices are shares of the time for it, and no rate is promised."
    )
