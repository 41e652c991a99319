from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.detectors.uneven_chunks import DETECTOR, LEAST_STEADY_US
from rlprof.model.finding import Finding
from tests.factories import RunBuilder, a_run
from tests.profile_factory import STDLIB, Script, detect, lines_of, profile_of

SCRIPT = Script(
    "population.py",
    """
    def in_halves(pool, jobs, workers):
        return pool.map(evaluate, jobs, chunksize=len(jobs) // workers)

    def later(pool, jobs):
        asked = pool.starmap_async(evaluate, jobs, chunksize=16)
        plot()
        return asked.get()

    def one_by_one(pool, jobs):
        return pool.map(evaluate, jobs, chunksize=1)

    def as_the_library_does(pool, jobs):
        return pool.map(evaluate, jobs)
    """,
)
LINES = {
    "in_halves": SCRIPT.at("chunksize=len(jobs)", "in_halves"),
    "later": SCRIPT.at("asked.get()", "later"),
    "one_by_one": SCRIPT.at("chunksize=1)", "one_by_one"),
    "as_the_library_does": SCRIPT.at("pool.map(evaluate, jobs)", "as_the_library_does"),
}
GET = f"{STDLIB}/multiprocessing/pool.py:768 ApplyResult.get"
WORKER = f"{STDLIB}/multiprocessing/pool.py:125 worker"
TASKS = f"{STDLIB}/multiprocessing/queues.py:367 SimpleQueue.get"


def a_generation(
    function: str = "in_halves",
    *,
    idle_s: tuple[float, ...] = (1.0, 5.0),
    cores: int = 16,
    steps_in_workers: bool = False,
    handing: tuple[float, str] | None = None,
) -> RunBuilder:
    """Ten seconds, in which the main process waits for workers of a pool; ``idle_s`` is how long each has nothing to do."""
    run = a_run(steady_s=10.0).with_run(host={"usable_cores": str(cores)})
    run.process("main", steps=0 if steps_in_workers else 1_000)
    run.spends(9.5, LINES[function], GET, idle=True).spends(0.5, "population.py:1 <module>")
    if handing is not None:
        run.thread("Thread-1").spends(*handing)
    for number, seconds in enumerate(idle_s):
        run.process(f"worker {number}", steps=1_000 if steps_in_workers else 0)
        run.spends(seconds, WORKER, TASKS, idle=True)
        run.spends(10.0 - seconds, WORKER, "env.py:5 step")
    return run


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, SCRIPT)


@pytest.mark.parametrize("function", ["in_halves", "later"])
def test_workers_that_wait_for_the_longest_chunk(function):
    (finding,) = found(a_generation(function))

    place = LINES[function].split()[0]
    assert [f"population.py:{line}" for line in lines_of(finding)] == [place]
    assert finding.title == f"chunks of a pool's tasks end at different times ({place})"


def saved_s(run: RunBuilder) -> tuple[float, float]:
    """Steady seconds that go, at least and at most."""
    profile = profile_of(run, SCRIPT)
    (finding,) = found(run)
    low, high = 0.0, 0.0
    for saving in finding.savings:
        own_s = sum(profile.steady.self_cost(node).wall_us for node in saving.nodes) / 1e6
        low, high = low + own_s * saving.removable.low, high + own_s * saving.removable.high
    return low, high


def test_the_wait_that_even_work_leaves_goes():
    """Two workers work for 9 and 5 seconds: 7 if they shared it, of 9.5 that are waited, which the slower one fills but for 0.5."""
    assert saved_s(a_generation()) == pytest.approx((0.4 * 2.5, 2.5), abs=0.1)


def test_where_workers_make_the_steps_their_waits_for_tasks_go():
    """Of two workers that wait for 1 and 5 seconds each loses 2.5."""
    assert saved_s(a_generation(steps_in_workers=True)) == pytest.approx((2.0, 5.0), abs=0.1)


@pytest.mark.parametrize("function", ["one_by_one", "as_the_library_does"])
def test_silent_where_chunks_are_small(function):
    assert not found(a_generation(function))


def test_silent_where_all_work_to_the_end():
    assert not found(a_generation(idle_s=(0.6, 0.7)))


def test_silent_of_a_pool_with_one_worker():
    assert not found(a_generation(idle_s=(5.0,)))


def test_silent_in_a_moment():
    """Workers of a run that ends at once begin and end at different times."""
    profile = profile_of(a_generation(), SCRIPT)

    brief = replace(profile, steady_us=LEAST_STEADY_US - 1)

    assert list(DETECTOR.in_samples.detect(profile))
    assert list(DETECTOR.in_samples.detect(brief)) == []


def test_silent_where_no_core_is_free():
    assert not found(a_generation(idle_s=(1.0, 3.0, 3.0, 3.0), cores=1))


def test_who_is_no_worker_of_the_pool_does_not_count():
    run = a_generation(idle_s=(0.6, 0.7))
    run.process("logger").spends(9.0, "log.py:3 main", TASKS, idle=True).spends(
        1.0, "log.py:4 main"
    )

    assert not found(run)


def test_what_handing_on_takes_does_not_count():
    """Two seconds of 9.5 are idle; the pool's own threads explain 0.8 of it."""
    handing = (0.4, "pool.py:3 handle")

    assert found(a_generation(idle_s=(2.5, 2.5)))
    assert not found(a_generation(idle_s=(2.5, 2.5), handing=handing))
