from __future__ import annotations

from pathlib import Path

import pytest

from rlprof.errors import RunFileError
from rlprof.scaling.ladder import read_ladder_run, rungs_of
from tests import factories
from tests.ladder_factory import a_run
from tests.run_files import write_run

LOOP = "/home/researcher/project/train.py:40 train"


def a_training(tmp_path: Path, *, steps: float) -> Path:
    """A run file of ten seconds of training in one process."""
    run = factories.a_run("train.py", steady_s=10).process("main", steps=steps).spends(10, LOOP)
    path = tmp_path / "run.rlprof"
    write_run(path, run.recording())
    return path


def test_a_recorded_run_has_its_rate_and_processes(tmp_path):
    path = a_training(tmp_path, steps=5000)

    run = read_ladder_run(path, workers=4, round_number=2, exit_code=0)

    assert run.sps is not None
    assert run.sps.median == pytest.approx(500)
    assert (run.workers, run.round, run.processes, run.usable_cores) == (4, 2, 1, 8)
    assert run.why_no_sps == ""


@pytest.mark.parametrize(
    ("host_cpu_s", "cores", "taken"),
    [(80, "8", 0.0625), (5, "8", 0.0), (80, "64", 0.0)],
    ids=["others have the cores", "nobody else has", "others may be on other cores"],
)
def test_cores_are_taken_where_the_run_queues_and_others_work(tmp_path, host_cpu_s, cores, taken):
    # Of ten seconds it gets a core for five, and queues for one in the others.
    half_a_second = host_cpu_s * 1e6 / 20
    run = (
        factories.a_run("train.py", steady_s=10)
        .process("main", steps=5000)
        .spends(10, LOOP, cpu=0.5)
        .gauge("threads", 1, 1)
        .gauge("host_cpu_us", half_a_second, half_a_second)
        .with_run(host={"cores": cores, "usable_cores": "8"})
    )
    path = tmp_path / "run.rlprof"
    write_run(path, run.recording())

    read = read_ladder_run(path, workers=1, round_number=1, exit_code=0)

    assert read.taken_share == pytest.approx(taken, abs=0.005)


def test_a_run_without_steps_says_so(tmp_path):
    path = a_training(tmp_path, steps=0)

    run = read_ladder_run(path, workers=4, round_number=1, exit_code=0)

    assert run.sps is None
    assert run.why_no_sps == "nothing counted steps"


def test_a_missing_run_file_is_an_error(tmp_path):
    with pytest.raises(RunFileError):
        read_ladder_run(tmp_path / "gone.rlprof", workers=1, round_number=1, exit_code=0)


def test_repeats_of_a_count_share_a_rung():
    rungs = rungs_of([a_run(2, 100), a_run(1, 60), a_run(2, 120), a_run(2, 110)])

    assert [rung.workers for rung in rungs] == [1, 2]
    assert rungs[1].sps.median == 110
    assert (rungs[1].sps.low, rungs[1].sps.high) == (100, 120)
