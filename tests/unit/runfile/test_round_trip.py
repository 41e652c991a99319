from __future__ import annotations

import sqlite3
from dataclasses import replace

import pytest

from rlprof.errors import OutputError, RunFileError
from rlprof.model import gauges
from rlprof.model.experiment import TryOutcome
from rlprof.model.recording import Counter, Gauge, Recording, SyncSite, Window
from rlprof.runfile.reader import read_run
from rlprof.runfile.schema import journals
from rlprof.runfile.writer import RunWriter
from tests.experiment_factory import (
    a_ceiling,
    a_failed_experiment,
    a_gain,
    a_treatment_of_the_user,
)
from tests.factories import a_run
from tests.run_files import write_run

STORY = (
    a_run("train.py", start_up_s=1, steady_s=3)
    .process("main", steps=600)
    .spends(0.9, "train.py:1 <module>", "importlib.py:1 _find", start_up=True)
    .spends(2.0, "train.py:9 <module>", "train.py:12 step", cpu=0.75)
    .spends(0.5, "train.py:9 <module>", "train:wait", idle=True)
    .thread("logger")
    .spends(3.0, "log.py:3 run", idle=True)
    .process("worker")
    .spends(2.5, "train.py:9 <module>", "envs/grid.py:40 step", "numpy/core.py:7 argmax")
    .source("train.py", "import numpy\n")
    .note("warning", "lost-samples", "3 samples were lost")
    .gauge(gauges.RSS_BYTES, 2e8, 3e8)
    .remembers(4096, "train.py:9 <module>", "envs/grid.py:40 step", released_bytes=1024)
    .torch_window(2.1, 2.2, trace=b"\x1f\x8b packed")
    .torch_window(3.0, 3.3, kind="stacks", fate="given-up")
    .reads(SyncSite(1, "train.py", "update", 3, "item", "gpu", 50, 900, 200))
    .sees("train.py:12 step", self__q=["type=list length=4", "type=list length=9"])
    .tries(
        a_gain("slow-call", "train.py:12 step", note="Other programs took a third of the cores."),
        a_ceiling("environment-step-bound", "envs/grid.py:40 step", saves=(-0.01, -0.2, 0.1)),
        a_treatment_of_the_user("train:wait", outcome=TryOutcome.NOT_CLEAR),
        a_failed_experiment(TryOutcome.WITHDRAWN, note="A treated call raised ValueError."),
    )
    .recording()
)


def rows(recording: Recording) -> list[tuple[int, ...]]:
    return sorted(recording.samples.rows())


def same_but_for_samples(recording: Recording) -> Recording:
    return replace(recording, samples=None)  # type: ignore[arg-type]


def test_what_was_written_is_read_back(tmp_path):
    write_run(tmp_path / "run.rlprof", STORY)

    recording = read_run(tmp_path / "run.rlprof")

    assert rows(recording) == rows(STORY)
    assert same_but_for_samples(recording) == same_but_for_samples(STORY)


def test_a_finished_run_is_one_file(tmp_path):
    write_run(tmp_path / "run.rlprof", STORY)

    assert [path.name for path in tmp_path.iterdir()] == ["run.rlprof"]


def test_an_unfinished_run_is_readable_and_says_so(tmp_path):
    writer = write_run(tmp_path / "run.rlprof", STORY, finish=False)

    recording = read_run(tmp_path / "run.rlprof")
    writer.abandon()

    assert rows(recording) == rows(STORY)
    assert not recording.run.complete
    assert recording.run.exit_code is None


