"""Naps of one thread until another one has done something: what a wait that is notified would save."""

from __future__ import annotations

import pytest

from rlprof.detectors.ipc_polling import DETECTOR
from rlprof.discovery import discover_detectors
from rlprof.model.counters import PROCESS_STARTS
from rlprof.model.finding import Finding, Range
from rlprof.model.gauges import VOLUNTARY_SWITCHES
from rlprof.report.findings import sell_samples
from tests.factories import RunBuilder, a_run
from tests.profile_factory import STDLIB, Script, detect, profile_of, ranked

TRAIN = Script(
    "train.py",
    """
    def wait_for(self, version):
        while True:
            with self.lock:
                if self.version >= version:
                    return
            time.sleep(0.1)

    def collect(env):
        return env.step(act())

    def fit(self):
        update(self.model)

    def watch(over, alive):
        while not over.is_set():
            if time.monotonic() - alive[0] > 30:
                raise RuntimeError("stuck")
            time.sleep(0.5)
    """,
)
NAP = TRAIN.at("time.sleep(0.1)", "wait_for")
COLLECT = TRAIN.at("env.step", "collect")
FIT = TRAIN.at("update(self.model)", "fit")
WATCH = TRAIN.at("time.sleep(0.5)", "watch")
GET = f"{STDLIB}/queue.py:171 Queue.get"
TASKS = f"{STDLIB}/multiprocessing/queues.py:103 Queue.get"
WINDOWS_PER_S = 2


def a_main_that_naps(*, asleep_s: float, naps: float) -> RunBuilder:
    """Ten seconds of a main thread that collects, and naps until a fit is done."""
    run = a_run(steady_s=10.0).process("main", steps=1_000)
    run.spends(10.0 - asleep_s, COLLECT).spends(asleep_s, NAP, idle=True)
    return run.gauge(VOLUNTARY_SWITCHES, naps / (10.0 * WINDOWS_PER_S)) if naps else run


def fitting_beside(run: RunBuilder, working_s: float) -> RunBuilder:
    return run.thread("trainer").spends(working_s, FIT).spends(10.0 - working_s, GET, idle=True)


def found(run: RunBuilder, *scripts: Script) -> list[Finding]:
    return detect(DETECTOR, run, TRAIN, *scripts)


def saved(run: RunBuilder) -> Range:
    told = [finding for finding in ranked(run, TRAIN) if finding.finding.detector == DETECTOR.id]
    return told[0].saved_share if told else Range(0.0, 0.0)


def test_naps_for_another_thread_are_told_with_the_time_that_it_works():
    (finding,) = found(fitting_beside(a_main_that_naps(asleep_s=7.0, naps=70), 1.0))

    assert finding.title == "a loop at train.py:6 polls instead of waiting"
    assert "what it waits for is at work for 10 % of that time" in finding.evidence[1]


def test_long_naps_are_priced_by_the_time_in_which_nobody_works():
    price = saved(fitting_beside(a_main_that_naps(asleep_s=7.0, naps=70), 1.0))

    assert 0.45 < price.low < 0.6 < price.high < 0.75


def test_what_is_awaited_may_be_done_while_the_thread_that_naps_works():
    one_after_the_other = fitting_beside(a_main_that_naps(asleep_s=7.0, naps=70), 0.2)
    side_by_side = fitting_beside(a_main_that_naps(asleep_s=7.0, naps=70), 2.0)

    # All 7 s may be a delay, whether or not a part of the fit falls into them.
    assert saved(one_after_the_other).high == pytest.approx(saved(side_by_side).high, abs=0.03)
    assert saved(side_by_side).low < 0.5


@pytest.mark.parametrize(
    ("naps", "low"), [(70, 0.5), (7_000, 0.3), (70_000, 0.15)], ids=["100 ms", "1 ms", "0.1 ms"]
)
def test_the_shorter_the_naps_the_less_is_sure(naps, low):
    price = saved(fitting_beside(a_main_that_naps(asleep_s=7.0, naps=naps), 1.0))

    assert price.low == pytest.approx(low, abs=0.05)


def test_naps_of_unknown_length_have_a_wide_price():
    price = saved(fitting_beside(a_main_that_naps(asleep_s=7.0, naps=0), 1.0))

    assert price.low < 0.2 < 0.6 < price.high


