from __future__ import annotations

from rlprof.model.calltree import Cost
from rlprof.recording.combine import ThreadWindow, combine

TORN, UNSEEN = 90, 91
STEP, FORMAT, SLEEP, GC, SAVE = 1, 2, 3, 4, 5


def combined(**seen: object) -> dict[int, Cost]:
    return combine(ThreadWindow(**seen), torn_node=TORN, unseen_node=UNSEEN)


def test_the_eye_places_the_busy_time_of_the_clock():
    times = combined(
        busy={STEP: 600}, torn_us=400, idle={SLEEP: 1000}, eye={STEP: 200.0, FORMAT: 600.0}
    )

    assert times[STEP] == Cost(250, 0, 250)
    assert times[FORMAT] == Cost(750, 0, 750)
    assert times[SLEEP] == Cost(1000, 1000, 0)
    assert TORN not in times


def test_without_an_eye_torn_time_is_booked_as_torn():
    times = combined(busy={STEP: 600}, torn_us=400)

    assert times == {STEP: Cost(600, 0, 600), TORN: Cost(400, 0, 400)}


def test_a_clock_that_is_hardly_ever_torn_is_trusted_over_the_eye():
    times = combined(busy={STEP: 1000}, eye={FORMAT: 1000.0}, trust_clock=True)

    assert times == {STEP: Cost(1000, 0, 1000)}


def test_the_scheduler_tells_running_from_waiting_for_a_cpu():
    times = combined(busy={STEP: 1000}, on_cpu_us=300, run_queue_us=600)

    (step,) = times.values()
    assert step == Cost(wall_us=1000, idle_us=100, cpu_us=300)


def test_garbage_collection_keeps_its_own_time():
    times = combined(busy={STEP: 500}, gc={GC: 500}, eye={FORMAT: 800.0})

    assert times[GC].wall_us == 500
    assert times[FORMAT].wall_us == 500


def test_an_eye_that_missed_a_long_call_leaves_the_rest_to_the_clock():
    """A call that goes on at the end of the window has not been booked by the eye yet."""
    times = combined(busy={FORMAT: 1000}, eye={STEP: 200.0}, on_cpu_us=1000)

    assert times[STEP].wall_us == 200
    assert times[FORMAT].wall_us == 800


def test_on_a_crowded_host_running_and_waiting_for_a_cpu_are_placed_apart():
    """It runs in the step, and waits for a CPU where it wakes up: in ``recv``."""
    times = combined(
        busy={SLEEP: 800, STEP: 200},
        eye={STEP: 200.0},
        on_cpu_us=200,
        run_queue_us=800,
        trust_clock=True,
    )

    assert times[STEP] == Cost(200, 0, 200)
    assert times[SLEEP] == Cost(800, 0, 0)


def test_a_wait_for_a_cpu_is_where_the_clock_sees_more_than_ran():
    """The kernel writes a file on the same core: the thread is runnable in ``save``, and runs elsewhere."""
    times = combined(
        busy={SAVE: 300, STEP: 700},
        eye={SAVE: 100.0, STEP: 700.0},
        on_cpu_us=800,
        run_queue_us=200,
    )

    assert times == {STEP: Cost(700, 0, 700), SAVE: Cost(300, 0, 100)}


def test_torn_stacks_are_taken_for_running_code():
    times = combined(
        busy={SAVE: 300},
        torn_us=700,
        eye={SAVE: 100.0, STEP: 700.0},
        on_cpu_us=800,
        run_queue_us=200,
    )

    assert times == {STEP: Cost(700, 0, 700), SAVE: Cost(300, 0, 100)}


def test_where_the_eye_was_not_due_it_saw_what_it_saw_before():
    times = combined(busy={SLEEP: 900}, eye_before={STEP: 200.0}, on_cpu_us=100, run_queue_us=800)

    assert times[STEP].cpu_us == 100
    assert times[SLEEP] == Cost(800, 0, 0)


def test_on_a_host_with_room_the_trusted_clock_places_all():
    times = combined(
        busy={STEP: 1000}, eye={FORMAT: 1000.0}, on_cpu_us=900, run_queue_us=100, trust_clock=True
    )

    assert times == {STEP: Cost(1000, 0, 900)}


def test_with_no_clock_the_window_itself_is_the_wall_time():
    times = combined(bare_wall_us=1000, on_cpu_us=400, eye={STEP: 400.0})

    assert times == {STEP: Cost(1000, 600, 400)}


def test_time_that_nothing_has_seen_has_a_node_of_its_own():
    assert combined(bare_wall_us=1000, on_cpu_us=0) == {UNSEEN: Cost(1000, 1000, 0)}


def test_nothing_seen_is_nothing():
    assert combined() == {}
