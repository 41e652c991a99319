"""Counters of head against those of base."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from rlprof.errors import UsageError
from rlprof.gate.counters import (
    CounterTolerance,
    RunCounters,
    compare_counters,
    parse_tolerance,
)
from rlprof.model.counters import COST_COUNTERS

PAGE = Path(__file__).parents[3] / "docs" / "counters.md"

STEPS = 10_000.0


def run(steps: float = STEPS, **totals: float) -> RunCounters:
    """A run, given what it counted in all of its steps."""
    return RunCounters({name: total / steps for name, total in totals.items()}, steps)


def only(base, head, *tolerances, known=None):
    (row,) = compare_counters(base, head, tolerances, known=known)
    return row


def test_the_same_counts_are_fine():
    row = only([run(gpu_syncs=30_000)], [run(gpu_syncs=30_000)])

    assert (row.fails, row.reason) == (False, "the same")
    assert (row.base, row.head) == (3.0, 3.0)


def test_a_new_counter_fails_at_the_first_run():
    row = only([run()], [run(gpu_syncs=10_000)])

    assert row.fails
    assert row.reason.startswith("new: 1 per step")


def test_three_times_as_many_fail_at_the_first_run():
    row = only([run(gpu_syncs=10_000)], [run(gpu_syncs=30_000)])

    assert row.fails
    assert row.reason.startswith("3 times as many")


@pytest.mark.parametrize("mean", [0.5, 2, 8, 40])
def test_chance_alone_hardly_ever_fails_at_the_first_pair(mean):
    random = Random(7)

    def events() -> int:
        # As many as come in a time of one at random, with so many in the mean.
        at = random.expovariate(mean)
        number = 0
        while at < 1:
            number += 1
            at += random.expovariate(mean)
        return number

    failed = sum(
        only([run(log_records=events())], [run(log_records=events())]).fails for _ in range(2_000)
    )

    assert failed <= 6


def test_a_tenth_more_waits_for_a_second_pair_to_tell_whether_it_varies():
    few, many = run(gpu_syncs=30_000), run(gpu_syncs=33_000)

    assert not only([few], [many]).fails
    assert only([few, few], [many, many]).fails


@pytest.mark.parametrize("name", ["torch_compiles", "processes"])
def test_where_all_runs_of_a_side_agree_a_single_event_more_fails(name):
    few, many = run(**{name: 3}), run(**{name: 4})

    assert only([few, few], [many, many]).fails


def test_once_a_second_more_is_let_pass_though_all_runs_of_a_side_agree():
    """Thirty seconds that became thirty-one: records, and bytes of messages that go with them."""
    base, head = run(log_records=30, ipc_bytes=30_000), run(log_records=31, ipc_bytes=31_000)

    assert not any(row.fails for row in compare_counters([base] * 5, [head] * 5))


def test_bytes_that_agree_may_grow_by_a_twentieth():
    few, more, many = (run(h2d_bytes=total) for total in (1e9, 1.04e9, 1.06e9))

    assert not only([few, few], [more, more]).fails
    assert only([few, few], [many, many]).fails


def test_where_runs_vary_more_of_it_does_not_fail():
    base = [run(updates=total) for total in (2_500, 2_520)]
    head = [run(updates=total) for total in (2_610, 2_640)]

    assert not only(base, head).fails


def test_five_runs_a_side_tell_more_from_variation():
    base = [run(updates=total) for total in (2_500, 2_520, 2_480, 2_510, 2_490)]
    head = [run(updates=total) for total in (3_000, 3_020, 2_980, 3_010, 2_990)]

    assert only(base, head).fails
    assert not only(base[:4], head[:4]).fails


def test_one_run_of_head_that_is_fine_is_enough():
    base = [run(gpu_syncs=100)] * 2
    head = [run(gpu_syncs=90_000), run(gpu_syncs=100)]

    assert not only(base, head, parse_tolerance("gpu_syncs=0")).fails
    assert only(base, head[:1], parse_tolerance("gpu_syncs=0")).fails


def test_fewer_are_fine_however_many():
    row = only([run(h2d_bytes=5e9)], [run()])

    assert (row.fails, row.reason) == (False, "fewer")


@pytest.mark.parametrize("name", ["gc_collections", "kernel_launches"])
def test_what_depends_on_chance_is_shown_and_not_judged(name):
    row = only([run()], [run(**{name: 50_000})])

    assert (row.fails, row.allowed) == (False, None)
    assert row.reason.startswith("not judged: ")


def test_what_depends_on_chance_is_judged_when_asked_for():
    row = only([run()], [run(kernel_launches=50_000)], parse_tolerance("kernel_launches=0"))

    assert row.fails


def test_zero_allows_not_one_more():
    exact = parse_tolerance("gpu_syncs=0")

    assert only([run(gpu_syncs=10_000)], [run(gpu_syncs=10_001)], exact).fails
    assert not only([run(gpu_syncs=10_000)], [run(gpu_syncs=10_000)], exact).fails


@pytest.mark.parametrize(
    ("steps", "syncs", "fails"),
    [
        (STEPS, 100, False),
        (STEPS, 101, True),
        # As many at the start, and fewer steps behind it.
        (0.99 * STEPS, 100, False),
        (0.5 * STEPS, 100, False),
        (0.99 * STEPS, 101, True),
        (1.01 * STEPS, 100, False),
        (1.01 * STEPS, 101, False),
        (1.01 * STEPS, 102, True),
    ],
)
def test_what_happens_once_does_not_fail_for_the_number_of_steps(steps, syncs, fails):
    base, head = run(gpu_syncs=100), run(steps, gpu_syncs=syncs)

    assert only([base] * 2, [head] * 2, parse_tolerance("gpu_syncs=0")).fails == fails


def test_the_limit_that_is_told_is_that_of_the_steps_that_head_made():
    base, head = run(gpu_syncs=100), run(STEPS / 2, gpu_syncs=100)

    row = only([base], [head], parse_tolerance("gpu_syncs=0"))

    assert (row.fails, row.allowed, row.head) == (False, 0.02, 0.02)


@pytest.mark.parametrize("name", ["torch_compiles", "processes"])
@pytest.mark.parametrize("steps", [0.75 * STEPS, STEPS, 1.5 * STEPS])
def test_what_belongs_to_a_run_is_judged_by_its_total(name, steps):
    few, same, more = run(**{name: 3}), run(steps, **{name: 3}), run(steps, **{name: 4})

    row = only([few, few], [more, more])

    assert not only([few, few], [same, same]).fails
    assert row.fails
    assert row.reason.startswith("1.33 times as many: 4 in a run, 3 allowed")


@pytest.mark.parametrize("steps", [200, 20_000, 2_000_000])
@pytest.mark.parametrize("name", ["torch_compiles", "processes"])
@pytest.mark.parametrize(
    ("base", "head", "fails"),
    [
        ([8, 8, 9, 8, 8], [40] * 5, True),
        ([8, 8, 9, 8, 8], [11] * 5, True),
        # Runs of base differ by one, and so may head from the highest of them.
        ([8, 8, 9, 8, 8], [10] * 5, False),
        ([8, 9], [9, 8], False),
        ([8, 9], [40, 40], True),
        ([8], [40], True),
        # One pair: four standard deviations of chance above 8 are 24.49.
        ([8], [24], False),
        ([8], [25], True),
    ],
)
def test_what_belongs_to_a_run_is_let_vary_by_runs_and_not_by_steps(name, steps, base, head, fails):
    was, now = ([run(steps, **{name: total}) for total in side] for side in (base, head))

    assert only(was, now).fails == fails


@pytest.mark.parametrize(
    ("base", "head", "reason"),
    [
        (
            [8] * 4 + [9],
            [40] * 5,
            "5 times as many: 40 in a run, 10 allowed (it varies from run to run)",
        ),
        (
            [8] * 4 + [9],
            [10] * 5,
            "more, but not beyond the 10 allowed in a run (it varies from run to run)",
        ),
        (
            [8],
            [9],
            "more, but not beyond the 24 allowed in a run (so few runs do not tell whether it varies)",
        ),
    ],
)
def test_what_belongs_to_a_run_is_told_in_whole_events_of_a_run(base, head, reason):
    was = [run(processes=total) for total in base]
    now = [run(STEPS / 4, processes=total) for total in head]

    assert only(was, now).reason == reason


def test_whether_what_belongs_to_a_run_varies_does_not_depend_on_steps():
    """Head made a third of the steps: a process is a third of one in as many as its runs made."""
    base = [run(processes=8)] * 2
    head = [run(STEPS / 3, processes=9), run(STEPS / 3, processes=10)]

    assert not only(base, head).fails
    assert only(base, [head[0]] * 2).fails


def test_totals_are_told_where_rounding_hides_the_event():
    exact = parse_tolerance("gpu_syncs=0")

    row = only([run(gpu_syncs=30_000)], [run(gpu_syncs=30_001)], exact)

    assert row.reason == "more: 30 001 in 10 000 steps, 30 000 allowed"


@pytest.mark.parametrize("known", [(), ("log_records",)])
def test_what_base_does_not_tell_is_shown_and_not_judged(known):
    row = only([run()], [run(gpu_syncs=30_000)], known=known)

    assert (row.base, row.head, row.allowed, row.fails) == (None, 3.0, None, False)
    assert only([run()], [run(gpu_syncs=30_000)], known=("gpu_syncs",)).fails


def test_without_steps_nothing_is_told_per_step():
    assert compare_counters([RunCounters({}, 0.0)], [run(gpu_syncs=30_000)]) == ()


def test_a_part_allows_that_much_and_no_more():
    tenth = parse_tolerance("h2d_bytes=10%")

    assert not only([run(h2d_bytes=1e9)], [run(h2d_bytes=1.1e9)], tenth).fails
    assert only([run(h2d_bytes=1e9)], [run(h2d_bytes=1.11e9)], tenth).fails


def test_off_is_never_judged():
    row = only([run()], [run(ipc_bytes=1e9)], parse_tolerance("ipc_bytes=off"))

    assert (row.fails, row.allowed, row.reason) == (False, None, "not judged, as asked")


def test_what_was_asked_for_is_shown_even_where_nothing_was_counted():
    row = only([run()], [run()], parse_tolerance("gpu_syncs=0"))

    assert (row.name, row.fails, row.reason) == ("gpu_syncs", False, "the same")


def test_steps_and_the_program_s_own_phases_are_no_costs():
    counted = {"steps:gymnasium.env": STEPS, "phase:rollout:wall_ns": 5e9}

    assert compare_counters([run()], [run(**counted)]) == ()


def test_failures_come_first_then_names():
    rows = compare_counters([run(a=1)], [run(a=1, c=10_000, b=1, d=10_000)])

    assert [row.name for row in rows] == ["c", "d", "a", "b"]


def test_something_once_a_second_is_not_made_a_failure_by_fewer_steps_a_second():
    timed_base = RunCounters({"log_records": 60 / 60_000}, 60_000)
    timed_head = RunCounters({"log_records": 60 / 20_000}, 20_000)

    assert not only([timed_base], [timed_head]).fails


@pytest.mark.parametrize("text", ["gpu_sync=0", "phase:rollout:entered=0", "Log_Records=off"])
def test_a_counter_that_there_is_not_is_refused_with_those_that_there_are(text):
    with pytest.raises(UsageError) as error:
        parse_tolerance(text)

    assert error.value.slug == "bad-counter"
    assert all(name in error.value.hint for name in COST_COUNTERS)


@pytest.mark.parametrize("name", COST_COUNTERS)
def test_the_documented_table_is_what_is_counted_and_allowed(name):
    counts, let_pass = documented()[name]

    assert counts == COST_COUNTERS[name]
    few, more = ((run(**{name: total}),) * 2 for total in (1e6, 1e6 + STEPS / 101))
    allowed = compare_counters(few, more)[0].allowed
    told = {None: "not judged unless asked for", 100.0: "none", 105.0: "5 %"}
    assert let_pass == told.get(allowed, "1 in 100 steps")
    if let_pass == "1 in 100 steps":
        assert allowed == pytest.approx(100.01)


def test_the_documented_table_has_no_others():
    assert documented().keys() == COST_COUNTERS.keys()


def documented() -> dict[str, tuple[str, str]]:
    """Of each counter in the table of docs/counters.md, what it counts and what is let pass."""
    rows = re.findall(
        r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| [^|]+ \|$",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    return {name: (counts, let_pass) for name, counts, let_pass in rows}


@pytest.mark.parametrize(
    ("text", "tolerance"),
    [
        ("gpu_syncs=0", CounterTolerance("gpu_syncs", 0.0)),
        ("h2d_bytes=5%", CounterTolerance("h2d_bytes", 0.05)),
        (" h2d_bytes = 12.5 % ", CounterTolerance("h2d_bytes", 0.125)),
        ("ipc_bytes=off", CounterTolerance("ipc_bytes", None)),
    ],
)
def test_tolerances_are_read(text, tolerance):
    assert parse_tolerance(text) == tolerance


@pytest.mark.parametrize(
    "text",
    ["", "gpu_syncs", "=0", "gpu_syncs=", "gpu_syncs=5", "gpu_syncs=-1%", "a=b=0", "steps=0"],
)
def test_what_is_no_tolerance_is_refused(text):
    with pytest.raises(UsageError) as error:
        parse_tolerance(text)

    assert error.value.slug == "bad-counter"
