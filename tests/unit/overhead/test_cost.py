from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.overhead.cost import Basis, MeasuredOverhead, OwnCpu, RunPair, own_cpu
from tests.factories import a_run

OWN = OwnCpu({"samplers": 0.012, "recorder": 0.017, "probe": 0.002}, processes=1.0, wall_s=40.0)


def pair(bare: float, recorded: float, *, basis: Basis = Basis.STEPS, own: OwnCpu = OWN) -> RunPair:
    return RunPair(bare, recorded, basis, own, source="gymnasium")


def cost(*pairs: RunPair) -> MeasuredOverhead:
    return MeasuredOverhead("train.py", ("python", "train.py"), pairs)


def test_a_lower_rate_and_a_longer_run_are_losses():
    assert pair(1000.0, 990.0).loss == pytest.approx(0.01)
    assert pair(9.9, 10.0, basis=Basis.WALL).loss == pytest.approx(0.01)


def test_a_faster_run_with_rlprof_is_a_negative_loss():
    assert pair(1000.0, 1010.0).loss == pytest.approx(-0.01)


def test_one_wild_pair_does_not_move_the_loss_far():
    loss = cost(*(pair(1000.0, rate) for rate in (991, 990, 989, 990, 500))).loss

    assert 0.009 < loss.middle < 0.02


def test_the_interval_holds_what_the_pairs_agree_on():
    loss = cost(*(pair(1000.0, rate) for rate in (980, 985, 990, 995, 1000))).loss

    assert loss.low is not None
    assert loss.high is not None
    assert loss.low + 1e-9 >= 0.0
    assert loss.low < loss.middle < loss.high <= 0.02 + 1e-9


def test_four_pairs_give_no_interval():
    loss = cost(*(pair(1000.0, 990.0),) * 4).loss

    assert (loss.low, loss.high) == (None, None)
    assert loss.middle == pytest.approx(0.01)


def test_own_cpu_is_in_cores_and_shared_by_the_processes_that_lived():
    # Ten seconds, in which rlprof takes 55 ms.
    recording = a_run(start_up_s=2, steady_s=8).process("main").process("worker").recording()
    main, worker = recording.processes
    half = replace(worker, ended_us=5_000_000)

    own = own_cpu(replace(recording, processes=(main, half)))

    assert own.parts == pytest.approx({"samplers": 0.002, "recorder": 0.003, "probe": 0.0005})
    assert own.cores == pytest.approx(0.0055)
    assert own.processes == pytest.approx(1.5)
    assert own.per_process == pytest.approx(0.0055 / 1.5)
    assert own.wall_s == 10.0


def test_a_process_that_has_not_been_seen_to_end_lived_to_the_end():
    recording = a_run().process("main").process("worker").recording()
    lost = tuple(replace(process, ended_us=None) for process in recording.processes)

    assert own_cpu(replace(recording, processes=lost)).processes == 2.0


def test_a_process_that_is_no_python_is_no_cost_of_its_own():
    recording = a_run().process("main").process("shell", python="").recording()

    assert own_cpu(recording).processes == 1.0


def test_one_process_of_a_short_life_counts_as_one():
    recording = a_run().process("main").recording()
    short = replace(recording.processes[0], ended_us=1_000_000)

    assert own_cpu(replace(recording, processes=(short,))).processes == 1.0


def test_the_own_cpu_of_all_pairs_is_the_median():
    cheap = OWN._replace(parts={**OWN.parts, "recorder": 0.010})
    dear = OWN._replace(parts={**OWN.parts, "recorder": 0.500})

    own = cost(*(pair(1.0, 1.0, own=cpu) for cpu in (cheap, OWN, dear))).own

    assert own.parts["recorder"] == 0.017
