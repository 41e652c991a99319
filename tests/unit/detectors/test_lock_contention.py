from __future__ import annotations

import pytest

from rlprof.detectors.lock_contention import DETECTOR, MIN_SHARE, UNDER_IT
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import STDLIB, Script, detect, lines_of, profile_of, ranked

ACTOR = Script(
    "actor.py",
    """
    def run_actor(buffer, buffer_lock, env):
        while True:
            transition = env.step()
            with buffer_lock:
                buffer.add(transition)

    def run_in_c(buffer, lock, env):
        for _ in range(1000):
            lock.acquire()
            buffer.add(env.step())
            lock.release()
    """,
)
STEP = ACTOR.at("transition = env.step", "run_actor")
TAKE = ACTOR.at("with buffer_lock", "run_actor")
ADD = ACTOR.at("buffer.add(transition)", "run_actor")
ACQUIRE = ACTOR.at("lock.acquire", "run_in_c")
ENTER = f"{STDLIB}/multiprocessing/synchronize.py:98 SemLock.__enter__"
RECV = f"{STDLIB}/multiprocessing/connection.py:382 Connection._recv"


def actors(*, asleep: float, cores: str = "8") -> RunBuilder:
    """Three actors of 60 s, ``asleep`` of which they wait for the lock; main waits for their end."""
    run = a_run(steady_s=60).with_run(host={"usable_cores": cores})
    run.process("main").spends(60.0, "actor.py:1 main", RECV, idle=True)
    for name in ("one", "two", "three"):
        run.process(name, steps=500).spends(asleep * 60, TAKE, ENTER, idle=True)
        run.spends(0.2 * 60, ADD).spends((0.8 - asleep) * 60, STEP)
    return run


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, ACTOR)


def test_names_the_line_that_takes_the_lock_and_what_is_done_under_it():
    (finding,) = found(actors(asleep=0.53))

    assert lines_of(finding) == [ACTOR.line("with buffer_lock")]
    assert finding.title == "the lock at actor.py:4 is contended"
    assert finding.evidence == (
        "53 % of the critical time is spent asleep in acquire (3 threads wait for it), "
        "0.0 % in taking it and giving it back",
        "some thread is at work under a lock for 60 % of the steady phase, most of it at actor.py:5 (100 %)",
    )


def test_an_acquire_in_c_is_found_by_its_source_line():
    run = a_run().process("main", steps=100)
    run.spends(4.0, ACQUIRE, idle=True).spends(6.0, STEP)

    (finding,) = found(run)

    assert lines_of(finding) == [ACTOR.line("lock.acquire")]


def test_silent_just_under_its_threshold():
    assert found(actors(asleep=MIN_SHARE * 0.9)) == []
    assert len(found(actors(asleep=MIN_SHARE * 1.1))) == 1


def test_silent_on_an_uncontended_lock():
    run = a_run().process("main", steps=10_000)
    run.spends(9.0, STEP).spends(0.5, TAKE, ENTER).spends(0.5, ADD)

    assert found(run) == []


def test_silent_where_a_thread_that_only_waits_wants_the_lock():
    run = a_run().process("main", steps=1000).spends(10.0, STEP)
    run.process("logger").spends(9.0, TAKE, ENTER, idle=True).spends(1.0, ADD)

    assert found(run) == []


def test_silent_on_a_saturated_host():
    run = a_run(steady_s=10).with_run(host={"usable_cores": "2"})
    for name in ("one", "two", "three", "four", "five"):
        run.process(name, steps=500).spends(2.0, TAKE, ENTER, idle=True).spends(8.0, STEP, cpu=0.49)

    assert profile_of(run, ACTOR).load.saturated
    assert found(run) == []


def test_ranks_by_the_wait_and_holds_the_measured_saving():
    """0.533 was measured where 0.53 was asleep."""
    first, *_ = ranked(actors(asleep=0.53), ACTOR)

    assert first.finding.detector == "lock-contention"
    assert first.saved_share.low < 0.533 < first.saved_share.high
    assert first.process_roles == ("worker",)


def test_work_under_the_lock_may_go_with_it_in_part():
    (finding,) = found(actors(asleep=0.4))

    wait, held = finding.savings
    assert held.removable == UNDER_IT
    assert not wait.nodes & held.nodes


def test_a_longer_wait_is_dearer():
    short, long = (ranked(actors(asleep=part), ACTOR)[0].saved_share for part in (0.1, 0.5))

    assert short.high < long.low
    assert long.low < 0.5 < long.high


def test_waking_up_those_that_wait_is_part_of_the_price():
    give_back = f"{STDLIB}/multiprocessing/synchronize.py:97 SemLock.__exit__"
    run = actors(asleep=0.1)
    run.process("four", steps=500).spends(6.0, TAKE, ENTER, idle=True).spends(24.0, TAKE, give_back)
    run.spends(30.0, STEP)

    first, *_ = ranked(run, ACTOR)

    assert first.finding.detector == "lock-contention"
    assert first.finding.evidence[0].endswith("10 % in taking it and giving it back")
    assert first.saved_share.low > 0.1 * 0.7


def test_actors_that_need_a_learner_gain_no_more_than_it_leaves():
    """They wait 10 % for what it hands out; it works for 8 of 10 s, under the lock or not."""
    run = a_run(steady_s=60).with_run(host={"usable_cores": "8"})
    run.process("learner").spends(48.0, "learner.py:3 update").spends(
        12.0, "learner.py:1 main", RECV, idle=True
    )
    for name in ("one", "two"):
        run.process(name, steps=500).spends(24.0, TAKE, ENTER, idle=True)
        run.spends(6.0, "actor.py:1 main", RECV, idle=True).spends(30.0, STEP)

    (finding,) = found(run)

    (wait,) = finding.savings
    tree = profile_of(run, ACTOR).steady
    claimed = sum(tree.self_cost(node).wall_us for node in wait.nodes) / tree.total.wall_us
    assert claimed * wait.removable.high == pytest.approx(0.2, abs=0.02)
