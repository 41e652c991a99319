"""rlprof killed with SIGKILL: the target goes on, the run file is readable, little is lost."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from rlprof.runfile.reader import read_run
from tests.live_processes import cli, is_alive, processes_with, wait_until

TRAIN = """
import os, subprocess, sys, time
import multiprocessing as mp
import rlprof

def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))
        rlprof.step()

def child():
    print("child", flush=True)

if __name__ == "__main__":
    print("pid", os.getpid(), flush=True)
    work(1.5)
    print("half", flush=True)
    while os.path.exists("wait"):
        work(0.05)
    work(0.5)
    subprocess.run([sys.executable, "-c", "import rlprof; rlprof.step(); print('new')"], check=True)
    worker = mp.get_context("fork").Process(target=child)
    worker.start()
    worker.join()
    print("end", worker.exitcode, flush=True)
"""


@pytest.fixture
def killed(write, start, tmp_path):
    """An ``rlprof run`` that was killed in the middle; the target waits for ``wait`` to go."""
    (tmp_path / "wait").touch()
    running = start(write(TRAIN))
    pid = int(running.wait_line("pid").split()[1])
    running.wait_line("half")
    os.kill(running.pid, signal.SIGKILL)
    running.popen.wait(timeout=60)
    yield running, pid
    if is_alive(pid):
        os.kill(pid, signal.SIGKILL)


def test_the_target_runs_on_to_its_end(killed, tmp_path):
    running, pid = killed

    assert is_alive(pid)
    wait_until(lambda: not processes_with(f"-p\0{pid}"), "no sampler is left behind")
    (tmp_path / "wait").unlink()
    out = running.popen.stdout.read()
    wait_until(lambda: not is_alive(pid), "the target ends")

    assert out == b"new\nchild\nend 0\n"
    assert running.popen.stderr.read() == b""


def test_the_run_file_is_readable_and_says_that_it_was_cut_off(killed):
    running, pid = killed

    recording = read_run(running.run_file)
    report = subprocess.run(
        cli("report", running.run_file), capture_output=True, text=True, timeout=60, check=False
    )

    assert not recording.run.complete
    assert not recording.run.is_live
    assert recording.run.exit_code is None
    assert recording.windows[-1].end_us > 700_000  # Of more than 1.5 s: at most 1 s is lost.
    assert recording.processes[0].pid == pid
    assert sum(counter.value for counter in recording.counters) > 0
    assert sum(recording.samples.wall_us) > 400_000
    assert report.returncode == 0, report.stderr
    assert "incomplete" in report.stdout or "cut short" in report.stdout
    assert " 0 µs" not in report.stdout


def test_a_run_file_can_be_read_while_it_is_written(write, start, tmp_path):
    (tmp_path / "wait").touch()
    running = start(write(TRAIN))
    running.wait_line("half")

    recording = read_run(running.run_file)
    (tmp_path / "wait").unlink()
    result = running.finish()

    assert not recording.run.complete
    assert recording.run.is_live
    assert recording.windows
    assert result.recording.run.complete
    assert not running.run_file.with_name(running.run_file.name + "-wal").exists()
    assert not running.run_file.with_name(running.run_file.name + "-shm").exists()


PRINTS_ON = """
import os, sys, time

print("pid", os.getpid(), flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
for number in range(20_000):
    print("line", number)
print("error", file=sys.stderr)
open("trained", "w").close()
"""

PATTERN = r"--sps-pattern=sps=(\d+)"


def test_output_that_went_through_rlprof_goes_on(write, start, tmp_path):
    running = start(write(PRINTS_ON), options=[PATTERN])
    pid = int(running.wait_line("pid").split()[1])

    os.kill(running.pid, signal.SIGKILL)
    running.popen.wait(timeout=60)
    (tmp_path / "go").touch()
    out, err = running.popen.communicate(timeout=60)

    assert out.decode() == "".join(f"line {number}\n" for number in range(20_000))
    assert err == b"error\n"
    wait_until(lambda: not is_alive(pid), "the target ends")
    assert (tmp_path / "trained").exists()
    wait_until(lambda: not processes_with(str(running.run_file)), "nothing is left")


def test_a_reader_that_goes_away_after_it_is_felt_by_the_target(write, start, tmp_path):
    running = start(write(PRINTS_ON), options=[PATTERN])
    pid = int(running.wait_line("pid").split()[1])

    os.kill(running.pid, signal.SIGKILL)
    running.popen.wait(timeout=60)
    running.popen.stdout.close()
    (tmp_path / "go").touch()

    assert b"BrokenPipeError" in running.popen.stderr.read()
    wait_until(lambda: not is_alive(pid), "the target ends")
    assert not (tmp_path / "trained").exists()
