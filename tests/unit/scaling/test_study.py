"""What a ladder tells: the best count, what bounds it, and when nothing can be told."""

from __future__ import annotations

from rlprof.pace.scaling import Law
from rlprof.scaling.study import named_peak
from tests.ladder_factory import a_run, a_study, slugs, study

LADDER = (1, 2, 4, 8, 16)


def by_law(contention: float, coherency: float) -> dict[int, float]:
    law = Law(1000, contention, coherency)
    return {n: law.sps(n) for n in LADDER}


def test_the_best_is_the_highest_rate_measured():
    found = a_study({1: 100, 2: 180, 4: 250, 8: 200})

    assert found.best is not None
    assert found.best.workers == 4
    assert found.enough is found.best
    assert not found.notes


def test_fewer_workers_are_enough_where_the_spread_hides_the_difference():
    found = a_study({1: 100, 2: 180, 4: 186, 8: 190}, within=0.05)

    assert found.best is not None
    assert found.enough is not None
    assert (found.best.workers, found.enough.workers) == (8, 2)
    assert "counts-alike" not in slugs(found)


def test_no_count_is_better_when_all_differ_by_chance():
    found = a_study({1: 100, 2: 104, 4: 98}, within=0.1)

    assert "counts-alike" in slugs(found)
    assert "--repeat 5" in found.notes[0].text
    assert found.bound.startswith("what these numbers of workers cannot tell")


def test_busy_cpus_bound_the_rate_before_any_law():
    found = a_study({1: 100, 2: 190, 4: 192}, usable_cores=2.0, cpu_share=0.97)

    assert found.bound == "the CPUs: its processes have 97 % of the 2 usable cores' time"


def test_what_the_profile_says_of_the_cpus_counts():
    assert a_study({1: 100, 2: 190}, bound_by_cpus=True).bound.startswith("the CPUs")


def test_many_workers_on_few_cores_that_wait_are_not_bound_by_the_cpus():
    found = a_study({1: 100, 4: 390, 16: 900}, usable_cores=2.0, cpu_share=0.2)

    assert "CPU" not in found.bound


def test_other_programs_on_the_cores_are_warned_of():
    busy = [a_run(1, 100, taken_share=0.02), a_run(2, 130, taken_share=0.4)]

    found = study(busy)

    assert found.bound.startswith("other programs")
    (note,) = (note for note in found.notes if note.slug == "machine-busy")
    assert "In 1 of 2 runs" in note.text
    assert "40 %" in note.text


def test_an_idle_machine_is_not_warned_of():
    assert "machine-busy" not in slugs(a_study({1: 100, 2: 180}, taken_share=0.05))


def test_where_more_workers_only_slow_training_nothing_shared_is_blamed_for_the_best():
    found = a_study({1: 100, 2: 80, 4: 50})

    assert found.best is not None
    assert found.best.workers == 1
    assert found.bound.startswith("each worker's own speed")


def test_contention_is_named_with_its_share():
    found = a_study(by_law(0.15, 0.0), within=0.01)

    assert found.bound.startswith("contention: 15 %")


def test_coherency_is_named_where_pairs_cost_more():
    found = a_study(by_law(0.0, 0.02), within=0.01)

    assert found.bound.startswith("coherency")
    assert found.best is not None
    assert found.best.workers == 8


def test_coherency_is_not_blamed_while_no_rate_falls():
    # A lock that 0.4 ms of each step are spent in: linear to its limit, then flat.
    found = a_study({1: 210, 2: 417, 4: 849, 8: 1670, 16: 1840}, within=0.02)

    assert found.usl is not None
    assert found.usl.law.coherency > found.usl.law.contention
    assert "cannot tell which" in found.bound


def test_nothing_bounds_a_rate_that_still_grows():
    found = a_study(by_law(0.005, 0.0), within=0.01)

    assert found.bound.startswith("nothing that shows")


def test_a_fit_that_cannot_tell_the_costs_apart_names_neither():
    found = a_study({1: 100, 4: 130})

    assert found.usl is None
    assert "cannot tell which" in found.bound


def test_a_peak_is_named_only_within_reach_of_what_was_run():
    assert named_peak(9.7, 8) == "The most is expected with about 10 workers, more than were run."
    assert named_peak(7.8, 8) == "The most is expected with about 8 workers."
    assert named_peak(1.2, 8) == "The most is expected with 1 worker."
    assert named_peak(68.9, 8) == ""


def test_a_failed_run_is_left_out_and_named_with_its_exit_code():
    found = study([a_run(1, 100), a_run(2, 180), a_run(4, 400, exit_code=3)])

    assert [rung.workers for rung in found.rungs] == [1, 2]
    (failed,) = (note for note in found.notes if note.slug == "run-failed")
    assert "4 workers" in failed.text
    assert "exit code 3" in failed.text


def test_a_run_without_a_rate_says_why():
    found = study([a_run(1, 100), a_run(2, 180), a_run(4, None)])

    assert [rung.workers for rung in found.rungs] == [1, 2]
    (without,) = (note for note in found.notes if note.slug == "run-without-rate")
    assert "nothing counted steps" in without.text


def test_an_interrupted_ladder_shows_what_there_is_and_blames_no_run():
    found = study([a_run(1, 100), a_run(2, 180), a_run(4, None, exit_code=130)], interrupted=True)

    assert found.best is not None
    assert slugs(found) == ["ladder-interrupted"]


def test_no_rate_at_all_is_a_study_too():
    found = study([a_run(1, None), a_run(2, None, exit_code=1)])

    assert found.best is found.enough is found.fit is None
    assert slugs(found) == ["run-failed", "run-without-rate", "no-fit"]


def test_the_same_number_of_processes_everywhere_is_remarked():
    assert slugs(a_study({1: 100, 2: 180, 4: 300}, processes=3)) == ["same-processes"]


def test_rates_that_follow_no_law_warn_of_the_fit():
    found = a_study({1: 100, 2: 500, 4: 100, 8: 600})

    assert "poor-fit" in slugs(found)
