from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from rlprof.errors import RunFileError
from rlprof.foreign import base
from rlprof.foreign.reading import read_foreign
from rlprof.model.recording import INVALID_FUNCTION, NO_PARENT, Frame, Recording
from rlprof.profile.build import build_profile
from tests.mojo_stream import MojoStream

TRAIN = "/home/researcher/train.py"
HEADER = "# austin: 3.7.0\n# interval: 10000\n# mode: full\n\n"
FOOTER = "\n# duration: 2000000\n"
POOL = "/usr/lib/python3.11/multiprocessing"


def written(folder: Path, text: str | bytes, name: str = "profile") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def times(recording: Recording) -> dict[tuple[int, str, str], tuple[int, int]]:
    """(pid, thread, stack of functions): (wall, idle) in µs."""
    found: dict[tuple[int, str, str], tuple[int, int]] = {}
    for _, thread, node, wall, idle, _ in recording.samples.rows():
        names = []
        while node != NO_PARENT:
            names.append(recording.nodes[node].frame.function)
            node = recording.nodes[node].parent
        of = recording.threads[thread]
        pid = recording.processes[of.process].pid
        key = pid, of.name, ">".join(reversed(names))
        before = found.get(key, (0, 0))
        found[key] = (before[0] + wall, before[1] + idle)
    return found


def slugs(recording: Recording) -> set[str]:
    return {note.slug for note in recording.notes}


def test_full_metrics_tell_work_waits_and_memory(tmp_path):
    path = written(
        tmp_path,
        HEADER + f"P7;T0:7;{TRAIN}:<module>:9;{TRAIN}:step:3 100,0,4096\n"
        f"P7;T0:7;{TRAIN}:<module>:9;{TRAIN}:step:3 30,1,-8\n"
        f"P7;T0:8;{TRAIN}:reads:5 50,1,0\n" + FOOTER,
    )

    recording = read_foreign(path)

    assert times(recording) == {
        (7, "MainThread", "<module>>step"): (130, 30),
        (7, "thread 8", "reads"): (50, 50),
    }
    assert recording.run.wall_us == 2_000_000
    assert recording.processes[0].requested_interval_us == 10_000
    assert [(growth.grown_bytes, growth.released_bytes) for growth in recording.memory] == [
        (4096, 8)
    ]
    assert "foreign-waits" not in slugs(recording)


def test_times_alone_are_read_and_waits_said_to_be_unknown(tmp_path):
    path = written(tmp_path, f"# austin: 3.7.0\n# mode: wall\n\nP7;T0:7;{TRAIN}:step:3 100\n")

    recording = read_foreign(path)

    assert times(recording) == {(7, "MainThread", "step"): (100, 0)}
    assert "foreign-waits" in slugs(recording)


def test_mojo2austin_says_full_and_writes_times_alone(tmp_path):
    path = written(tmp_path, HEADER + f"P7;T0:7;{TRAIN}:step:3 100\n")

    assert times(read_foreign(path)) == {(7, "MainThread", "step"): (100, 0)}


def test_threads_without_interpreter_and_lines_of_windows(tmp_path):
    path = written(tmp_path, f"P7;T7;{TRAIN}:step:3 100,0,0\r\nP7;T0x1f;{TRAIN}:reads:3 5,0,0\r\n")

    recording = read_foreign(path)

    assert [thread.tid for thread in recording.threads] == [7, 31]
    assert times(recording)[7, "thread 31", "reads"] == (5, 0)


def test_a_pool_is_known_by_its_stacks(tmp_path):
    started = f"{POOL}/popen_fork.py:Popen._launch:71;{POOL}/process.py:BaseProcess._bootstrap:314"
    path = written(
        tmp_path,
        HEADER + f"P7;T0:7;{TRAIN}:main:9 10,0,0\n"
        f"P8;T0:8;{TRAIN}:main:9;{started};{TRAIN}:work:3 10,0,0\n"
        f"P9;T0:9;<string>:<module>:1;{POOL}/spawn.py:spawn_main:120;"
        f"{POOL}/process.py:BaseProcess._bootstrap:314;{TRAIN}:work:3 10,0,0\n",
    )

    recording = read_foreign(path)

    assert [process.start_method for process in recording.processes] == ["root", "fork", "spawn"]
    assert {process.python for process in recording.processes} == {"3.11"}


def test_torn_stacks_and_those_of_threads_about_to_start(tmp_path):
    path = written(
        tmp_path,
        HEADER + f"P7;T0:7;{TRAIN}:step:3;:INVALID: 40,0,0\nP7;T0:7;{TRAIN}:step:3 60,0,0\n"
        "P7;T0:7 9,0,0\nP7;T0:8 5,0,0\n",
    )

    recording = read_foreign(path)

    assert times(recording) == {
        (7, "MainThread", INVALID_FUNCTION): (40, 0),
        (7, "MainThread", "step"): (60, 0),
        (7, "thread 8", ":NO STACK:"): (5, 0),
    }
    assert recording.processes[0].clock_invalid_us == 40


def test_a_file_that_was_cut_is_read_as_far_as_it_goes(tmp_path):
    path = written(
        tmp_path, HEADER + f"P7;T0:7;{TRAIN}:step:3 100,0,0\nP7;T0:7;{TRAIN}:step:3 100,0,0"
    )

    recording = read_foreign(path)

    assert times(recording) == {(7, "MainThread", "step"): (100, 0)}
    assert "foreign-lines" in slugs(recording)


