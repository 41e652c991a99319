"""``rlprof try``: real trainings that are treated in turns, and what becomes of them whoever is killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rlprof.model.experiment import TreatmentKind
from rlprof.runfile.reader import read_run
from tests.live_processes import Running, cli, is_alive, processes_with, wait_until

LATE_S = 100
"""A plan is made after ten seconds of training, and measuring takes some more."""

pytestmark = pytest.mark.timeout(240)

# Each process notes, again and again, how many steps it has made and how many texts it has built for them.
TRAIN = """
import logging, multiprocessing, os, subprocess, sys, time
import rlprof

logger = logging.getLogger("train")

class Q:
    built = 0
    def __format__(self, spec):
        Q.built += 1
        return str([number / 7 for number in range(2000)])[:9]

def step(q):
    logger.debug(f"q = {q}")
    rlprof.step()

def train(name):
    q, steps, until = Q(), 0, time.monotonic() + 200
    with open("notes-" + name, "w", buffering=1) as notes:
        while not os.path.exists("stop") and time.monotonic() < until:
            for _ in range(25):
                sum(range(1000))
                step(q)
            steps += 25
            notes.write(f"{steps} {Q.built}\\n")

if __name__ == "__main__":
    print("pid", os.getpid(), flush=True)
    workers = []
    for method in sys.argv[1:]:
        if method == "service":
            # As a TensorBoard that is to be there when the training is over.
            waits = [sys.executable, "-c", "import time; time.sleep(300)", os.getcwd()]
            none = subprocess.DEVNULL
            service = subprocess.Popen(waits, stdout=none, stderr=none, start_new_session=True)
            print("service", service.pid, flush=True)
            continue
        if method == "tool":
            # As a simulator that is no Python.
            print("tool", subprocess.Popen(["sleep", "300"]).pid, flush=True)
            continue
        context = multiprocessing.get_context(method)
        workers.append(context.Process(target=train, args=(method,)))
        workers[-1].start()
        print("worker", method, workers[-1].pid, flush=True)
    train("main")
    for worker in workers:
        worker.join()
    print("end", flush=True)
