"""Whatever was recorded: no time is lost in folding, none is sold twice, none is sold too dear."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlprof.model.finding import Finding, Range, Saving
from rlprof.model.profile import PhaseKind, Profile
from rlprof.model.recording import (
    Counter,
    Frame,
    Node,
    Process,
    Recording,
    RunInfo,
    Samples,
    Thread,
    ThreadClock,
    Window,
)
from rlprof.pace.steadiness import Segment, settled_rate, warm_up_length
from rlprof.pricing.ranking import MOST_SAVED, worth
from rlprof.pricing.sale import price
from rlprof.profile.build import build_profile

FILES = (
    "train.py",
    "<frozen importlib._bootstrap>",
    "/usr/lib/python3.11/multiprocessing/connection.py",
    "",
)

FUNCTIONS = ("step", "<module>", ":INVALID:", ":GC:")


@st.composite
def recordings(draw) -> Recording:
    """A few processes of one or two threads, any samples, steps or none, cores or too few."""
    lengths = draw(st.lists(st.integers(100_000, 2_000_000), min_size=1, max_size=14))
    ends = [sum(lengths[: i + 1]) for i in range(len(lengths))]
    windows = tuple(
        Window(i, end - length, end)
        for i, (length, end) in enumerate(zip(lengths, ends, strict=True))
    )
    processes = draw(st.integers(1, 3))
    threads = tuple(
        Thread(i, i // 2, 100 + i, "MainThread", i % 2 == 0) for i in range(2 * processes)
    )
    nodes = []
    for i in range(draw(st.integers(1, 8))):
        made = Frame(draw(st.sampled_from(FILES)), draw(st.sampled_from(FUNCTIONS)), 1)
        nodes.append(Node(i, draw(st.integers(-1, i - 1)), made))
    places = st.tuples(
        st.integers(0, len(windows) - 1),
        st.integers(0, len(threads) - 1),
        st.integers(0, len(nodes) - 1),
    )
    samples = Samples()
    clock: dict[tuple[int, int], list[int]] = {}
    for window, thread, node in draw(st.lists(places, max_size=30, unique=True)):
        wall = draw(st.integers(1, lengths[window]))
        idle = draw(st.sampled_from((0, wall // 2, wall)))
        cpu = draw(st.integers(0, wall - idle))
        samples.add(window, thread, node, wall, idle, cpu)
        row = clock.setdefault((window, thread), [0, 0, 0])
        row[:] = [row[0] + wall, row[1] + idle, row[2] + cpu]
    counted = st.tuples(st.integers(0, len(windows) - 1), st.integers(0, processes - 1))
    return Recording(
        run=a_run_info(windows[-1].end_us, cores=draw(st.integers(1, 4))),
        processes=tuple(a_process(i, windows[-1].end_us) for i in range(processes)),
        threads=threads,
        nodes=tuple(nodes),
        windows=windows,
        samples=samples,
        clocks=tuple(
            ThreadClock(w, t, wall, idle, 0, cpu, wall - idle - cpu)
            for (w, t), (wall, idle, cpu) in sorted(clock.items())
        ),
        counters=tuple(
            Counter(window, process, "steps", draw(st.integers(1, 10_000)))
            for window, process in draw(st.lists(counted, max_size=20, unique=True))
        ),
    )


def a_run_info(wall_us: int, *, cores: int) -> RunInfo:
    return RunInfo(
        id="0",
        command=("python", "train.py"),
        script="train.py",
        cwd="/",
        started_unix_s=0.0,
        wall_us=wall_us,
        exit_code=0,
        complete=True,
        host={"usable_cores": str(cores)},
    )


def a_process(number: int, wall_us: int) -> Process:
    return Process(
        id=number,
        pid=100 + number,
        ppid=100 if number else 1,
        argv=("python", "train.py"),
        executable="python3",
        python="3.11.7",
        start_method="fork" if number else "root",
        started_us=0,
        ended_us=wall_us,
        exit_code=0,
        fate="sampled",
        clock_samples=wall_us // 10_000,
        probe_samples=wall_us // 10_000,
    )


@st.composite
def profiles_with_findings(draw) -> tuple[Profile, list[Finding]]:
    profile = build_profile(draw(recordings()))
    nodes = st.frozensets(st.integers(0, len(profile.whole.nodes) - 1), max_size=8)
    savings = st.builds(Saving, nodes, st.sampled_from((Range(0.0, 1.0), Range(0.5, 1.0))))
    findings = st.builds(
        Finding,
        detector=st.just("any"),
        title=st.sampled_from("abc"),
        phase=st.sampled_from((PhaseKind.STEADY, PhaseKind.START_UP)),
        savings=st.lists(savings, max_size=2).map(tuple),
        locations=st.just(()),
        evidence=st.just(()),
        fix=st.just(""),
    )
    return profile, draw(st.lists(findings, max_size=5))


@given(recordings())
def test_folding_keeps_every_microsecond(recording):
    whole = build_profile(recording).whole.total

    assert whole.wall_us == sum(recording.samples.wall_us)
    assert whole.idle_us == sum(recording.samples.idle_us)
    assert whole.cpu_us == sum(recording.samples.cpu_us)


@given(recordings())
def test_the_steady_time_is_what_steady_shares_are_of(recording):
    profile = build_profile(recording)

    # Scaled times are rounded, node by node.
    slack = len(recording.nodes)
    assert profile.steady.total.wall_us <= profile.critical.wall_us + slack
    assert profile.steady.total.idle_us >= -slack
    if not profile.load.saturated:
        own = sum(
            wall
            for _, thread, _, wall, _, _ in recording.samples.rows()
            if thread in profile.critical.threads
        )
        assert profile.critical.wall_us <= own + slack


@given(recordings())
def test_start_up_takes_no_longer_than_the_run(recording):
    profile = build_profile(recording)

    # Scaled times are rounded, node by node and thread by thread.
    slack = len(recording.nodes) * len(recording.threads)
    assert profile.start_up.total.wall_us <= recording.run.wall_us + slack


@given(recordings())
def test_phases_tile_the_run(recording):
    phases = build_profile(recording).phases

    assert phases[0].start_us == 0
    assert phases[-1].end_us == recording.run.wall_us
    for phase, following in pairwise(phases):
        assert phase.start_us < phase.end_us == following.start_us


@given(profiles_with_findings())
def test_no_time_is_sold_twice(case):
    profile, findings = case

    priced = price(findings, profile)

    for phase, tree, whole in (
        (PhaseKind.STEADY, profile.steady, profile.critical.wall_us),
        (PhaseKind.START_UP, profile.start_up, profile.run.wall_us),
    ):
        sold = [e for e in priced.listed + priced.also_seen if e.finding.phase is phase]
        # The low end of a price never exceeds what it claims, so their sum shows a double sale.
        assert sum(entry.saved_share.low for entry in sold) * whole <= tree.total.wall_us + 1


@given(profiles_with_findings())
def test_prices_are_shares_and_ranked(case):
    profile, findings = case

    priced = price(findings, profile)

    entries = priced.listed + priced.also_seen
    assert sorted(map(id, findings)) == sorted(id(entry.finding) for entry in entries)
    assert [entry.rank for entry in entries] == list(range(1, len(entries) + 1))
    for entry in entries:
        assert 0 <= entry.saved_share.low <= entry.saved_share.high <= MOST_SAVED
        assert 0 <= entry.saved_us.low <= entry.saved_us.high <= profile.run.wall_us
    # Shares of the steady time and of the run are not compared: what costs steady time comes first.
    for phase in PhaseKind:
        worths = [
            worth(entry.finding, entry.saved_share)
            for entry in priced.listed
            if entry.finding.phase is phase
        ]
        assert worths == sorted(worths, reverse=True)
    for entry in entries:
        assert entry.counted_in is None or entry.counted_in <= len(priced.listed)
        assert entry.counted_in != entry.rank


@given(profiles_with_findings(), st.integers(0, 7))
def test_more_claimed_time_never_lowers_a_price(case, extra):
    profile, findings = case
    for finding in findings[:1]:
        for saving in finding.savings[:1]:
            less = replace(finding, savings=(saving,))
            more = replace(finding, savings=(replace(saving, nodes=saving.nodes | {extra}),))

            cheap, dear = (
                (priced.listed + priced.also_seen)[0].saved_share
                for priced in (price([claim], profile) for claim in (less, more))
            )

            assert dear.low >= cheap.low - 1e-9
            assert dear.high >= cheap.high - 1e-9


@given(st.lists(st.integers(0, 10**9).map(lambda rate: rate / 1000), max_size=60))
def test_a_settled_rate_lies_in_its_interval_and_among_the_rates(rates):
    interval = settled_rate([Segment(500_000, rate / 2) for rate in rates])

    if interval is not None:
        assert 0 <= interval.low <= interval.median <= interval.high
        assert min(rates) * 0.999 <= interval.median <= max(rates) * 1.001


@given(st.lists(st.floats(0, 1e6), max_size=60))
def test_warm_up_leaves_enough_to_measure(rates):
    cut = warm_up_length(rates)

    assert 0 <= cut <= max(0, len(rates) - 8)


@pytest.mark.parametrize("size", [9, 30, 120])
def test_warm_up_does_not_depend_on_the_unit(size):
    rates = [float((7 * i * i) % 100 + 200 * (i > 3)) for i in range(size)]

    assert warm_up_length(rates) == warm_up_length([1000 * rate for rate in rates])


@given(recordings())
def test_parts_and_waits_are_all_of_the_time(recording):
    profile = build_profile(recording)

    parts = [row for row in profile.components if not row.is_marked]
    assert bool(parts) == (profile.critical.wall_us > 0)
    if parts:
        assert sum(row.share for row in parts) == pytest.approx(1)
        # The denominator of prices is whole, too: what waits for a core is told with its part there.
        assert sum(row.priced_share for row in parts) == pytest.approx(1, abs=1e-3)
    assert all(row.share >= 0 and row.priced_share >= 0 for row in parts)
    assert len({row.name for row in parts}) == len(parts)
