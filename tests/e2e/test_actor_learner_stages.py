"""Each stage of the actor-learner trains, and leaves nothing behind, however it ends."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from benchmarks.ladder import SPS, read_ladder
from tests.live_processes import DEADLINE_S

EXAMPLE = Path(__file__).parents[2] / "examples" / "actor_learner"
SHARED_MEMORY = Path("/dev/shm")
STAGES = tuple(read_ladder(EXAMPLE).arguments())
QUICK_STAGES = tuple(stage for stage in STAGES if stage != "2")
ENDLESS = ("--epochs", "1000000")

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def _torch() -> None:
    pytest.importorskip("torch", exc_type=ImportError)


class Training:
    """One that is under way, its workers included."""

    def __init__(self, *arguments: str) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, str(EXAMPLE), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            if line.startswith("epoch "):
                break
        main = psutil.Process(self.popen.pid)
        self.processes = main.children(recursive=True)
        self.workers = [
            process for process in self.processes if process.cmdline() == main.cmdline()
        ]
        """Without the resource tracker, which has a command of its own."""

    def finish(self) -> tuple[int, str]:
        """Its exit code, and what it said on stderr."""
        _, complaint = self.popen.communicate(timeout=DEADLINE_S)
        return self.popen.returncode, complaint

    def has_left_something(self) -> bool:
        _, alive = psutil.wait_procs(self.processes, timeout=DEADLINE_S)
        memory = [*SHARED_MEMORY.glob(f"actor_learner_{self.popen.pid}_*")]
        return bool(alive or memory)


@pytest.fixture
def training() -> Iterator[list[Training]]:
    """Collects trainings, and kills at the end what is still there."""
    started: list[Training] = []
    yield started
    for each in started:
        for process in (each.popen, *each.workers):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        each.popen.communicate(timeout=DEADLINE_S)


def train(stage: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(EXAMPLE), "--stage", stage, *arguments],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=True,
    )


@pytest.mark.parametrize(
    "stage",
    [
        QUICK_STAGES[0],
        *(pytest.param(stage, marks=pytest.mark.slow) for stage in QUICK_STAGES[1:-1]),
        QUICK_STAGES[-1],
    ],
)
def test_every_stage_steps_updates_and_prints_its_sps(stage):
    answer = train(stage, "--epochs", "2", "--steps", "1500")

    steps, updates = re.findall(r"(\d+) steps, (\d+) updates", answer.stdout)[-1]
    assert int(steps) >= 3000
    assert int(updates) > 0
    assert float(SPS.search(answer.stdout)[1]) > 0
    assert answer.stderr == ""


@pytest.mark.slow
def test_the_first_attempt_with_processes_trains_too():
    answer = train("2", "--epochs", "4", "--steps", "260")

    updates = re.findall(r"(\d+) updates", answer.stdout)
    assert int(updates[-1]) > 0
    assert answer.stderr == ""


@pytest.mark.slow
def test_the_same_seed_gives_the_same_training_in_one_process():
    one, same, other = (
        train("batched", "--epochs", "2", "--steps", "600", "--seed", seed) for seed in "112"
    )

    results = [
        [line for line in answer.stdout.splitlines() if line.startswith("epoch")]
        for answer in (one, same, other)
    ]
    assert results[0] == results[1]
    assert results[0] != results[2]


@pytest.mark.parametrize(
    ("stage", "signum", "code"),
    [
        pytest.param("5", signal.SIGINT, 130, marks=pytest.mark.slow),
        ("8", signal.SIGTERM, 143),
        pytest.param("collector-polling", signal.SIGINT, 130, marks=pytest.mark.slow),
    ],
)
def test_a_signal_leaves_nothing_behind(training, stage, signum, code):
    running = Training("--stage", stage, *ENDLESS)
    training.append(running)

    running.popen.send_signal(signum)

    assert running.finish()[0] == code
    assert not running.has_left_something()


@pytest.mark.parametrize("stage", ["7", pytest.param("collector-waiting", marks=pytest.mark.slow)])
def test_the_death_of_a_worker_ends_the_training(training, stage):
    running = Training("--stage", stage, *ENDLESS)
    training.append(running)
    victim = running.workers[0]

    victim.kill()

    code, complaint = running.finish()
    assert code == 1
    assert f"pid {victim.pid}" in complaint
    assert "exit code -9" in complaint
    assert not running.has_left_something()


@pytest.mark.parametrize("stage", [pytest.param("5", marks=pytest.mark.slow), "8"])
def test_workers_end_with_a_main_process_that_was_killed(training, stage):
    running = Training("--stage", stage, *ENDLESS)
    training.append(running)

    running.popen.kill()

    assert running.finish()[0] == -signal.SIGKILL
    assert not running.has_left_something()


def test_ladder_names_stages_in_order():
    ladder = read_ladder(EXAMPLE)

    assert [stage.number for stage in ladder.stages] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert any(pair.innocent for pair in ladder.pairs)