"""


class Trying:
    """An ``rlprof try`` that is under way."""

    def __init__(self, running: Running, folder: Path) -> None:
        self.running = running
        self.folder = folder
        self.told: list[str] = []
        # All the time, or it would stand still once the pipe is full.
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.running.popen.stderr is not None
        for line in self.running.popen.stderr:
            self.told.append(line.decode(errors="replace").rstrip())

    @property
    def err(self) -> str:
        return "\n".join(self.told)

    def wait_told(self, text: str) -> str:
        deadline = time.monotonic() + LATE_S
        while (found := self._line_with(text)) is None:
            assert self.running.popen.poll() is None or self._reader.is_alive(), self.err
            assert time.monotonic() < deadline, self.err
            time.sleep(0.05)
        return found

    def _line_with(self, text: str) -> str | None:
        return next((line for line in list(self.told) if text in line), None)

    def finish(self) -> int:
        code = self.running.popen.wait(timeout=LATE_S)
        self._reader.join(timeout=LATE_S)
        return code if code >= 0 else 128 - code

    def notes(self, name: str = "main") -> list[tuple[int, int]]:
        """Steps and built texts up to each of the moments noted."""
        file = self.folder / f"notes-{name}"
        lines = file.read_text().split("\n")[:-1] if file.exists() else []
        return [(int(steps), int(built)) for steps, built in map(str.split, lines)]

    def is_treated(self, name: str = "main") -> bool:
        """True if texts were left out between the last two notes."""
        last = self.notes(name)[-2:]
        return len(last) == 2 and last[0][1] == last[1][1]

    def is_untreated(self, name: str = "main", after: int = 0) -> bool:
        """True if there is a text for each of the last steps, of which the first is after so many."""
        last = self.notes(name)[-8:]
        return len(last) == 8 and last[0][0] > after and last[-1][1] - last[0][1] == 7 * 25


@pytest.fixture
def start_try(tmp_path) -> Iterator[Callable[..., Trying]]:
    started: list[Running] = []

    def _start(script: Path, *arguments: str, options: list[str]) -> Trying:
        run_file = tmp_path / "run.rlprof"
        popen = subprocess.Popen(
            cli("try", "-o", run_file, *options, script, *arguments),
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        started.append(Running(popen, run_file))
        return Trying(started[-1], tmp_path)

    yield _start
    for running in started:
        running.end()
    for pid in processes_with(str(tmp_path)):
        os.kill(pid, signal.SIGKILL)


LOG = ["--finding", "eager-log-format"]


@pytest.mark.slow
def test_workers_are_treated_and_ended_too_and_services_are_left_alone(write, start_try):
    started = "service", "tool", "fork", "spawn"
    trying = start_try(write(TRAIN), *started, options=[*LOG, "--budget", "12s"])
    told = "pid", "service", "tool", "worker fork", "worker spawn"
    lines = [trying.running.wait_line(text) for text in told]
    pid, service, tool, *workers = [int(line.rpartition(" ")[2]) for line in lines]

    trying.wait_told("eager-log-format: ")
    code = trying.finish()

    assert code == 0, trying.err
    wait_until(lambda: not any(map(is_alive, (pid, tool, *workers))), "all processes end")
    assert is_alive(service)
    for name in "main", "fork", "spawn":
        steps, built = trying.notes(name)[-1]
        assert 25 < built < steps - 25, name


def test_a_training_whose_rlprof_is_killed_goes_on_untreated(write, start_try, tmp_path):
    trying = start_try(write(TRAIN), "fork", options=[*LOG, "--budget", "60s"])
    pid = int(trying.running.wait_line("pid").split()[1])
    worker = int(trying.running.wait_line("worker fork").split()[2])
    trying.wait_told("tries eager-log-format")
    wait_until(trying.is_treated, "it is on")

    os.kill(trying.running.pid, signal.SIGKILL)
    trying.running.popen.wait(timeout=LATE_S)
    steps = trying.notes()[-1][0]

    wait_until(lambda: trying.is_untreated(after=steps), "it is away")
    wait_until(lambda: trying.is_untreated("fork", after=steps), "it is away in the worker")
    assert is_alive(pid)
    assert is_alive(worker)
    (tmp_path / "stop").touch()
    assert trying.running.popen.stdout.read() == b"end\n"
    wait_until(lambda: not is_alive(pid) and not is_alive(worker), "the training ends")
    assert "Traceback" not in trying.err


@pytest.mark.slow
def test_a_training_that_is_killed_ends_the_try(write, start_try):
    trying = start_try(write(TRAIN), options=[*LOG, "--budget", "60s"])
    pid = int(trying.running.wait_line("pid").split()[1])
    trying.wait_told("tries eager-log-format")
    wait_until(trying.is_treated, "it is on")

    os.kill(pid, signal.SIGKILL)
    trying.finish()

    assert "eager-log-format: cut short (the training ended" in trying.err
    assert "Traceback" not in trying.err
    recording = read_run(trying.running.run_file)
    assert recording.run.complete
    assert recording.run.exit_code == 128 + signal.SIGKILL


@pytest.mark.slow
def test_a_worker_that_is_killed_leaves_the_others_to_be_measured_and_to_train_on(
    write, start_try, tmp_path
):
    options = [*LOG, "--budget", "30s", "--keep-going"]
    trying = start_try(write(TRAIN), "fork", "spawn", options=options)
    worker = int(trying.running.wait_line("worker fork").split()[2])
    trying.wait_told("tries eager-log-format")
    wait_until(lambda: trying.is_treated("fork"), "it is on")

    os.kill(worker, signal.SIGKILL)
    line = trying.wait_told("eager-log-format: ")
    steps = {name: trying.notes(name)[-1][0] for name in ("main", "spawn")}

    for name, so_far in steps.items():
        wait_until(
            lambda name=name, so_far=so_far: trying.is_untreated(name, so_far + 500),
            f"{name} trains on",
        )
    (tmp_path / "stop").touch()
    assert trying.finish() == 0, trying.err
    assert trying.running.popen.stdout.read().endswith(b"end\n")
    assert read_run(trying.running.run_file).run.exit_code == 0
    assert "ends the training" not in trying.err
    # Its steps are missing from one slot: whatever that makes of the interval, it is told.
    assert re.search(r"×, \d+ pairs|×\), \d+ pairs|not clear", line), trying.err
    assert "Traceback (most recent call last)" not in trying.err.partition("all is measured")[0]


PARTS = """
import rlprof

class GridWorld:
    def step(self, action):
        total = 0
        for number in range(4000):
            total += number * action
        return [float(total)], 0.0, False

def train(env):
    while True:
        for _ in range(25):
            env.step(1)
            sum(range(3_000))
            rlprof.step()

train(GridWorld())
"""

SAVES = """
import os, time
import rlprof

made = 0

def save():
    global made
    made += 1
    sum(range(20_000))

def publish():
    sum(range(200_000))

def train(until):
    while not os.path.exists(until):
        save()
        publish()
        rlprof.step()

def is_saved():
    before = made
    save()
    save()
    return made == before + 2

if __name__ == "__main__":
    print("pid", os.getpid(), flush=True)
    try:
        train("stop")
    except KeyboardInterrupt:
        until = time.monotonic() + 30
        while not is_saved() and time.monotonic() < until:
            sum(range(20_000))
        print("saved" if is_saved() else "left out", flush=True)
        raise SystemExit(7)
    print("end", flush=True)
    raise SystemExit(7)
