from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlprof.recording.program.output_log import OutputLog, logs_of_output
from tests.live_processes import wait_until


class Program:
    """One whose output goes to a file."""

    def __init__(self, file: Path, earlier: bytes = b"SPS: 1\n") -> None:
        file.write_bytes(earlier)
        self._written = file.open("ab", buffering=0)
        (self.log,) = logs_of_output([self._written.fileno()])

    def close(self) -> None:
        self._written.close()
        self.log.close()

    def prints(self, text: bytes) -> float | None:
        """The rate that is told then."""
        self._written.write(text)
        return self.log.take_sps()


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    program = Program(tmp_path / "train.log")
    yield program
    program.close()


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        (b"SPS: 4500\n", 4500),
        (b"|    fps                  | 812         |\n", 812),
        (b"global_step=12, sps=1_234.5\n", 1234.5),
        (b"gen 2734 best #7 +0.540 lr 10.9 SPS: 34825\n", 34825),
        (b"num_env_steps_sampled_throughput_per_sec: 99.5\n", 99.5),
        (b"12 s, 1,234 steps/s\n", 1234),
        (b"'env_steps_per_second': 2.5e3,\n", 2500),
        (b"3400.0 steps per second\n", 3400),
        (b"SPS: 1\nSPS: 2\n", 2),
        (b"SPS: 0\n", None),
        (b"time per step: 0.3 s\n", None),
        (b"1200 steps, loss 0.3\n", None),
        (b"steps: 1200\n", None),
        (b"xfps 3\n", None),
        (b"fps=60,59,58,60,61,60,59,60,60,61\n", None),
        (b"SPS: 60,59\n", None),
        (b"SPS: 1e300\n", None),
        (b"grad_steps/s: 12345\n", None),
        (b"300 gradient_steps/s\n", None),
        (b"num_env_steps_trained_throughput_per_sec: 99.5\n", None),
        (b"sps: 1,234,567.5\n", 1234567.5),
        (b"SPS: 4.5k\n", 4500),
        (b"step 3  SPS: 26176.0k\n", 26_176_000),
        (b"SPS: 1.2M, loss 0.3\n", 1_200_000),
        (b"env steps per second: 4.2K\n", 4200),
        (b"1.5 Ksteps/s\n", 1500),
        (b"1.5k steps/s\n", 1500),
        (b"12'480 steps/s\n", 12_480),
        ("12\u202f480 steps/s\n".encode(), 12_480),
        ("SPS: 12\u00a0480\n".encode(), 12_480),
        (b"SPS: 4500.\n", 4500),
        (b"SPS: 4500 128\n", 4500),
        (b"epoch 5, 480 steps/s\n", 480),
        (b"12 480 steps/s\n", None),
        (b"SPS: 12 480\n", None),
        (b"SPS: 1.234,5\n", None),
        (b"SPS: 12ms\n", None),
        (b"iter 3 reward 21.0 fps: nan\n", None),
        (b"episode 3 return 17 sps: n/a\n", None),
        (b"eval score 98.2 SPS: --\n", None),
        (b"reward -21.0, fps: -1\n", None),
        (b"sps=-5\n", None),
        (b"sps=+5\n", 5),
        (b"reward 21.0 fps: 812\n", 812),
        (b"Saved video to a.mp4 (fps=30)\n", None),
        (b"rendering at 30 fps\n", None),
        (b"grad steps/s: 39091 | eval fps: 30\n", None),
        (b"SPS: 4500 | eval fps: 30\n", 4500),
        (b"grad steps/s: 33\n", None),
        (b"optimizer steps/s 33\n", None),
        (b"learner sps: 33\n", None),
        (b"eval: 200 steps/s\n", None),
        (b"[eval] sps: 300\n", None),
        (b"[eval] step 12 return 21.0 sps: 300\n", None),
        (b"12:30:01 eval: return 21.0, sps: 300\n", None),
        (b"'eval/sps': 300, 'time/fps': 812}\n", 812),
        (b"'time/fps': 812, 'eval/sps': 300}\n", 812),
        (b"200 steps/s (validation)\n", None),
        (b"test fps: 60\n", None),
        (b"target fps: 60\n", None),
        (b"camera fps=30\n", None),
        (b"decode fps: 900\n", None),
        (b"dataset fps: 900\n", None),
        (b"max sps=100\n", None),
        (b"baseline SPS: 9999\n", None),
        (b"expected sps: 4000\n", None),
        (b"eval score 98.2 SPS: 4500\n", 4500),
        (b"eval return 21.0 | SPS: 4500\n", 4500),
        (b"update 12 SPS: 4500\n", 4500),
        (b"Target network updated, SPS: 4500\n", 4500),
        (b"elapsed 5 min SPS: 4500\n", 4500),
        (b"charts/SPS: 4500\n", 4500),
        (b"train fps: 812\n", 812),
        (b"latest sps: 812\n", 812),
        (b"rollout: 4500 steps/s\n", 4500),
        (b"[train] step 3 sps: 4500\n", 4500),
    ],
)
def test_forms_that_programs_print(program: Program, text: bytes, rate: float | None):
    assert program.prints(text) == rate


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", [b"1", b"1,", b"a", "1\u202f".encode()])
def test_long_lines_of_anything_are_read_at_once(program: Program, piece: bytes):
    """Some took longer than a training does, by the way in which numbers were looked for."""
    assert program.prints(piece * (1 << 16) + b"\n") is None


