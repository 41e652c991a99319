"""Every Python process of the run is listed: sampled, left out or missed, with why."""

from __future__ import annotations

import os
import sys

import pytest

from rlprof.agent.inject.rlprof_agent.layout import UNNAMED_FILE
from rlprof.model.recording import Process
from rlprof.recording.attaching import SHORT_LIVED
from rlprof.recording.census import NO_AGENT
from tests.live_processes import Result, is_alive, processes_with, wait_until

FATES = {"sampled", "probe-only", "missed", "left-out"}

WORK = """
import os, subprocess, sys, threading, time
import multiprocessing as mp

def work(seconds=0.6):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))
"""


def orphans(number: int) -> str:
    """A program whose children end at once, each with one of its own at work."""
    return (
        WORK
        + f"""
for _ in range({number}):
    if os.fork() == 0:
        if os.fork() == 0:
            work(0.1)
        os._exit(0)
for _ in range({number}):
    os.wait()
"""
    )


def explained(process: Process) -> bool:
    """Sampled, or with a reason why not."""
    return process.fate == "sampled" or bool(process.note)


def assert_all_are_explained(result: Result) -> None:
    assert {process.fate for process in result.recording.processes} <= FATES
    assert all(map(explained, result.recording.processes))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(write, rlprof_run, method):
    script = write(
        WORK
        + f"""
if __name__ == "__main__":
    context = mp.get_context("{method}")
    workers = [context.Process(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    work()
    for worker in workers:
        worker.join()
    print(*[worker.pid for worker in workers])
"""
    )

    result = rlprof_run(script)

    assert result.code == 0
    pids = {int(pid) for pid in result.out.split()}
    workers = [p for p in result.recording.processes if p.pid in pids]
    assert [p.start_method for p in workers] == [method] * 2
    assert [p.fate for p in workers] == ["sampled"] * 2
    assert all(p.ended_us is not None for p in (result.root, *workers))
    services = [p for p in result.recording.processes if p.pid not in {*pids, result.root.pid}]
    assert all(p.fate == "left-out" and "left out" in p.note for p in services)
    assert bool(services) == (method != "fork")


def test_what_cloudpickle_sends_is_at_the_file_that_it_was_written_in(write, rlprof_run):
    """Its code comes without the name of its file, as that of environments in workers of Stable-Baselines3."""
    pytest.importorskip("cloudpickle", reason="cloudpickle is missing (pip install cloudpickle)")
    script = write(
        WORK
        + """
import cloudpickle

def run(pickled):
    cloudpickle.loads(pickled)(3.0)

if __name__ == "__main__":
    worker = mp.get_context("spawn").Process(target=run, args=(cloudpickle.dumps(work),))
    worker.start()
    worker.join()
"""
    )

    recording = rlprof_run(script).recording

    nodes = recording.nodes
    time_us = recording.samples.us_by_node(len(nodes))
    by_file: dict[str, int] = {}
    for node, us in zip(nodes, time_us, strict=True):
        if node.frame.function == "work":
            by_file[node.frame.file] = by_file.get(node.frame.file, 0) + us
    # The first stacks come before anybody has told whose they are.
    assert by_file.get(UNNAMED_FILE, 0) < 0.5 * by_file[str(script)]


def test_a_process_pool(write, rlprof_run):
    script = write(
        WORK
        + """
from concurrent.futures import ProcessPoolExecutor

def task(number):
    work(0.3)
    return os.getpid()

if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        print(*set(pool.map(task, range(6))))
"""
    )

    result = rlprof_run(script)

    assert result.code == 0
    assert "task" in result.functions()
    fates = {p.pid: p.fate for p in result.recording.processes}
    assert [fates[int(pid)] for pid in result.out.split()] == ["sampled"] * 2
    assert_all_are_explained(result)


def test_two_programs_behind_a_shell(write, rlprof_run):
    write(WORK + "\ndef first():\n    work()\nfirst()\n", name="first.py")
    write(WORK + "\ndef second():\n    work()\nsecond()\n", name="second.py")
    script = write(
        """
        import subprocess, sys
        command = f"{sys.executable} first.py; {sys.executable} second.py"
        sys.exit(subprocess.run(command, shell=True).returncode)
        """
    )

    result = rlprof_run(script)

    assert result.code == 0
    scripts = {p.argv[-1]: p for p in result.recording.processes}
    assert scripts["first.py"].fate == scripts["second.py"].fate == "sampled"
    assert scripts["second.py"].start_method == "subprocess"
    assert {"first", "second"} <= result.functions()


