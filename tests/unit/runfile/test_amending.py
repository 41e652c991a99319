"""A complete run file that gets the experiments of other runs."""

from __future__ import annotations

import pytest

from rlprof.errors import OutputError
from rlprof.model.experiment import TryOutcome
from rlprof.runfile.amending import amend_experiments
from rlprof.runfile.reader import read_run
from tests.experiment_factory import a_failed_experiment, a_gain
from tests.factories import a_run
from tests.run_files import write_run


@pytest.fixture
def run_file(tmp_path):
    recording = a_run().process("main", steps=100).spends(10.0, "train.py:7 step")
    write_run(tmp_path / "run.rlprof", recording.tries(a_gain()).recording())
    return tmp_path / "run.rlprof"


def test_experiments_take_the_place_of_those_that_were_there(run_file):
    before = read_run(run_file)
    told = [a_gain(), a_failed_experiment(TryOutcome.REFUSED, "ipc-per-step", note="it has a GPU")]

    amend_experiments(run_file, told)

    after = read_run(run_file)
    assert [*after.experiments] == told
    assert after.run == before.run
    assert after.nodes == before.nodes
    assert after.counters == before.counters


def test_the_same_twice_is_the_same(run_file):
    for _ in range(2):
        amend_experiments(run_file, [a_gain("gc-pressure")])

    assert [each.finding for each in read_run(run_file).experiments] == ["gc-pressure"]


def test_none_takes_them_away(run_file):
    amend_experiments(run_file, [])

    assert not read_run(run_file).experiments


def test_nothing_is_left_beside_it(run_file):
    amend_experiments(run_file, [a_gain()])

    assert [file.name for file in run_file.parent.iterdir()] == [run_file.name]


@pytest.mark.parametrize("content", [None, b"no run file at all" * 100])
def test_a_file_that_cannot_be_written_is_told(content, tmp_path):
    file = tmp_path / "gone" / "run.rlprof"
    if content is not None:
        file.parent.mkdir()
        file.write_bytes(content)

    with pytest.raises(OutputError, match=r"run\.rlprof") as caught:
        amend_experiments(file, [a_gain()])

    assert caught.value.slug == "run-file-not-written"
