"""The probe yields where a program could notice it, and says so; results are as without rlprof."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.live_processes import DEADLINE_S, Result

BUSY = """
import os, signal, sys, time

def work(seconds=0.6):
    # Of CPU time: on a busy machine the probe looks no less often for it.
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))
"""


def assert_unchanged(result: Result, bare: subprocess.CompletedProcess[bytes]) -> None:
    assert (result.code, result.out, result.err.encode()) == (
        bare.returncode,
        bare.stdout,
        bare.stderr,
    )


def test_a_program_with_its_own_sigurg_handler(write, rlprof_run, bare_run):
    script = write(
        BUSY
        + """
caught = []
print(signal.getsignal(signal.SIGURG))
print(signal.signal(signal.SIGURG, lambda number, frame: caught.append(number)))
for _ in range(50):
    work(0.01)
    os.kill(os.getpid(), signal.SIGURG)
print(len(caught), signal.getsignal(signal.SIGURG).__name__)
"""
    )

    result = rlprof_run(script)

    assert_unchanged(result, bare_run(script))
    assert b"\n50 <lambda>" in result.out
    assert "handles SIGURG itself" in result.root.note


def test_a_wakeup_descriptor_gets_the_programs_bytes_and_no_others(write, rlprof_run, bare_run):
    script = write(
        BUSY
        + """
work(0.2)
reading, writing = os.pipe()
os.set_blocking(writing, False)
signal.signal(signal.SIGUSR1, lambda number, frame: None)
print(signal.set_wakeup_fd(writing))
for _ in range(40):
    work(0.01)
    os.kill(os.getpid(), signal.SIGUSR1)
print(signal.set_wakeup_fd(-1) == writing)
print(os.read(reading, 4096))
work(0.3)
"""
    )

    result = rlprof_run(script)

    assert_unchanged(result, bare_run(script))
    assert result.out.count(rb"\n") == 40
    assert result.root.probe_samples > 10  # Before and after, but not meanwhile.


def test_a_wakeup_descriptor_that_stays_is_told(write, rlprof_run):
    script = write(
        BUSY
        + """
reading, writing = os.pipe()
os.set_blocking(writing, False)
signal.set_wakeup_fd(writing)
if os.fork() == 0:
    work()
    os._exit(0)
work()
os.wait()
os.set_blocking(reading, False)
try:
    print(os.read(reading, 4096))
except BlockingIOError:
    print("nothing")
"""
    )

    result = rlprof_run(script)

    assert result.out == b"nothing\n"
    parent, child = result.recording.processes
    assert "wake-up descriptor" in parent.note
    assert "wake-up descriptor" in child.note


def test_a_bad_wakeup_descriptor_is_refused_as_ever(write, rlprof_run, bare_run):
    script = write(
        BUSY
        + """
try:
    signal.set_wakeup_fd(9999)
except (ValueError, OSError) as error:
    print(type(error).__name__, error)
work()
"""
    )

    result = rlprof_run(script)

    assert_unchanged(result, bare_run(script))
    assert result.root.probe_samples > 10
    assert result.root.note == ""


def test_a_look_a_frame_from_the_recursion_limit_raises_nothing(write, rlprof_run, each_python):
    script = write(
        """
        import os, signal, sys

        def descend(levels, signum):
            if levels:
                return descend(levels - 1, signum)
            os.kill(os.getpid(), signum)
            for number in range(100):
                number += number
            try:
                forever()
            except RecursionError:
                return "limited"

        def forever():
            forever()

        deepest = sys.getrecursionlimit() - 100
        while True:
            try:
                descend(deepest + 1, 0)
            except RecursionError:
                break
            deepest += 1
        print({descend(deepest - left, signal.SIGURG) for left in range(1, 50)})
        """
    )
    result = rlprof_run("--", each_python, script)

    assert (result.code, result.out, result.err) == (0, b"{'limited'}\n", "")


def test_recursion_to_the_limit_again_and_again(write, rlprof_run, bare_run):
    script = write(
        BUSY
        + """
def deepest(depth):
    try:
        return deepest(depth + 1)
    except RecursionError:
        return depth

end = time.thread_time() + 1.0
depths = []
while time.thread_time() < end:
    depths.append(deepest(0))
# A look that comes just where the last frame is taken takes that one (see "Limits").
print(max(depths), max(depths) - min(depths) < 2, depths.count(max(depths)) > 0.99 * len(depths))
"""
    )

    result = rlprof_run(script)

    assert_unchanged(result, bare_run(script))
    assert "recursion limit" in result.root.note


COUNTS_ITS_SIGNALS = (
    BUSY
    + """
count = 0

def caught(number, frame):
    global count
    count += 1

signal.signal(signal.SIGUSR1, caught)
# Each is awaited before the next is sent, for the kernel merges signals that pend.
print("ready", flush=True)
for expected in range(1, int(sys.argv[1]) + 1):
    os.kill(os.getpid(), signal.SIGUSR1)
    while count < expected:
        sum(range(10))
    end = time.monotonic() + 0.001
    while time.monotonic() < end:
        sum(range(100))
print(count)
"""
)


@pytest.mark.parametrize(
    "seconds", [2, pytest.param(60, marks=[pytest.mark.slow, pytest.mark.timeout(300)])]
)
def test_signals_at_a_kilohertz(write, start, seconds):
    running = start(write(COUNTS_ITS_SIGNALS), str(1000 * seconds))
    running.wait_line("ready")
    out, err = running.popen.communicate(timeout=DEADLINE_S + 4 * seconds)

    assert (running.popen.returncode, out, err) == (0, b"%d\n" % (1000 * seconds), b"")


def test_timers_of_the_program_fire_as_ever(write, rlprof_run):
    """An interval timer on CPU time, as other profilers use it."""
    script = write(
        BUSY
        + """
