"""Run files whose tables do not fit together: told as damaged, whatever reads them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from rlprof.errors import RunFileError
from rlprof.runfile.reader import read_run
from tests.experiment_factory import a_gain
from tests.factories import a_run
from tests.run_files import write_run

PLACE = "/home/researcher/project/train.py:12 step"
FAULTS = (
    "UPDATE node SET parent = id",
    "UPDATE node SET parent = -7",
    "UPDATE sample SET node = node + 1000",
    "UPDATE sample SET thread = thread + 1000",
    "UPDATE sample SET window = -1 - window",
    "UPDATE sample SET wall_us = -wall_us",
    "UPDATE sample SET wall_us = 9223372036854775807",
    "UPDATE thread SET process = 77",
    "UPDATE clock SET thread = 999",
    "UPDATE window SET end_us = start_us",
    "UPDATE window SET start_us = end_us, end_us = start_us",
    "UPDATE counter SET value = 9e999",
    "UPDATE counter SET value = 'many'",
    "UPDATE frame SET function = x'ff00'",
    "UPDATE process SET argv = '[1]'",
    "UPDATE meta SET value = '1e300' WHERE key = 'run.started_unix_s'",
    "UPDATE meta SET value = 'NaN' WHERE key = 'run.wall_us'",
    "UPDATE meta SET value = 'null' WHERE key = 'run.host'",
    "UPDATE meta SET value = '[]' WHERE key = 'overhead'",
    "UPDATE meta SET value = '5' WHERE key = 'run.script'",
    "INSERT INTO gauge VALUES (0, 0, x'00', 1)",
    "UPDATE counter SET name = x'00'",
    "UPDATE counter SET process = 99",
    "INSERT INTO gauge VALUES (0, -5, 'cpu_us', 1)",
    "INSERT INTO gauge VALUES (0, 99, 'cpu_us', 1)",
    "UPDATE node SET parent = -0.5",
    "UPDATE window SET end_us = end_us + 0.5",
    "UPDATE meta SET value = '{\"recorder_cpu_us\": NaN}' WHERE key = 'overhead'",
    "UPDATE clock SET idle_us = 'long'",
    "INSERT INTO memory VALUES (0, 0, 'much', 0)",
    "INSERT INTO sync_site VALUES (0, 'f', 'g', 1, 'item', 'cpu', 1.5, 1, 1)",
    "DELETE FROM window",
    "DELETE FROM process",
    "INSERT INTO torch_window VALUES (99, 0, 'plain', 'written', 1, 2, 3, x'00')",
    "INSERT INTO torch_window VALUES (0, 0, 'plain', 'written', 1, 2, 3, 'text')",
    "INSERT INTO sync_site VALUES (99, 'f', 'g', 1, 'item', 'cpu', 1, 1, 1)",
    "UPDATE experiment SET kind = 'loss'",
    "UPDATE experiment SET outcome = 'measured-well'",
    "UPDATE experiment SET outcome = x'00'",
    "UPDATE experiment SET finding = x'00'",
    "UPDATE experiment SET note = x'00'",
    "UPDATE experiment SET line = -1",
    "UPDATE experiment SET line = 0.5",
    "UPDATE experiment SET pairs = 'some'",
    "UPDATE experiment SET pairs = -8",
    "UPDATE experiment SET slot_s = -0.8",
    "UPDATE experiment SET seconds = 9e999",
    "UPDATE experiment SET seconds = 'long'",
    "UPDATE experiment SET predicted_low = 9e999 - 9e999",
    "UPDATE experiment SET predicted_low = 'little'",
    "UPDATE experiment SET predicted_high = 1.5",
    "UPDATE experiment SET predicted_low = predicted_high, predicted_high = predicted_low",
    "UPDATE experiment SET measured_median = 9e999 - 9e999",
    "UPDATE experiment SET measured_low = -10.5",
    "UPDATE experiment SET measured_high = 9e999",
    "UPDATE experiment SET measured_high = measured_low",
    "UPDATE experiment SET measured_median = NULL, measured_low = NULL, measured_high = NULL",
    "UPDATE experiment SET outcome = 'refused'",
    "WITH RECURSIVE n(i) AS (SELECT 0 UNION SELECT i + 1 FROM n WHERE i < 1000)"
    " INSERT INTO experiment SELECT e.* FROM experiment AS e, n",
)


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    path = tmp_path / "run.rlprof"
    run = a_run("train.py").process("main", steps=1000).spends(10, PLACE)
    write_run(path, run.tries(a_gain("slow-call", PLACE)).recording())
    return path


def test_what_was_recorded_fits_together(run_file: Path) -> None:
    assert read_run(run_file).samples


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told(run_file: Path, fault: str) -> None:
    with closing(sqlite3.connect(run_file)) as db, db:
        assert db.execute(fault).rowcount

    with pytest.raises(RunFileError) as raised:
        read_run(run_file)

    assert raised.value.slug == "run-file-damaged"


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("DELETE FROM meta", "it does not say which command was run"),
        ("DELETE FROM meta WHERE key = 'run.command'", "it does not say which command was run"),
        ("DELETE FROM meta WHERE key = 'run.cwd'", "it does not tell cwd of the run"),
        ("UPDATE meta SET value = '{x' WHERE key = 'run.command'", "its command is no JSON"),
        ("UPDATE meta SET value = '' WHERE key = 'overhead'", "its overhead is no JSON"),
        ("UPDATE process SET argv = '{x'", "the command of process 1000 is no JSON"),
        ("DELETE FROM frame", "it names a frame that is not in it"),
    ],
)
def test_what_is_missing_is_told_in_words(run_file: Path, fault: str, told: str) -> None:
    with closing(sqlite3.connect(run_file)) as db, db:
        assert db.execute(fault).rowcount

    with pytest.raises(RunFileError) as raised:
        read_run(run_file)

    assert raised.value.message == f"the run file {run_file} is damaged: {told}"


def test_as_many_steps_as_a_count_has_bits_for_are_none(run_file: Path) -> None:
    with closing(sqlite3.connect(run_file)) as db, db:
        assert db.execute("UPDATE counter SET value = 9223372036854775807").rowcount

    assert read_run(run_file).counters