"""


def test_ctrl_c_keeps_what_was_measured_and_the_last_save_is_made(write, start_try):
    options = ["--skip", "train:publish", "--skip", "train:save=1000000", "--budget", "60s"]
    trying = start_try(write(SAVES), options=options)
    trying.wait_told("tries skip train:save: ")

    os.kill(trying.running.pid, signal.SIGINT)
    trying.finish()

    assert trying.running.popen.stdout.read().endswith(b"saved\n")
    told = re.search(r"skip train:publish: (at most|not clear:) .*×.*, \d+ pairs", trying.err)
    assert told is not None, trying.err
    assert "skip train:save: cut short (the training was told to end" in trying.err
    recording = read_run(trying.running.run_file)
    assert recording.run.complete
    assert recording.run.exit_code == 7


@pytest.mark.slow
def test_ctrl_c_on_a_terminal_is_heard_too(write, terminal, tmp_path):
    """It goes to the training alone, which ends with a code of its own."""
    options = ["--skip", "train:save=1000000", "--budget", "60s"]
    session = terminal(cli("try", *options, write(SAVES)))
    session.read_until(b"tries skip train:save: ")

    session.type(b"\x03")
    code = session.finish()

    assert code == 0, session.shown.decode()
    assert b"saved" in session.shown
    assert b"before all was tried" not in session.shown
    assert read_run(tmp_path / ".rlprof" / "latest").run.exit_code == 7


@pytest.mark.slow  # It is a minute until nothing can be loading any more.
def test_a_program_that_counts_nothing_is_told_so(write, start_try):
    text = TRAIN.replace("rlprof.step()", "sum(range(1000))").replace("import rlprof", "")
    trying = start_try(write(text), options=["--budget", "20s"])

    code = trying.finish()

    assert code != 0
    assert "nothing counts the steps of this program" in trying.err
    assert "--steps-from" in trying.err
    assert 'File "/' not in trying.err.rpartition("KeyboardInterrupt")[2]


def test_a_training_that_ends_too_early_is_told_so(write, tmp_path):
    script = write("import rlprof\nrlprof.step()\nprint('end')\n")

    answer = subprocess.run(
        cli("try", script), cwd=tmp_path, capture_output=True, timeout=LATE_S, check=False
    )

    assert answer.returncode != 0
    assert b"the training ended before its steady phase had begun" in answer.stderr
    assert answer.stdout == b"end\n"
    assert read_run(tmp_path / ".rlprof" / "latest").run.complete, "it was recorded all the same"


def test_a_normal_run_tries_and_trains_on_to_its_own_end(write, start, tmp_path):
    text = TRAIN.replace('print("end", flush=True)', 'print("end", flush=True); sys.exit(7)')
    running = start(write(text), options=["--try"], report=True)
    trying = Trying(running, tmp_path)
    line = trying.wait_told("eager-log-format: ")
    steps = trying.notes()[-1][0]

    wait_until(lambda: trying.is_untreated(after=steps + 500), "it trains on")
    (tmp_path / "stop").touch()
    code = trying.finish()

    factor = re.search(r": .+× \(([\d.]+)× to .+×\), (\d+) pairs", line)
    assert factor is not None, trying.err
    assert float(factor[1]) > 2  # More than half of the time.
    assert int(factor[2]) >= 5
    assert code == 7, trying.err
    assert running.popen.stdout.read().endswith(b"end\n")
    assert "ends the training" not in trying.err
    recording = read_run(running.run_file)
    assert recording.run.exit_code == 7
    tried = {each.finding: each for each in recording.experiments}["eager-log-format"]
    assert tried.treatment == "lazy-log-text"
    assert tried.measured is not None
    assert tried.measured.low > 0.5
    report = trying.err.rpartition("Tried while the training ran")[2]
    assert "eager-log-format" in report
    assert "lazy-log-text" in report


@pytest.mark.slow
def test_parts_of_training_are_freed_in_turn(write, start_try):
    trying = start_try(write(PARTS), options=["--ceilings", "--budget", "30s"])

    line = trying.wait_told("free-environment ")
    trying.wait_told(": at most ")
    code = trying.finish()

    assert "answers step from memory, so that environment costs next to nothing" in line
    assert code == 0, trying.err
    first, *_ = read_run(trying.running.run_file).experiments
    assert (first.finding, first.treatment) == ("", "free-environment")
    assert first.kind is TreatmentKind.CEILING
    assert first.measured is not None
    # Of nine tenths or so, on a machine that others use, too.
    assert first.measured.low > 0.5