count = 0

def caught(number, frame):
    global count
    count += 1

signal.signal(signal.SIGPROF, caught)
signal.setitimer(signal.ITIMER_PROF, 0.01, 0.01)
while count < 50:
    sum(range(1000))
signal.setitimer(signal.ITIMER_PROF, 0)
print(count)
"""
    )

    result = rlprof_run(script)

    assert (result.code, result.out) == (0, b"50\n")
    assert result.root.note == ""


def test_waits_are_not_cut_short(write, rlprof_run):
    """No call of the program fails with EINTR, wakes early or reads less because of the probe."""
    script = write(
        BUSY
        + """
import select, socket, threading

left, right = socket.socketpair()

def sends():
    for _ in range(20):
        time.sleep(0.02)
        left.sendall(b"x" * 1000)

thread = threading.Thread(target=sends)
thread.start()
total = 0
for _ in range(20):
    work(0.011)
    total += len(right.recv(1000, socket.MSG_WAITALL))
thread.join()
before = time.monotonic()
work(0.02)
time.sleep(0.2)
select.select([], [], [], 0.2)
print(total, time.monotonic() - before >= 0.42)
"""
    )

    result = rlprof_run(script)

    assert result.out == b"20000 True\n"


@pytest.mark.parametrize("tool", ["sys.settrace(trace)", "sys.setprofile(trace)"])
def test_a_debugger_or_profiler_of_the_program_comes_first(write, rlprof_run, tool):
    script = write(
        BUSY
        + f"""
def trace(frame, event, argument):
    return trace

{tool}
work()
print("done")
"""
    )

    result = rlprof_run(script)

    assert result.out == b"done\n"
    assert "trace or profile function" in result.root.note


@pytest.mark.slow  # tests/e2e/test_counted_costs.py looks at the graphs of a shorter program.
def test_torch_compile_makes_the_same_graphs(write, rlprof_run, bare_run):
    pytest.importorskip("torch", reason="torch is not installed")
    script = write(
        BUSY
        + """
import torch
import torch._dynamo
from torch._dynamo.utils import counters

def step(x, k):
    for _ in range(3):
        x = torch.sin(x) * k
    return x.sum()

compiled = torch.compile(step, backend="eager")
total = 0.0
end = time.monotonic() + 1.0
for number in range(400):
    total += float(compiled(torch.ones(8 + number % 3), 1 + number % 2))
    work(0.001)
print(round(total, 3))
print(dict(counters["stats"]), dict(counters["graph_break"]), len(counters["recompiles"]))
"""
    )

    result = rlprof_run(script)

    assert (result.code, result.out) == (0, bare_run(script).stdout)
    assert result.root.probe_samples > 10


def test_a_forked_child_has_an_eye_of_its_own(write, rlprof_run):
    script = write(
        BUSY
        + """
def in_child():
    work(0.8)

if os.fork() == 0:
    in_child()
    os._exit(0)
os.wait()
"""
    )

    child = rlprof_run(script).process("fork")

    assert child.probe_samples > 10
    assert child.note == ""


def test_a_daemon_that_closes_all_descriptors_keeps_those_that_it_opens_then(
    write, rlprof_run, bare_run
):
    script = write(
        BUSY
        + """
os.closerange(3, 256)
files = [open(f"log-{number}", "w") for number in range(8)]
if os.fork() == 0:
    for file in files:
        file.write("child")
        file.close()
    work(0.3)
    os._exit(0)
os.wait()
for number in range(8):
    print(open(f"log-{number}").read())
"""
    )

    result = rlprof_run(script)

    assert_unchanged(result, bare_run(script))
    assert result.process("fork").probe_samples > 5


@pytest.mark.alone
def test_the_agent_is_quick_to_import():
    """Not a benchmark: ten times what it takes, so that only a heavy new import fails."""
    code = (
        "import sys, time; before = set(sys.modules); start = time.perf_counter()\n"
        "import rlprof_agent, rlprof_agent.manners, rlprof_agent.announce\n"
        "print(time.perf_counter() - start, len(set(sys.modules) - before))"
    )
    from rlprof.agent import INJECT_DIR

    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(INJECT_DIR)}
    seconds, modules = min(
        tuple(map(float, subprocess.check_output([sys.executable, "-c", code], env=env).split()))
        for _ in range(3)
    )

    assert seconds < 0.1
    # ctypes among them, with three of its own: the agent holds what it was before the program began.
    assert modules < 46


ENDED_BY_ALARMS = """\
import random
import signal

import torch

torch.set_num_threads(1)
rings = [0]


class Preempted(ValueError):
    pass


def ring(number, frame):
    rings[0] += 1
    raise Preempted


signal.signal(signal.SIGALRM, ring)
network = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
loss = network(torch.ones(8, 4)).sum()
loss.backward()
for _ in range(50):
    optimizer.step()
random.seed(2)
lost = 0
for work in (optimizer.step, loss.item):
    for _ in range(3_000):
        before = rings[0]
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0002, 0.0008))
            while rings[0] == before:
                work()
            lost += 1
        except Preempted:
            pass
print("lost", lost)
"""


def test_what_a_handler_raises_within_what_is_counted_arrives(write, rlprof_run):
    """Optimizer steps and reads of tensors, after which the agent's own lines come."""
    pytest.importorskip("torch")
    result = rlprof_run(write(ENDED_BY_ALARMS))

    assert (result.code, result.out) == (0, b"lost 0\n")
