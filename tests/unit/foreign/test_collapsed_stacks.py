from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from rlprof.errors import RunFileError
from rlprof.foreign.base import HEAD_BYTES
from rlprof.foreign.collapsed import frame_of
from rlprof.foreign.reading import read_foreign
from rlprof.model.recording import Frame, Recording
from rlprof.renderers.collapsed import RENDERER as COLLAPSED
from rlprof.report.build import build_report
from rlprof.syntax.origin import Origin, origin_of_file
from tests.factories import a_run
from tests.unit.foreign.test_austin_files import slugs, times, written

THREAD = "Thread._bootstrap (threading.py:1002);Thread.run (threading.py:982)"
COMMAND = "python train.py --lr 1"


def of(folder: Path, *lines: str) -> Recording:
    return read_foreign(written(folder, "\n".join(lines) + "\n"))


def test_counts_are_samples_of_an_assumed_length_and_that_is_said(tmp_path):
    recording = of(tmp_path, "main;work;hot 70", "main;work 30")

    assert times(recording) == {
        (0, "MainThread", "main>work>hot"): (700_000, 0),
        (0, "MainThread", "main>work"): (300_000, 0),
    }
    assert {"foreign-counts", "foreign-waits", "foreign-no-places"} <= slugs(recording)


def test_threads_of_py_spy_that_are_not_told_are_known_by_their_start(tmp_path):
    recording = of(
        tmp_path, "<module> (train.py:9);step (train.py:3) 60", f"{THREAD};reads (train.py:5) 40"
    )

    assert times(recording) == {
        (0, "MainThread", "<module>>step"): (600_000, 0),
        (0, "other threads", "Thread._bootstrap>Thread.run>reads"): (400_000, 0),
    }
    assert [thread.is_main for thread in recording.threads] == [True, False]


def test_processes_and_threads_of_py_spy(tmp_path):
    main = f'process 7:"{COMMAND}"'
    recording = of(
        tmp_path,
        f"{main};thread (7): MainThread;step (train.py:3) 6",
        f"{main};thread (0x9);reads (train.py:5) 4",
        f'{main};process 8:"{COMMAND}";thread (8): MainThread;step (train.py:3) 2',
        f'{main};process 9:"sh -c a; b";thread (9): MainThread;step (train.py:3) 1',
    )

    assert [
        (process.pid, process.ppid, process.start_method) for process in recording.processes
    ] == [
        (7, 0, "root"),
        (8, 7, "fork"),
        (9, 7, "subprocess"),
    ]
    assert recording.run.command == ("python", "train.py", "--lr", "1")
    assert recording.processes[2].argv == ("sh", "-c", "a;", "b")
    assert times(recording)[7, "thread 9", "reads"] == (40_000, 0)


def test_a_command_line_is_kept_without_its_secrets(tmp_path):
    recording = of(
        tmp_path, 'process 7:"python train.py --token hunter2 --lr 1";step (train.py:3) 6'
    )

    told = ("python", "train.py", "--token", "[redacted]", "--lr", "1")
    assert (recording.run.command, recording.processes[0].argv) == (told, told)


def test_processes_and_threads_that_py_spy_saw_without_a_frame(tmp_path):
    recording = of(
        tmp_path,
        f'process 7:"{COMMAND}";step (train.py:3) 6',
        f'process 7:"{COMMAND}" 2',
        f'process 7:"{COMMAND}";thread (9): pump 1',
    )

    assert times(recording) == {
        (7, "MainThread", "step"): (60_000, 0),
        (7, "MainThread", ":NO STACK:"): (20_000, 0),
        (7, "pump", ":NO STACK:"): (10_000, 0),
    }


def test_py_spy_s_stacks_are_whole(tmp_path):
    recording = of(tmp_path, "step (/home/a/train.py:3) 60", "reads (/home/a/train.py:5) 6")

    assert recording.processes[0].probe_samples == 66
    assert "foreign-short-names" not in slugs(recording)


def test_threads_and_places_of_cpython_s_profiler(tmp_path):
    recording = of(
        tmp_path, "tid:77;train.py:main:9;train.py:step:3 5", "tid:78;train.py:reads:1 2"
    )

    assert [thread.tid for thread in recording.threads] == [77, 78]
    assert recording.nodes[1].frame == Frame("train.py", "step", 3)


def test_fractions_remarks_and_rubbish(tmp_path):
    recording = of(tmp_path, "# made by hand 12", "a;b 1.5", "", "a;c 2", "no count here", "a;b x")

    assert sum(recording.samples.wall_us) == 35_000
    [note] = [note for note in recording.notes if note.slug == "foreign-lines"]
    assert note.text.startswith("2 lines")


