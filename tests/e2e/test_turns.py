"""Two runs in turns: real processes, of which one tree stands still while the other runs."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import time
from itertools import pairwise

import pytest

from rlprof.gate.turns import TURN_S, take_turns
from rlprof.recording.machine.procfs import read_stat
from tests.checked_repository import (
    DEADLINE_S,
    NOT_MEASURED,
    PASS,
    REGRESSION,
    Checked,
    waiting,
)
from tests.live_processes import children_with, is_alive, processes_with, wait_until

# Notes the time over and over, and has a child that does the same.
NOTING = """
import os, sys, time
child = os.fork()
end = time.monotonic() + float(sys.argv[2])
with open(f"{sys.argv[1]}-{'child' if child == 0 else 'root'}", "w") as notes:
    while (now := time.monotonic()) < end:
        notes.write(f"{now}\\n")
        time.sleep(0.001)
if child:
    os.wait()
"""

# Works at each step, and waits for nothing.
WORKING = """
import sys
import rlprof

for _ in range(1500):
    sum(range({work}))
    rlprof.step()
"""


def never() -> bool:
    return False


def is_stopped(pid: int) -> bool:
    stat = read_stat(pid)
    return stat is not None and stat.state == "T"


@pytest.fixture
def start_python(tmp_path):
    started: list[subprocess.Popen[bytes]] = []

    def _start(*arguments: str) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([sys.executable, "-c", *arguments], start_new_session=True))
        return started[-1]

    yield _start
    for process in started:
        process.kill()
        process.wait()


def test_one_tree_stands_still_while_the_other_runs(start_python, tmp_path):
    names = "one", "other"
    roots = [start_python(NOTING, str(tmp_path / name), "2.5") for name in names]

    taken = take_turns([root.pid for root in roots], until=never)

    assert [root.wait(DEADLINE_S) for root in roots] == [0, 0]
    noted = sorted(
        (float(line), name)
        for name in names
        for who in ("root", "child")
        for line in (tmp_path / f"{name}-{who}").read_text().splitlines()
    )
    changes = sum(before[1] != after[1] for before, after in pairwise(noted))
    # Side by side they would change places at nearly every note; before the first turn they are.
    assert len(noted) > 500
    assert changes < len(noted) / 5
    assert all(0.35 < its.share < 0.65 for its in taken)


def test_what_waits_is_told_from_what_works(start_python):
    # Below a process that stands for the recorder.
    start = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
    napping = start_python(start, "import time\nfor _ in range(300): time.sleep(0.005)")
    working = start_python(start, "import time\nwhile time.process_time() < 1: pass")

    asleep, at_work = take_turns([napping.pid, working.pid], until=never)

    spans = [(process.turns[0].start, process.turns[-1].end) for process in (asleep, at_work)]
    assert asleep.waiting_in(*spans[0]) > 0.5
    assert at_work.waiting_in(*spans[1]) < 0.3
    assert asleep.idle_in(*spans[0]) < 0.3


def test_a_sleep_through_whole_turns_is_idle(start_python):
    start = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
    sleeping = start_python(start, "import time; time.sleep(4)")
    napping = start_python(start, "import time; time.sleep(4)")

    taken = take_turns([sleeping.pid, napping.pid], until=never)

    # The last seconds: on a busy machine the start takes longer than any figure would allow.
    assert all(
        process.idle_in(process.turns[-1].end - 2.5, process.turns[-1].end - 0.5) > 0.7
        for process in taken
    )


def test_a_main_thread_that_waits_for_another_is_not_idle(start_python):
    start = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
    threaded = """
import threading, time
def work():
    while time.process_time() < 1: pass
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
    roots = [start_python(start, threaded) for _ in range(2)]

    taken = take_turns([root.pid for root in roots], until=never)

    for process in taken:
        span = process.turns[0].start + 0.5, process.turns[-1].end
        assert process.idle_in(*span) < 0.3
        assert process.waiting_in(*span) < 0.3


def test_nothing_stays_stopped_at_the_end(start_python):
    roots = [start_python("import time; time.sleep(600)") for _ in range(2)]
    rounds = iter(range(5))

    take_turns([root.pid for root in roots], until=lambda: next(rounds, None) is None)

    assert not any(is_stopped(root.pid) for root in roots)


def test_what_has_ended_before_its_first_turn_has_none(start_python):
    gone = start_python("pass")
    gone.wait(DEADLINE_S)
    working = start_python(f"import time; time.sleep({3 * TURN_S})")

    none, some = take_turns([gone.pid, working.pid], until=never)

    assert none.turns == ()
    assert some.turns != ()


# --- rlprof check --interleave --------------------------------------------------------------

# With an effect that no noise of a busy machine reaches, where the verdict is not what is tested.
IN_TURNS = ("--base", "main", "--interleave", "--min-effect", "50%")