def test_a_shell_as_the_command(write, rlprof_run):
    write(WORK + "work()\n", name="first.py")

    result = rlprof_run("--", "bash", "-c", f"{sys.executable} first.py; exit 12")

    assert result.code == 12
    (process,) = result.recording.processes
    assert process.argv[-1] == "first.py"
    assert process.fate == "sampled"


def test_a_daemon_that_forked_twice(write, rlprof_run):
    script = write(
        WORK
        + """
def daemon():
    work(0.8)

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        daemon()
    os._exit(0)
os.wait()
work(1.2)
"""
    )

    result = rlprof_run(script)

    processes = result.recording.processes
    assert len(processes) == 3
    assert "daemon" in result.functions()
    assert processes[2].fate == "sampled"
    assert processes[2].exit_code == 0  # Its orphan came to us.
    assert_all_are_explained(result)


def test_exec_begins_a_new_life_of_the_same_process(write, rlprof_run):
    write(WORK + "\ndef after():\n    work()\nafter()\nsys.exit(4)\n", name="after.py")
    script = write(
        WORK
        + "\ndef before():\n    work()\nbefore()\nos.execv(sys.executable, [sys.executable, 'after.py'])"
    )

    result = rlprof_run(script)

    assert result.code == 4
    first, second = result.recording.processes
    assert (first.start_method, second.start_method) == ("root", "exec")
    assert first.pid == second.pid
    assert first.fate == second.fate == "sampled"
    assert {"before", "after"} <= result.functions()
    assert second.exit_code == 4


@pytest.mark.alone
def test_threads_are_told_apart(write, rlprof_run):
    script = write(
        WORK
        + """
def background():
    work(0.8)

def waits(lock):
    lock.acquire()

lock = threading.Lock()
lock.acquire()
threads = [threading.Thread(target=background), threading.Thread(target=waits, args=(lock,))]
for thread in threads:
    thread.start()
work(0.8)
lock.release()
"""
    )

    recording = rlprof_run(script).recording

    assert len(recording.threads) == 3
    assert [thread.is_main for thread in recording.threads].count(True) == 1
    idle = dict.fromkeys(range(3), 0)
    wall = dict.fromkeys(range(3), 0)
    leaves: dict[int, set[str]] = {}
    for _, thread, node, wall_us, idle_us, _ in recording.samples.rows():
        idle[thread] += idle_us
        wall[thread] += wall_us
        while node >= 0:
            leaves.setdefault(thread, set()).add(recording.nodes[node].frame.function)
            node = recording.nodes[node].parent
    (waiting,) = [thread for thread, names in leaves.items() if "waits" in names]
    assert idle[waiting] > 0.9 * wall[waiting]
    assert any("background" in names for names in leaves.values())


@pytest.mark.alone
def test_two_hundred_short_processes(write, rlprof_run):
    script = write(
        WORK
        + """
def work_on_a_cpu():
    # Five looks of the probe, however many programs share the machine.
    while time.process_time() < 0.05:
        sum(range(1000))

if __name__ == "__main__":
    pids = []
    for batch in range(50):
        workers = [mp.get_context("fork").Process(target=work_on_a_cpu) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        pids += [worker.pid for worker in workers]
    print(*pids)
"""
    )

    result = rlprof_run(script, "mark-of-this-test-5507")

    assert result.code == 0
    listed = {process.pid: process for process in result.recording.processes}
    workers = [listed[int(pid)] for pid in result.out.split()]
    assert len(workers) == 200
    assert all(map(explained, workers))
    # Once they are known to live so shortly, samplers are not started for them: the probe sees them.
    seen = [worker for worker in workers if worker.fate in ("sampled", "probe-only")]
    assert len(seen) > 100
    assert any(SHORT_LIVED in worker.note for worker in workers)
    assert processes_with("mark-of-this-test-5507") == []