def test_what_rlprof_exports_comes_back_with_its_times_and_threads(tmp_path):
    exported = build_report(
        a_run("train.py", start_up_s=0, steady_s=10)
        .process("main", steps=100)
        .spends(6, "/home/researcher/project/train.py:40 train")
        .spends(4, "/home/researcher/project/train.py:41 train")
        .process("worker")
        .spends(9, "/home/researcher/project/env.py:7 step")
        .recording(),
        detailed=True,
    )

    recording = read_foreign(written(tmp_path, COLLAPSED.render(exported, {})))

    main, worker = (row.pid for row in exported.processes)
    assert times(recording) == {
        (main, "MainThread", "train"): (10_000_000, 0),
        (worker, "MainThread", "step"): (9_000_000, 0),
    }
    assert sum(recording.samples.wall_us) == 19_000_000
    assert "foreign-counts" not in slugs(recording)


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        ("step (/home/a/train.py:3)", Frame("/home/a/train.py", "step", 3)),
        ("<listcomp> (/home/a b/(1)/train.py:3)", Frame("/home/a b/(1)/train.py", "<listcomp>", 3)),
        ("_find (<frozen importlib._bootstrap>:1176)", Frame("<frozen importlib._bootstrap>", "_find", 1176)),
        ("/home/a/train.py:step:3", Frame("/home/a/train.py", "step", 3)),
        ("<string>:<module>:1", Frame("<string>", "<module>", 1)),
        ("py::step:/home/a/train.py", Frame("/home/a/train.py", "step", 0)),
        ("std::vector<int>::push_back", Frame("", "std::vector<int>::push_back", 0)),
        ("[libc.so.6]", Frame("", "[libc.so.6]", 0)),
        ("x" * 5000, Frame("", "x" * 5000, 0)),
    ],
)  # fmt: skip
def test_frames(text, frame):
    assert frame_of(text) == frame


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("forward (torch/nn/modules/linear.py:114)", Origin.LIBRARY),
        ("pthread_cond_timedwait (libc.so.6)", Origin.LIBRARY),
        ("run (threading.py:982)", Origin.STDLIB),
        ("recv (multiprocessing/connection.py:250)", Origin.STDLIB),
        ("step (mazes/env.py:12)", Origin.YOURS),
        ("step (train.py:12)", Origin.YOURS),
    ],
)
def test_short_names_tell_whose_they_are_by_their_first_folder(text, origin):
    assert origin_of_file(frame_of(text).file) is origin


def test_a_name_that_is_a_file_here_is_that_file(tmp_path, monkeypatch):
    (tmp_path / "random.py").write_text("import os\n")
    monkeypatch.chdir(tmp_path)
    recording = of(tmp_path, "choose (random.py:1) 5")

    assert recording.nodes[0].frame.file == str(tmp_path / "random.py")
    assert recording.run.cwd == str(tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"sps: 12\n" * 100, b"hello", b"a;b\nc;d\n", b"\x00\x01;2 3\n", b"%PDF-1.7\n;; 1\nx\ny\n"],
)
def test_other_files_are_no_stacks(tmp_path, content):
    with pytest.raises(RunFileError) as raised:
        read_foreign(written(tmp_path, content))

    assert raised.value.slug == "not-a-profile"
    assert "austin" in raised.value.hint
    assert "collapsed" in raised.value.hint


def test_a_stack_too_long_for_the_head_of_a_file_is_a_stack(tmp_path):
    deep = ";".join(f"step{n} (train.py:3)" for n in range(20_000))
    assert len(deep) > HEAD_BYTES

    recording = of(tmp_path, "# a remark", f"{deep} 5", "short (train.py:1) 2")

    assert len(recording.nodes) == 20_001
    assert sum(recording.samples.wall_us) == 70_000
    assert build_report(recording, detailed=True).flame.frames[0].wall_us == 70_000


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    recording = read_foreign(written(tmp_path, b"\xef\xbb\xbfmain;work 5\n"))

    assert recording.nodes[0].frame.function == "main"


@pytest.mark.parametrize("name", [" " * 40_000, " (" * 20_000, "(" * 40_000, " 1" * 20_000])
def test_names_of_nothing_but_marks_take_no_longer_than_others(tmp_path, name):
    """An expression that is tried at every bracket or blank takes minutes."""
    started = time.perf_counter()

    recording = of(
        tmp_path, "main (train.py:1);work (train.py:2) 5", f"main (train.py:1);a{name}b 5"
    )

    assert sum(recording.samples.wall_us) == 100_000
    assert time.perf_counter() - started < 2


def test_numbers_beyond_all_sense_are_parts_of_names(tmp_path):
    digits = "9" * 5_000
    recording = of(
        tmp_path,
        f'process {digits}:"python train.py";work (train.py:2) 5',
        f"thread ({digits});work (train.py:2) 5",
        f"tid:{digits};work (train.py:{digits}) 5",
        f"thread (0x{'f' * 500});work (train.py:2) 5",
    )

    assert [process.pid for process in recording.processes] == [0]
    assert {node.frame.line for node in recording.nodes} == {0, 2}


def test_counts_that_add_up_to_more_than_a_recording_keeps(tmp_path):
    with pytest.raises(RunFileError, match="thousands of years") as raised:
        of(tmp_path, "a;b 999999999999999", "a;c 999999999999999")

    assert raised.value.slug == "profile-damaged"


def test_stacks_that_count_nothing_have_no_time(tmp_path):
    with pytest.raises(RunFileError, match="count nothing"):
        of(tmp_path, "a;b 0")


def test_source_of_files_that_changed_later_is_not_shown(tmp_path):
    old, new = tmp_path / "old.py", tmp_path / "new.py"
    old.write_text("x = 1\n")
    profile = written(tmp_path, f"f ({old}:1);g ({new}:1) 5\n")
    new.write_text("x = 2\n")
    os.utime(old, (1_000_000, 1_000_000))
    os.utime(new, (4_000_000_000, 4_000_000_000))

    recording = read_foreign(profile)

    assert dict(recording.sources) == {str(old): "x = 1\n"}
    assert {"foreign-source", "foreign-source-changed"} <= slugs(recording)


def test_no_other_file_than_python_s_is_opened(tmp_path):
    secret = tmp_path / "id_rsa"
    secret.write_text("secret")

    recording = read_foreign(written(tmp_path, f"f ({secret}:1);g ({secret}:2) 5\n"))

    assert "secret" not in str(dict(recording.sources))


def test_a_deep_recursion_and_hostile_names_make_a_report(tmp_path):
    deep = ";".join(f"f{n} (train.py:{n})" for n in range(2_000))
    recording = of(tmp_path, f"{deep} 5", "</script>\x1b[2J (a\u202eb.py:1);" + "é" * 300 + " 7")

    report = build_report(recording)

    assert report.flame.frames[0].wall_us == 120_000