def test_naps_for_a_thread_that_works_all_the_time_cost_nothing():
    run = fitting_beside(a_main_that_naps(asleep_s=7.0, naps=7_000), 7.0)

    also = sell_samples(profile_of(run, TRAIN), discover_detectors())[0].ranking().also_seen
    assert DETECTOR.id in [entry.finding.detector for entry in also]


def test_no_more_is_sure_than_the_cores_have_room_for():
    run = fitting_beside(a_main_that_naps(asleep_s=7.0, naps=70), 1.0)
    run = run.with_run(host={"usable_cores": "2"})
    run.process("evaluation").spends(10.0, "evaluate.py:3 evaluate")

    assert saved(run).low < 0.35


ROBOT = Script(
    "robot.py",
    """
    def run(self):
        while self.on:
            self.tick += 1
            time.sleep(0.02)

    def paced(self):
        while not self.stop.wait(0.02):
            self.move()

    def consume(self):
        while not self.over.wait(timeout=1.0):
            self.look_around()
    """,
)
EVENT_WAIT = f"{STDLIB}/threading.py:629 Event.wait"


@pytest.mark.parametrize(
    "stack",
    [
        pytest.param((ROBOT.at("time.sleep", "run"),), id="a clock of its own"),
        pytest.param((ROBOT.at("self.stop.wait", "paced"), EVENT_WAIT), id="a wait that ends by itself"),
    ],
)  # fmt: skip
def test_naps_for_a_thread_that_keeps_a_pace_cost_nothing(stack):
    run = a_main_that_naps(asleep_s=7.0, naps=7_000)
    run.thread("robot").spends(0.5, "robot.py:20 Robot.move").spends(9.5, *stack, idle=True)

    (finding,) = found(run, ROBOT)

    assert finding.remainder is None
    assert all(saving.removable.high == 0.0 for saving in finding.savings)


def test_a_wait_that_looks_around_once_a_second_keeps_no_pace():
    run = a_main_that_naps(asleep_s=7.0, naps=70)
    run.thread("trainer").spends(1.0, FIT)
    run.spends(9.0, ROBOT.at("self.over.wait", "consume"), EVENT_WAIT, idle=True)

    (finding,) = found(run, ROBOT)

    assert finding.remainder is not None


def test_a_watchdog_is_not_told():
    run = a_run(steady_s=10.0).process("main", steps=1_000).spends(2.0, COLLECT)
    run.spends(8.0, GET, idle=True)
    run.thread("worker").spends(5.0, FIT).spends(5.0, GET, idle=True)
    run.thread("watchdog").spends(10.0, WATCH, idle=True)

    assert found(run) == []


def test_naps_for_programs_that_are_not_seen_cost_nothing():
    run = a_main_that_naps(asleep_s=7.0, naps=7_000).counts(PROCESS_STARTS, 150)

    (finding,) = found(fitting_beside(run, 1.0))

    assert finding.remainder is None
    assert all(saving.removable.high == 0.0 for saving in finding.savings)


def test_who_naps_itself_is_priced_by_its_own_naps():
    run = a_main_that_naps(asleep_s=7.0, naps=70)
    run.thread("collector").spends(1.0, FIT).spends(9.0, NAP, idle=True)

    assert 0.45 < saved(run).low < 0.6 < saved(run).high


def test_who_naps_and_works_where_others_have_the_cores_is_no_watchdog():
    run = a_run(steady_s=10.0).process("main").spends(9.0, NAP, idle=True)
    run.spends(0.4, NAP, cpu=0.05).spends(0.6, FIT, cpu=0.3)
    run.process("worker", steps=1_000).spends(1.0, COLLECT).spends(9.0, TASKS, idle=True)

    assert saved(run).low > 0.2


def test_a_watchdog_whose_looks_wait_for_a_core_is_not_told():
    run = a_run(steady_s=10.0).process("main").spends(9.6, NAP, idle=True)
    run.spends(0.4, NAP, cpu=0.05)
    run.process("worker", steps=1_000).spends(1.0, COLLECT).spends(9.0, TASKS, idle=True)

    assert saved(run).high == 0.0