def test_a_left_over_process_is_not_waited_for(write, start, tmp_path):
    """As without rlprof: the shell has its prompt when the target has ended."""
    script = write(
        WORK
        + """
child = os.fork()
if child:
    print(child, flush=True)
    work(0.3)
    sys.exit(2)
while not os.path.exists("go"):
    time.sleep(0.01)
"""
    )

    running = start(script)
    pid = int(running.wait_line(""))
    assert running.popen.wait(timeout=60) == 2

    assert is_alive(pid)
    (tmp_path / "go").touch()
    wait_until(lambda: not is_alive(pid), "the child ends by itself")


def test_a_training_that_goes_on_in_the_background_is_told(write, rlprof_run):
    script = write(
        WORK
        + """
work(0.3)
if os.fork():
    os._exit(0)
os.setsid()
work(3)
"""
    )

    result = rlprof_run(script)

    assert "went-on-after-the-end" in result.note_slugs


def test_workers_that_end_with_the_program_are_not_told(write, rlprof_run):
    script = write(
        """
        import multiprocessing
        import time

        if __name__ == "__main__":
            context = multiprocessing.get_context("forkserver")
            for _ in range(2):
                context.Process(target=time.sleep, args=(60,), daemon=True).start()
            time.sleep(1)
        """
    )

    assert "went-on-after-the-end" not in rlprof_run(script).note_slugs


def test_no_zombies_are_left_to_the_target(write, rlprof_run):
    """Its own children are its own to wait for; ours and the orphans are ours."""
    script = write(
        orphans(5)
        + """
work(0.6)
ours = os.getppid()
for name in os.listdir("/proc"):
    if name.isdigit():
        try:
            state, parent = open(f"/proc/{name}/stat").read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state == "Z" and int(parent) in (ours, os.getpid()):
            print("zombie", name)
"""
    )

    result = rlprof_run(script)

    assert result.out == b""
    assert len(result.recording.processes) == 11


def test_many_that_start_at_once_are_each_counted_once(write, rlprof_run):
    """Most have ended before their agents are listened to."""
    script = write(orphans(25) + "work(1.5)\n")

    processes = rlprof_run(script).recording.processes

    assert len({process.pid for process in processes}) == len(processes) == 51
    assert not any(NO_AGENT in process.note for process in processes)


LOSES_THE_AGENT = (
    WORK
    + """
def child(*options, **keywords):
    return subprocess.run([sys.executable, *options, "child.py"], **keywords).returncode

sys.exit(child({arguments}))
"""
)


@pytest.mark.parametrize("arguments", ["'-S', '-E'", "env={}"], ids=["-S -E", "no env"])
def test_a_process_without_the_agent_is_found_by_the_scan(write, rlprof_run, arguments):
    write(WORK + "\ndef alone():\n    work(1.5)\nalone()\nsys.exit(8)\n", name="child.py")
    script = write(LOSES_THE_AGENT.replace("{arguments}", arguments))

    result = rlprof_run(script)

    assert result.code == 8
    child = result.recording.processes[1]
    assert child.argv[-1] == "child.py"
    assert child.fate == "sampled"
    assert child.probe_samples == 0
    assert "without the agent" in child.note
    assert "alone" in result.functions()


def test_a_short_process_without_the_agent_is_listed_when_the_scan_saw_it(write, rlprof_run):
    write(WORK + "work(0.3)\n", name="child.py")
    script = write(LOSES_THE_AGENT.replace("{arguments}", "'-E'"))

    result = rlprof_run(script)

    processes = result.recording.processes
    assert len(processes) == 2
    assert processes[1].argv[-1] == "child.py"
    assert explained(processes[1])


def test_a_program_that_is_not_python_is_not_listed(write, rlprof_run):
    script = write(
        "import subprocess\nfor _ in range(30): subprocess.run(['sleep', '0.03'], check=True)\n"
    )

    result = rlprof_run(script)

    assert [process.pid for process in result.recording.processes] == [result.root.pid]


def test_the_environment_of_the_target_is_its_own(write, rlprof_run):
    """But for our variables and folder, which its children need too."""
    script = write(
        """
        import os, sys
        ours = {"PYTHONPATH", *(name for name in os.environ if name.startswith("RLPROF_"))}
        print(sorted(set(os.environ) - ours))
        print([entry for entry in sys.path if "inject" not in entry])
        """
    )
    result = rlprof_run(script, env={"PYTHONPATH": "/their/folder"})
    names, path = result.out.decode().splitlines()

    assert "/their/folder" in path
    assert names == str(sorted(set(os.environ) - {"PYTHONPATH"}))
