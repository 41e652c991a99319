"""``rlprof.step``: the true number, however the process that counts comes and goes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

COUNTS = """
import os, signal, sys, time
import multiprocessing as mp
import rlprof

def count(steps):
    for _ in range(steps // 10):
        rlprof.step()
        rlprof.step(9)

def worker(steps):
    count(steps)
"""


@pytest.mark.parametrize(
    "ending",
    ["", "os._exit(0)", "os.kill(os.getpid(), signal.SIGKILL)", "raise SystemExit(1)"],
    ids=["end", "_exit", "SIGKILL", "exit"],
)
def test_every_step_counts_whatever_ends_the_process(write, rlprof_run, ending):
    result = rlprof_run(write(COUNTS + f"\ncount(12340)\n{ending}\n"))

    assert result.steps == 12340


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_steps_of_workers_count_apart_and_add_up(write, rlprof_run, method):
    script = write(
        COUNTS
        + f"""
if __name__ == "__main__":
    count(1000)
    workers = [
        mp.get_context("{method}").Process(target=worker, args=(steps,)) for steps in (200, 30)
    ]
    for process in workers:
        process.start()
    for process in workers:
        process.join()
    count(4000)
"""
    )

    result = rlprof_run(script)

    per_process: dict[int, float] = {}
    for counter in result.recording.counters:
        if counter.name != "steps":
            continue
        per_process[counter.process] = per_process.get(counter.process, 0) + counter.value
    assert sorted(per_process.values()) == [30, 200, 5000]
    assert per_process[0] == 5000


def test_children_count_that_the_recorder_hears_of_at_the_programs_end(write, rlprof_run):
    """It gets no CPU while they live, and on one core they do not wait for its answer."""
    script = write(
        COUNTS
        + """
recorder, program = os.getppid(), os.getpid()
if os.fork() == 0:
    while os.getppid() == program:
        time.sleep(0.001)
    os.kill(recorder, signal.SIGCONT)
    os._exit(0)
time.sleep(0.6)
os.kill(recorder, signal.SIGSTOP)
children = []
for _ in range(3):
    children.append(os.fork())
    if not children[-1]:
        count(70)
        os._exit(0)
for child in children:
    os.waitpid(child, 0)
os._exit(0)
"""
    )

    first_core = str(min(os.sched_getaffinity(0)))

    assert rlprof_run(script, prefix=("taskset", "--cpu-list", first_core)).steps == 3 * 70


def test_a_forked_child_that_is_killed_has_its_steps_counted(write, rlprof_run):
    script = write(
        COUNTS
        + """
count(50)
if os.fork() == 0:
    count(700)
    os.kill(os.getpid(), signal.SIGKILL)
os.wait()
count(20)
"""
    )

    assert rlprof_run(script).steps == 770


@pytest.mark.parametrize(
    "trouble",
    ["os.environ['RLPROF_PROBE_US'] = 'not a number'", "os.environ['RLPROF_SOCKET'] = 'nowhere'"],
    ids=["no agent", "no recorder"],
)
def test_a_forked_child_without_an_agent_leaves_its_parents_count_alone(write, rlprof_run, trouble):
    script = write(
        COUNTS
        + f"""
count(50)
{trouble}
if os.fork() == 0:
    count(700)
    os._exit(0)
os.wait()
count(20)
"""
    )

    assert rlprof_run(script).steps == 70


def test_steps_count_from_any_thread_and_after_an_exec(write, rlprof_run):
    script = write(
        COUNTS
        + """
import threading
if len(sys.argv) == 1:
    thread = threading.Thread(target=count, args=(300,))
    thread.start()
    thread.join()
    os.execv(sys.executable, [sys.executable, sys.argv[0], "again"])
count(40)
"""
    )

    result = rlprof_run(script)

    assert result.steps == 340


def test_steps_are_spread_over_the_windows_in_which_they_happened(write, rlprof_run):
    script = write(
        COUNTS
        + """
end = time.monotonic() + 0.8
while time.monotonic() < end:
    pass
for _ in range(80):
    rlprof.step(10)
    time.sleep(0.01)
"""
    )

    result = rlprof_run(script)

    assert result.steps == 800
    windows = {window.id: window for window in result.recording.windows}
    with_steps = [windows[c.window] for c in result.recording.counters if c.name == "steps"]
    assert len(with_steps) >= 3
    assert min(window.end_us for window in with_steps) > 700_000


def test_step_works_without_rlprof_running():
    code = "import rlprof; rlprof.step(); rlprof.step(3); print(rlprof._steps[0])"

    answer = subprocess.check_output([sys.executable, "-c", code], timeout=60)

    assert answer == b"4\n"


def test_import_rlprof_brings_no_other_package_along():
    code = (
        "import sys; before = set(sys.modules); import rlprof\n"
        "print(*(name.partition('.')[0] for name in set(sys.modules) - before))"
    )

    names = subprocess.check_output([sys.executable, "-S", "-c", code], cwd=_checkout())

    assert set(names.decode().split()) - sys.stdlib_module_names == {"rlprof"}
    assert "typing" not in names.decode()


def test_a_step_costs_less_than_a_microsecond():
    """Ten times the promise, since the machine may be busy; benchmarks/ measure it."""
    code = (
        "import rlprof, timeit\n"
        "print(min(timeit.repeat(rlprof.step, number=100_000, repeat=5)) / 100_000)"
    )

    assert float(subprocess.check_output([sys.executable, "-c", code], timeout=60)) < 10e-6


def _checkout() -> str:
    from rlprof.agent import INJECT_DIR

    return str(INJECT_DIR.parent.parent.parent)