def test_packed_files_are_read_too(tmp_path):
    text = HEADER + f"P7;T0:7;{TRAIN}:step:3 100,0,0\n"
    path = written(tmp_path, gzip.compress(text.encode()))

    assert times(read_foreign(path)) == {(7, "MainThread", "step"): (100, 0)}


def test_many_blocks_add_up(tmp_path):
    line = f"P7;T0:7;{TRAIN}:step:3;{'/a/long/path.py:f:1;' * 20}/x.py:g:1 100,0,0\n"
    count = 3_000_000 // len(line)
    path = written(tmp_path, HEADER + line * count)

    recording = read_foreign(path)

    assert recording.samples.wall_us.tolist() == [100 * count]
    assert "foreign-lines" not in slugs(recording)


def test_mojo_of_several_processes(tmp_path):
    stream = MojoStream()
    step, work = Frame(TRAIN, "step", 3), Frame(TRAIN, "work", 5)
    stream.sample(7, [step], 100, pid=7)
    stream.sample(7, [step], 30, pid=7, idle=True)
    stream.sample(8, [work], 50, pid=8, gc=True)
    path = written(tmp_path, stream.bytes(), "renamed.txt")

    assert times(read_foreign(path)) == {
        (7, "MainThread", "step"): (130, 30),
        (8, "MainThread", "work>:GC:"): (50, 0),
    }


@pytest.mark.parametrize(
    ("content", "slug", "words"),
    [
        (b"", "not-a-profile", "empty"),
        (b"MOJ\x02abc", "profile-damaged", "version 2"),
        (b"MOJ\x03\x7f", "profile-damaged", "0x7f"),
        (b"MOJ\x03\x02\x01\x00xyz\x00\x09\x01\x02\x01\x00xyz\x00", "profile-damaged", "fit"),
        (b"MOJ\x03", "profile-without-time", "no whole sample"),
        (b"# austin: 3.7.0\n# mode: full\n\n", "profile-without-time", "no whole sample"),
        (b"# austin: 3.7.0\n# mode: memory\n\nP1;T0:1;a.py:f:1 4096\n", "profile-without-time", "memory"),
        (b"# austin: 3.7.0\nP1;T0:1;a.py:f:" + b"9" * 5000 + b" 10\n", "profile-damaged", "number"),
        (b"# austin: 3.7.0\nP" + b"1" * 5000 + b";T0:1;a.py:f:1 10\n", "profile-damaged", "number"),
        (b"# austin: 3.7.0\nP1;T0:" + b"9" * 30 + b";a.py:f:1 10\n", "profile-damaged", "64 bits"),
        (gzip.compress(b"P1;T0:1;a.py:f:1 10,0,0\n" * 9)[:-9], "profile-damaged", "gzip"),
        (b"\x1f\x8b\x00\x00", "profile-damaged", "gzip"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_with_the_reason(tmp_path, content, slug, words):
    path = written(tmp_path, content)

    with pytest.raises(RunFileError, match=words) as raised:
        read_foreign(path)

    assert raised.value.slug == slug
    assert raised.value.message.count(str(path)) == 1
    assert raised.value.hint


@pytest.mark.parametrize(
    "content",
    [b"P1;T0:1;a.py:f:1 10,0,0\n" * 99, b"train;step 5\n" * 99, b"MOJ\x03" + bytes(999)],
    ids=["text", "collapsed", "mojo"],
)
def test_what_a_few_packed_bytes_become_is_bounded(tmp_path, monkeypatch, content):
    monkeypatch.setattr(base, "MOST_BYTES", 500)
    path = written(tmp_path, gzip.compress(content))

    with pytest.raises(RunFileError) as raised:
        read_foreign(path)

    assert raised.value.slug == "profile-too-large"


def test_a_line_that_no_file_has_is_not_known(tmp_path):
    path = written(tmp_path, "P1;T0:1;a.py:step:99999999999999999999 10,0,0\n")

    assert read_foreign(path).nodes[0].frame == Frame("a.py", "step", 0)


def test_imports_come_first_and_do_not_outweigh_the_training(tmp_path):
    load = f"{TRAIN}:<module>:1;<frozen importlib._bootstrap>:_find_and_load:1176"
    path = written(
        tmp_path,
        HEADER + f"P7;T0:7;{load} 1500000,0,0\n"
        f"P7;T0:7;{TRAIN}:<module>:9;{TRAIN}:step:3 500000,0,0\n"
        f"P7;T0:8;{TRAIN}:reads:5 2000000,1,0\n" + FOOTER,
    )

    recording = read_foreign(path)
    profile = build_profile(recording)

    assert [window.end_us for window in recording.windows] == [1_500_000, 2_000_000]
    assert [(phase.kind.value, phase.end_us) for phase in profile.phases] == [
        ("start-up", 1_500_000),
        ("steady", 2_000_000),
    ]
    assert profile.critical.wall_us == 500_000
    # A thread that was there all the time is in both, with all its time.
    assert times(recording)[7, "thread 8", "reads"] == (2_000_000, 2_000_000)
    assert [clock.wall_us for clock in recording.clocks if clock.thread == 1] == [
        1_500_000,
        500_000,
    ]