def test_merging_windows_keeps_every_total(tmp_path):
    writer = write_run(tmp_path / "run.rlprof", STORY, finish=False)

    writer.merge_windows([[0], [1, 2], [3, 4, 5, 6, 7]])
    recording = read_run(tmp_path / "run.rlprof")
    writer.abandon()

    half = 500_000
    assert recording.windows == (
        Window(0, 0, half), Window(1, half, 3 * half), Window(2, 3 * half, 8 * half),
    )  # fmt: skip
    for column in ("wall_us", "idle_us", "cpu_us"):
        before, after = getattr(STORY.samples, column), getattr(recording.samples, column)
        assert sum(after) == sum(before)
    assert _per_node(recording) == _per_node(STORY)
    for name in ("wall_us", "idle_us", "on_cpu_us", "run_queue_us", "invalid_us"):
        assert sum(getattr(c, name) for c in recording.clocks) == sum(
            getattr(c, name) for c in STORY.clocks
        )
    assert sum(counter.value for counter in recording.counters) == 600
    assert recording.memory == STORY.memory


def test_of_merged_windows_amounts_add_up_peaks_stay_and_levels_are_weighted_by_time(tmp_path):
    names = (gauges.CPU_US, gauges.PEAK_RSS_BYTES, gauges.RSS_BYTES)
    values = {name: [Gauge(w.id, 0, name, w.id) for w in STORY.windows] for name in names}
    # Memory shared out is asked for every few seconds only.
    values[gauges.PSS_BYTES] = [Gauge(window, 0, gauges.PSS_BYTES, 7.0) for window in (2, 6)]
    story = replace(STORY, gauges=tuple(gauge for named in values.values() for gauge in named))
    writer = write_run(tmp_path / "run.rlprof", story, finish=False)

    writer.merge_windows([[0], [1], [2, 3, 4, 5], [6, 7]])
    writer.merge_windows([[0], [1, 2, 3]])
    recording = read_run(tmp_path / "run.rlprof")
    writer.abandon()

    merged = {(gauge.name, gauge.window): gauge.value for gauge in recording.gauges}
    assert merged[gauges.CPU_US, 1] == 1 + 2 + 3 + 4 + 5 + 6 + 7
    assert merged[gauges.PEAK_RSS_BYTES, 1] == 7
    assert merged[gauges.RSS_BYTES, 1] == 4
    assert merged[gauges.PSS_BYTES, 1] == 7
    assert (gauges.PSS_BYTES, 0) not in merged


def test_memory_adds_up_by_thread_and_node(tmp_path):
    writer = write_run(tmp_path / "run.rlprof", STORY, finish=False)
    (known,) = STORY.memory
    last = STORY.windows[-1]

    writer.write_window(
        Window(last.id + 1, last.end_us, last.end_us + 1),
        samples=[], clocks=[], counters=[], gauges=[], frames=[], nodes=[], processes=[],
        threads=[], memory=[known._replace(grown_bytes=10, released_bytes=20)],
    )  # fmt: skip
    recording = read_run(tmp_path / "run.rlprof")
    writer.abandon()

    assert recording.memory == (known._replace(grown_bytes=4106, released_bytes=1044),)


def test_files_of_older_versions_are_read_without_what_they_did_not_know(tmp_path):
    write_run(tmp_path / "run.rlprof", STORY)
    before_experiments = replace(STORY, experiments=())
    before_values = replace(before_experiments, values=())
    before_torch = replace(before_values, torch_windows=(), sync_sites=())
    steps = (
        (4, "DROP TABLE experiment;", before_experiments),
        (3, "DROP TABLE value;", before_values),
        (2, "DROP TABLE torch_window; DROP TABLE sync_site;", before_torch),
        (1, "DROP TABLE memory;", replace(before_torch, memory=())),
    )
    for version, removal, known in steps:
        with sqlite3.connect(tmp_path / "run.rlprof") as db:
            db.executescript(f"{removal} PRAGMA user_version={version}")
        db.close()

        recording = read_run(tmp_path / "run.rlprof")

        assert same_but_for_samples(recording) == same_but_for_samples(known)


def test_a_killed_recorder_leaves_the_experiments_that_had_ended(tmp_path):
    first, second = (
        a_gain("slow-call", "train.py:12 step"),
        a_failed_experiment(TryOutcome.CUT_SHORT),
    )
    writer = write_run(tmp_path / "run.rlprof", STORY, finish=False)

    writer.write_experiments([first])
    writer.write_experiments([first, second])
    recording = read_run(tmp_path / "run.rlprof")
    writer.abandon()

    assert recording.experiments == (first, second)


