"""Hangs: when a stretch without work is one, and what the report says of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.model.counters import IPC_MESSAGES
from rlprof.model.gauges import CPU_US
from rlprof.model.profile import PhaseKind, Profile
from rlprof.model.recording import Counter, Gauge, Recording, Samples, ThreadClock, TorchWindow
from rlprof.profile.build import build_profile
from rlprof.report.build import build_report
from rlprof.report.wording import unglued
from rlprof.report.wording.crash import bad_end
from tests.factories import SECOND, a_run
from tests.profile_factory import STDLIB

GET = f"{STDLIB}/multiprocessing/queues.py:103 Queue.get"
SELECT = f"{STDLIB}/selectors.py:415 select"
FIRST = 12
"""Window in which nobody works any more: the sixth second."""


def a_training(
    *waiting: str,
    steps: float = 0,
    exit_code: int | None = 137,
    run_exit_code: int | None = 0,
    steady_s: float = 20.0,
    last: int = 1000,
    asks: float = 0.0,
    stopped_before_s: float = 0.0,
) -> Recording:
    """Main takes what a worker makes, which ends in the sixth second. From then on, until window ``last``, main waits in
    ``waiting`` and spends ``asks`` of the time on a CPU.
    """
    run = a_run(start_up_s=0, steady_s=steady_s).with_run(exit_code=run_exit_code)
    run.process("main", steps=steps).spends(steady_s, "train.py:20 main")
    run.process("worker").spends(steady_s, "worker.py:3 work")
    run.spends(0.001, "train.py:24 main", *waiting)
    recording = run.recording()
    wait = len(recording.nodes) - 1
    samples = Samples()
    clocks: dict[tuple[int, int], list[int]] = {}
    for window, thread, node, wall, _, _ in recording.samples.rows():
        hangs = FIRST <= window <= last
        if node == wait or (hangs and thread == 1):
            continue
        cpu = round(asks * wall) if hangs else wall
        row = (wait, wall, wall - cpu, cpu) if hangs else (node, wall, 0, cpu)
        samples.add(window, thread, *row)
        clocks[window, thread] = [wall, row[2], cpu]
    main, worker = recording.processes
    ended_us = FIRST * SECOND // 2 - round(stopped_before_s * SECOND)
    return replace(
        recording,
        samples=samples,
        processes=(main, replace(worker, exit_code=exit_code, ended_us=ended_us)),
        clocks=tuple(
            ThreadClock(window, thread, wall, idle, 0, cpu, 0)
            for (window, thread), (wall, idle, cpu) in sorted(clocks.items())
        ),
        counters=tuple(
            counter for counter in recording.counters if not FIRST <= counter.window <= last
        ),
    )


def phases(profile: Profile) -> list[tuple[PhaseKind, float, float]]:
    return [
        (phase.kind, phase.start_us / SECOND, phase.end_us / SECOND) for phase in profile.phases
    ]


def said(recording: Recording) -> str:
    return unglued(bad_end(build_report(recording)))


@pytest.mark.parametrize("steps", [0, 10_000])
def test_a_wait_for_a_worker_that_died_is_a_hang_and_never_steady(steps):
    profile = build_profile(a_training(GET, steps=steps))

    assert phases(profile)[-1] == (PhaseKind.HANG, 6.0, 20.0)
    assert all(end <= 6.0 for kind, _, end in phases(profile) if kind is PhaseKind.STEADY)
    assert profile.hang is not None
    assert (profile.hang.pid, profile.hang.kind, profile.hang.line) == (1000, "queue", 24)
    assert profile.steady_us <= 6 * SECOND


def test_it_is_told_first_after_the_death_with_its_place():
    assert said(a_training(GET)) == (
        "A worker died: worker 1001 was killed by SIGKILL, after 6.0 s of 20.0 s. Hung after that: main 1000 waited "
        "14.0 s in a queue at train.py:24 in main, while nobody worked. No rate and no price holds that time."
    )


def test_a_run_that_goes_on_after_a_hang_keeps_its_longer_part():
    profile = build_profile(a_training(GET, steps=10_000, last=29))

    kinds = [kind for kind, _, _ in phases(profile)]
    assert kinds == [PhaseKind.STEADY, PhaseKind.HANG, PhaseKind.SHUTDOWN]
    longer = build_profile(a_training(GET, steps=10_000, steady_s=40, last=29))
    kind, start, end = phases(longer)[-1]
    # The first count after it is for the hang, too.
    assert (kind, end) == (PhaseKind.STEADY, 40.0)
    assert start in (15.0, 15.5)


@pytest.mark.parametrize(
    ("changes", "is_one"),
    [
        pytest.param({"last": FIRST + 8}, False, id="too short"),
        pytest.param({"last": FIRST + 10}, True, id="just long enough"),
        pytest.param({"exit_code": 0}, False, id="a worker that was done"),
        pytest.param({"exit_code": 143}, True, id="a worker that was stopped and is missed"),
        pytest.param({"exit_code": 143, "stopped_before_s": 3.0}, False, id="long before"),
        pytest.param({"exit_code": 0, "run_exit_code": 130}, True, id="ended by Ctrl-C"),
        pytest.param({"exit_code": 0, "run_exit_code": 130, "last": 30}, False, id="and went on"),
        pytest.param({"asks": 0.04}, True, id="looks at the time"),
        pytest.param({"asks": 0.2}, False, id="works a little"),
    ],
)
def test_what_is_a_hang(changes, is_one):
    assert (build_profile(a_training(GET, **changes)).hang is not None) is is_one


@pytest.mark.parametrize(
    ("busy", "hangs"),
    [
        pytest.param([FIRST + 5], True, id="once"),
        pytest.param(range(FIRST + 5, 40, 4), False, id="every two seconds"),
    ],
)
def test_a_hang_may_be_busy_for_a_moment(busy, hangs):
    still = a_training(GET, last=FIRST + 12)
    gauges = tuple(Gauge(window, 0, CPU_US, SECOND / 10) for window in busy)

    assert (build_profile(replace(still, gauges=gauges)).hang is not None) is hangs


def test_who_waits_behind_a_socket_may_wait_for_somebody_who_works():
    assert build_profile(a_training(SELECT, exit_code=0, run_exit_code=130)).hang is None


def test_steps_that_are_counted_are_no_hang():
    stepping = a_training(GET)
    counters = a_training(GET, steps=1000, last=FIRST - 1).counters

    assert build_profile(replace(stepping, counters=counters)).hang is None


def test_all_that_wait_for_each_other_until_they_are_stopped_hang():
    told = said(a_training(GET, exit_code=0, run_exit_code=130))

    assert told.startswith("Hung from 6.0 s on: main 1000 waited 14.0 s in a queue at train.py:24")


def test_a_worker_that_somebody_stopped_is_told_where_it_is_missed():
    told = said(a_training(GET, exit_code=143))

    assert told.startswith(
        "A worker died: worker 1001 was killed by SIGTERM, after 6.0 s of 20.0 s. Hung after that:"
    )


def test_a_stopped_worker_is_missed_also_where_windows_of_torch_are_left_out():
    window = TorchWindow(0, 0, "plain", "written", SECOND, 2 * SECOND, 10)
    still = replace(a_training(GET, exit_code=143), torch_windows=(window,))

    assert "killed by SIGTERM, after 6.0 s of 20.0 s. Hung after that" in said(still)


def messages(*windows: int, process: int) -> list[Counter]:
    return [Counter(window, process, IPC_MESSAGES, 3.0) for window in windows]


@pytest.mark.parametrize(
    ("before", "after", "hangs"),
    [
        pytest.param((0, 1), (0,), True, id="tasks that nobody takes"),
        pytest.param((0, 1), (0, 1), False, id="tasks and answers"),
        pytest.param((0,), (0,), False, id="who never was answered"),
    ],
)
def test_a_task_that_is_handed_out_now_and_then_ends_no_hang(before, after, hangs):
    still = a_training(GET)
    counters = [
        *(each for process in before for each in messages(*range(10), process=process)),
        *(each for process in after for each in messages(18, 24, 30, 36, process=process)),
    ]
    profile = build_profile(replace(still, counters=(*still.counters, *counters)))

    assert (profile.hang is not None) is hangs
    if profile.hang:
        assert profile.hang.end_us - profile.hang.start_us == 14 * SECOND


def test_a_process_that_ends_in_the_last_moment_of_a_hang_hung():
    still = a_training(GET)
    main, worker = still.processes
    ended = replace(main, ended_us=still.windows[-1].start_us - 5000)

    assert build_profile(replace(still, processes=(ended, worker))).hang is not None


def test_a_few_seconds_of_work_before_a_hang_are_told_as_steady():
    report = build_report(a_training(GET))

    assert report.crash is not None
    assert not report.crash.before_steady
    assert [phase.kind for phase in report.phases] == [PhaseKind.STEADY, PhaseKind.HANG]
