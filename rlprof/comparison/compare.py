"""Two reports compared: rates, findings, counters, quantities, and where the time went."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import Final

from rlprof.comparison.calltree import ChangeTree, Scale, compare_trees
from rlprof.comparison.findings import FindingChange, finding_changes
from rlprof.comparison.remarks import remarks
from rlprof.comparison.sides import (
    BASE_AND_NEW,
    SideNames,
    comparable_steps,
    crowding_between,
    rate_change,
)
from rlprof.comparison.stacks import FEWEST_BLOCKS, Stacks, roles_to_compare, steady_stacks
from rlprof.model.profile import PhaseKind
from rlprof.model.recording import Note
from rlprof.model.report import Report
from rlprof.pace.rates import RateChange
from rlprof.pace.scaling import relative_error

METRICS: Final = ("wall", "cpu")

COUNTER_EFFECT: Final = 0.2
"""Relative change of a counter per step from which on it is called one. The two steady phases are not
of the same length, and programs log, collect and publish more at one time than at another."""

_EDGE_EVENTS: Final = 3
"""Events that a steady phase may have more or less by where it begins and ends."""


@dataclass(frozen=True, slots=True)
class CounterChange:
    """Events or bytes per step of the steady phase; None where that run counted none."""

    name: str
    base: float | None
    new: float | None
    is_clear: bool


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure of both runs, without a verdict; None where it is not known."""

    name: str
    unit: str
    """``us``, ``bytes`` or ``cores``."""
    base: float | None
    new: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Changes from one run to another."""

    base: Report
    new: Report
    metric: str
    rate: RateChange | None
    """None unless both rates are known and count the same thing."""
    quantities: tuple[Quantity, ...]
    findings: tuple[FindingChange, ...]
    counters: tuple[CounterChange, ...]
    tree: ChangeTree | None
    """None where a run has no steady phase, or no samples in it."""
    notes: tuple[Note, ...]
    sides: SideNames = BASE_AND_NEW


def compare(
    base: Report,
    new: Report,
    *,
    metric: str = "wall",
    sides: SideNames = BASE_AND_NEW,
    is_one_of_many: bool = False,
) -> Comparison:
    """Compare two detailed reports; works on any two, an empty one included.

    ``is_one_of_many``: other pairs tell whether the rate changed, so that the limits of one need not be told.
    """
    roles = roles_to_compare(base, new)
    stacks = steady_stacks(base, metric, roles[0]), steady_stacks(new, metric, roles[1])
    tree = _tree(base, new, stacks, metric)
    rate = rate_change(base, new)
    return Comparison(
        base=base,
        new=new,
        metric=metric,
        rate=rate,
        quantities=_quantities(base, new),
        findings=finding_changes(base, new, tree, stacks),
        counters=_counters(base, new),
        tree=tree,
        notes=remarks(
            base,
            new,
            tree,
            has_rate=rate is not None,
            sides=sides,
            is_one_of_many=is_one_of_many,
        ),
        sides=sides,
    )


# --- where time went -----------------------------------------------------------------------


def _tree(
    base: Report, new: Report, stacks: tuple[Stacks | None, Stacks | None], metric: str
) -> ChangeTree | None:
    was, now = stacks
    if was is None or now is None or not was.total_us or not now.total_us:
        return None
    per_step = comparable_steps(base, new) and all(
        report.detail is not None and report.detail.steady_steps > 0 for report in (base, new)
    )
    scales = (
        _scale(base, was, metric, per_step=per_step),
        _scale(new, now, metric, per_step=per_step),
    )
    # Who waits for a core uses none, and shares of the time are of all that was slowed.
    crowding = crowding_between(base, new) if metric == "wall" and per_step else 1.0
    return compare_trees(
        was,
        now,
        scales,
        metric=metric,
        per="step" if per_step else "second",
        crowding=crowding,
    )


def _scale(report: Report, stacks: Stacks, metric: str, *, per_step: bool) -> Scale:
    if not per_step:
        return Scale(sum(stacks.block_us) / 1e6, 0.0)
    sps, detail = report.throughput.steady_sps, report.detail
    assert sps is not None, "a rate is needed per step"
    assert detail is not None, "stacks come from the detail"
    error = relative_error(sps)
    if metric == "cpu":
        # A busy machine makes steps rarer and leaves their CPU time as it is.
        error = min(error, _error_per_step(stacks))
    return Scale(detail.steady_steps, error)


def _error_per_step(stacks: Stacks) -> float:
    """Relative standard error of the time per step, from blocks of time (a ratio estimate)."""
    blocks = list(zip(stacks.block_time_us, stacks.block_steps, strict=True))
    steps, us = sum(stacks.block_steps), stacks.total_us
    count = len(blocks)
    if count < FEWEST_BLOCKS or steps <= 0 or us <= 0:
        return float("inf")
    rests = (time - us / steps * made for time, made in blocks)
    return sqrt(count / (count - 1) * sum(rest * rest for rest in rests)) / us


# --- quantities and counters ---------------------------------------------------------------


def _quantities(base: Report, new: Report) -> tuple[Quantity, ...]:
    rows = (
        Quantity(name, unit, was, now)
        for (name, unit, was), (_, _, now) in zip(_figures(base), _figures(new), strict=True)
    )
    return tuple(row for row in rows if row.base or row.new)


def _figures(report: Report) -> tuple[tuple[str, str, float | None], ...]:
    use = report.resources
    # To a hundredth of a core: less is no waiting at all.
    cores = (None, None) if use is None else (round(use.used, 2), round(use.queued, 2))
    return (
        ("wall time of the run", "us", float(report.run.wall_us)),
        ("start-up", "us", _phase_us(report, PhaseKind.START_UP)),
        ("warm-up", "us", _phase_us(report, PhaseKind.WARM_UP)),
        ("CPU time per step", "us", _cpu_per_step(report)),
        ("cores used", "cores", cores[0]),
        ("cores waited for", "cores", cores[1]),
        ("peak memory", "bytes", None if report.memory is None else report.memory.peak_bytes),
    )


def _phase_us(report: Report, kind: PhaseKind) -> float | None:
    if not report.phases:
        return None
    return float(
        sum(phase.end_us - phase.start_us for phase in report.phases if phase.kind is kind)
    )


def _cpu_per_step(report: Report) -> float | None:
    """µs of all processes, threads that run no Python included."""
    sps, use = report.throughput.steady_sps, report.resources
    if sps is None or use is None or sps.median <= 0:
        return None
    return use.used * 1e6 / sps.median


def _counters(base: Report, new: Report) -> tuple[CounterChange, ...]:
    """Return the counters of runs whose steps are the same thing; the most changed first."""
    if not comparable_steps(base, new):
        return ()
    was, now = dict(base.counters_per_step), dict(new.counters_per_step)
    changes = [
        CounterChange(name, was.get(name), now.get(name), _counter_changed(name, base, new))
        for name in was.keys() | now.keys()
    ]
    return tuple(
        sorted(changes, key=lambda change: (not change.is_clear, -_log_change(change), change.name))
    )


def _counter_changed(name: str, base: Report, new: Report) -> bool:
    rates = [dict(report.counters_per_step).get(name, 0.0) for report in (base, new)]
    steps = [
        report.detail.steady_steps if report.detail is not None else 0.0 for report in (base, new)
    ]
    edges = sum(_EDGE_EVENTS / step for step in steps if step > 0)
    return abs(rates[1] - rates[0]) > COUNTER_EFFECT * max(rates) + edges


def _log_change(change: CounterChange) -> float:
    if not change.base or not change.new:
        return float("inf") if change.base or change.new else 0.0
    return abs(log(change.new / change.base))