def test_a_treatment_that_stops_nearly_all_steps_leaves_a_readable_file(tmp_path):
    stopped = a_gain("slow-call", "train.py:12 step", saves=(-30.0, float("-inf"), -2.0))
    write_run(tmp_path / "run.rlprof", replace(STORY, experiments=(stopped,)))

    (experiment,) = read_run(tmp_path / "run.rlprof").experiments

    assert experiment.measured == (-10.0, -10.0, -2.0)


def _per_node(recording: Recording) -> dict[tuple[int, int], int]:
    totals: dict[tuple[int, int], int] = {}
    for _, thread, node, wall_us, _, _ in recording.samples.rows():
        totals[thread, node] = totals.get((thread, node), 0) + wall_us
    return totals


def test_files_are_listed_by_the_time_that_passes_through_them(tmp_path):
    writer = write_run(tmp_path / "run.rlprof", STORY, finish=False)

    costs = dict(writer.file_costs())
    writer.abandon()

    assert next(iter(costs)) == "train.py"
    assert costs["train.py"] == 5_900_000  # Each stack once, however many of its frames are in it.
    assert costs["envs/grid.py"] == costs["numpy/core.py"] == 2_500_000


def test_a_later_record_of_a_process_replaces_the_earlier(tmp_path):
    changed = replace(STORY.processes[0], fate="probe-only", note="austin was killed")
    write_run(tmp_path / "run.rlprof", replace(STORY, processes=(changed, *STORY.processes[1:])))

    assert read_run(tmp_path / "run.rlprof").processes[0] == changed


def test_texts_of_any_kind_come_back(tmp_path):
    hostile = "<script>\n;'\"\x1b[31m🔥" + "k" * 10_000
    story = (
        a_run("x;y\n.py", steady_s=1)
        .process()
        .spends(1.0, f"{hostile.replace(' ', '')}.py:3 {hostile}")
        .note("info", "slug", hostile)
        .recording()
    )
    write_run(tmp_path / "run.rlprof", story)

    recording = read_run(tmp_path / "run.rlprof")

    assert recording.nodes == story.nodes
    assert recording.notes == story.notes
    assert recording.run.script == "x;y\n.py"


def test_a_failed_write_names_the_file_and_keeps_what_was_committed(tmp_path):
    writer = write_run(tmp_path / "run.rlprof", STORY, finish=False)

    with pytest.raises(OutputError, match=r"run\.rlprof") as raised:
        writer.write_window(
            STORY.windows[0],  # Its id is taken.
            samples=[], clocks=[], counters=[Counter(0, 0, "extra", 1)], gauges=[],
            frames=[], nodes=[], processes=[], threads=[],
        )  # fmt: skip
    writer.abandon()

    assert raised.value.slug == "run-file-not-written"
    assert len(read_run(tmp_path / "run.rlprof").windows) == len(STORY.windows)


def test_a_discarded_run_leaves_nothing(tmp_path):
    writer = write_run(tmp_path / "run.rlprof", STORY, finish=False)
    assert any(journal.exists() for journal in journals(tmp_path / "run.rlprof"))

    writer.discard()

    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_refused_and_left_clean(tmp_path):
    (tmp_path / "run.rlprof").mkdir()

    with pytest.raises(OutputError):
        RunWriter(tmp_path / "run.rlprof", STORY.run)

    with pytest.raises(OutputError):
        RunWriter(tmp_path / "no" / "folder" / "run.rlprof", STORY.run)


def test_a_missing_run_file_says_what_to_do(tmp_path):
    with pytest.raises(RunFileError) as raised:
        read_run(tmp_path / "none.rlprof")

    assert raised.value.slug == "run-file-missing"
    assert "rlprof run" in raised.value.hint