def rates_of(side: str, answer: Checked) -> list[float]:
    """Steps per second of each run of that side, as told while it went on."""
    return [float(line.split()[2]) for line in answer.err.splitlines() if f" {side}: " in line]


@pytest.mark.slow
def test_the_same_program_passes_in_turns(repository):
    # Long beside what one turn differs from the next by: shorter runs are inconclusive where others use the machine.
    repository.commit(WORKING.format(work=150_000))

    answer = repository.check("--base", "main", "--interleave", "train.py")

    assert answer.code == PASS, answer.err
    assert "waited-in-turns" not in answer.out
    repository.assert_tidy()


@pytest.mark.slow
def test_a_slower_head_fails_in_turns(repository):
    repository.commit(WORKING.format(work=60_000))
    repository.write(WORKING.format(work=100_000))

    answer = repository.check("--base", "main", "--interleave", "train.py")

    assert answer.code == REGRESSION, answer.out + answer.err
    repository.assert_tidy()


@pytest.mark.slow  # Where others have the cores a wait of 4 ms may outlast a turn.
def test_waits_in_turns_are_told_and_rates_are_those_of_a_run_alone(repository):
    repository.commit(waiting())

    answer = repository.check(*IN_TURNS, "train.py")

    # Alone at most 250 sps; half of it without the turns of the other left out.
    assert answer.code == PASS, answer.err
    assert "waited for something else than a CPU" in answer.out
    rates = rates_of("base", answer)
    assert len(rates) >= 5
    assert 150 < statistics.median(rates) < 350, rates


def test_a_side_that_fails_ends_the_other(repository, mark):
    repository.commit("import time\ntime.sleep(600)\n")
    repository.write("raise SystemExit(3)\n")
    begun = time.monotonic()

    answer = repository.check("--base", "main", "--interleave", "train.py", mark)

    assert answer.fails_with(NOT_MEASURED, "program-failed")
    assert time.monotonic() - begun < 60
    assert processes_with(mark) == []
    repository.assert_tidy()


def test_runs_in_turns_that_take_too_long_are_ended(repository, mark):
    repository.commit("import time\ntime.sleep(600)\n")

    answer = repository.check(
        "--base", "main", "--interleave", "--timeout", "1.5", "train.py", mark
    )

    assert answer.fails_with(NOT_MEASURED, "program-timed-out")
    assert processes_with(mark) == []
    repository.assert_tidy()


def test_without_who_sees_to_the_turns_the_check_ends(repository, mark):
    repository.commit("import time\ntime.sleep(600)\n")
    running = repository.start("--base", "main", "--interleave", "train.py", mark)

    def seeing_to_turns() -> list[int]:
        return children_with(running.pid, "rlprof.gate.turns")

    try:
        wait_until(seeing_to_turns, "they take turns")
        for pid in seeing_to_turns():
            os.kill(pid, signal.SIGKILL)
        _, err = running.communicate(timeout=DEADLINE_S)
    finally:
        running.kill()
        running.wait()

    assert running.returncode == NOT_MEASURED, err
    assert "rlprof explain no-turns" in err
    assert processes_with(mark) == []
    repository.assert_tidy()


@pytest.mark.slow
def test_what_is_left_behind_in_turns_is_ended_and_told(repository, mark):
    leaving = f"""
import subprocess, sys
subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)", "{mark}"],
                 start_new_session=True)
"""
    repository.commit(leaving + waiting())

    answer = repository.check(*IN_TURNS, "train.py")

    base, head = rates_of("base", answer), rates_of("head", answer)
    left = len(base) + len(head)
    # How many runs there are the machine decides: one that had too few turns is not told.
    assert base, answer.err
    assert head, answer.err
    assert f"left {left} processes behind" in answer.out, answer.out + answer.err
    assert processes_with(mark) == []
    repository.assert_tidy()


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGKILL])
def test_a_check_that_is_stopped_in_turns_leaves_no_training_behind(
    repository, mark, tmp_path, signum
):
    # Of a training that is stopped by SIGSTOP nobody would hear again.
    repository.commit(f"""
        import os, pathlib, time
        pathlib.Path({str(tmp_path)!r}, f"ready-{{os.getpid()}}").touch()
        time.sleep(600)
    """)
    running = repository.start("--base", "main", "--interleave", "train.py", mark)
    try:
        wait_until(lambda: len(list(tmp_path.glob("ready-*"))) == 2, "both run")
        pids = [int(checked.name.partition("-")[2]) for checked in tmp_path.glob("ready-*")]
        wait_until(lambda: any(is_stopped(pid) for pid in pids), "they take turns")
        running.send_signal(signum)
        running.communicate(timeout=DEADLINE_S)
    finally:
        running.kill()
        running.wait()

    wait_until(lambda: not any(map(is_alive, pids)), "both have ended")
    wait_until(
        lambda: processes_with(str(repository.temporary)) == [], "their recorders have ended"
    )
    if signum != signal.SIGKILL:
        assert running.returncode == 128 + signum
        repository.assert_tidy()