def test_what_was_in_the_file_before_is_not_the_program_s(program: Program):
    assert program.prints(b"epoch 1\n") is None


def test_a_rate_is_told_once(program: Program):
    assert program.prints(b"SPS: 7\n") == 7
    assert program.prints(b"loss 0.1\n") is None


def test_a_line_that_is_not_over_is_read_when_it_is(program: Program):
    assert program.prints(b"SPS: 45") is None
    assert program.prints(b"00\n") == 4500


def test_a_file_that_was_emptied_is_read_from_its_beginning_on(tmp_path: Path):
    program = Program(tmp_path / "train.log", b"x" * 1000 + b"\n")
    os.truncate(tmp_path / "train.log", 0)

    assert program.prints(b"SPS: 3\n") is None
    assert program.prints(b"SPS: 4\n") == 4
    program.close()


def test_of_a_flood_the_end_is_read(program: Program):
    assert program.prints(b"SPS: 1\n" + b"x" * 300_000 + b"\nSPS: 2\n") == 2
    assert program.prints(b"y" * 600_000) is None
    assert program.prints(b"\nSPS: 5\n") == 5


def test_one_file_of_two_streams_is_read_once(tmp_path: Path):
    with (tmp_path / "log").open("w") as stream:
        logs = logs_of_output([stream.fileno(), stream.fileno()])
    assert len(logs) == 1
    logs[0].close()


def test_what_tee_writes_into_files_is_read(tmp_path: Path):
    file = tmp_path / "train.log"
    with subprocess.Popen(["tee", file], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as tee:
        assert tee.stdin is not None
        wait_until(file.exists, "the file of tee")
        (log,) = logs_of_output([tee.stdin.fileno()])
        tee.stdin.write(b"SPS: 4500\n")
        tee.stdin.close()
    assert log.take_sps() == 4500
    log.close()


def test_who_reads_a_pipe_of_another_is_left_alone(tmp_path: Path):
    ends = os.pipe()
    file = tmp_path / "other.log"
    with subprocess.Popen(["tee", file], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL):
        wait_until(file.exists, "the file of tee")
        assert logs_of_output(ends) == []
    for end in ends:
        os.close(end)


def test_pipes_are_left_alone():
    ends = os.pipe()

    assert logs_of_output(ends) == []
    for end in ends:
        os.close(end)


def test_a_file_that_cannot_be_read_tells_nothing(tmp_path: Path):
    log = OutputLog(os.open(tmp_path, os.O_RDONLY), 0)

    assert log.take_sps() is None
    log.close()
