"""A program that blocks, waits for or asks about signals finds none of the probe's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.live_processes import bare, told

BURN = """
import os, signal, sys

def burn(rounds=120_000):
    # Work, not time: some 100 ms of CPU time, in which the probe looks several times.
    for _ in range(rounds):
        sum(range(100))

burn()
"""

IN_TURN = (
    BURN
    + '''
import ctypes, inspect, pickle, subprocess, threading, traceback, _signal

ALL = signal.valid_signals()

def waits():
    """Again and again, for one that comes now and then comes seldom."""
    for _ in range(20):
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ALL)
        burn(4000)
        print(sorted(signal.sigpending()), signal.sigtimedwait(ALL, 0))
        os.kill(os.getpid(), signal.SIGUSR1)
        print(signal.sigwait(ALL) == signal.SIGUSR1)
        os.kill(os.getpid(), signal.SIGUSR2)
        print(signal.sigwaitinfo(ALL).si_signo == signal.SIGUSR2)
        print(sorted(map(int, signal.pthread_sigmask(signal.SIG_SETMASK, before))) == sorted(ALL))
        burn(4000)
        # What is not blocked may be waited for too.
        print(signal.sigtimedwait(ALL, 0.001))
    burn()

def alarmed_in(wait):
    """Call it, and be sent SIGALRM when it waits: nothing else here sleeps after the pipe."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(reading, 1)
        while open(f"/proc/{os.getppid()}/stat").read().rpartition(")")[2].split()[0] != "S":
            pass
        os.kill(os.getppid(), signal.SIGALRM)
        os._exit(0)
    burn(3000)
    os.write(writing, b"x")
    try:
        wait()
    finally:
        os.waitpid(child, 0)

def pauses():
    signal.signal(signal.SIGALRM, lambda *_: print("alarm", flush=True))
    for _ in range(5):
        alarmed_in(lambda: (signal.pause(), print("woken", flush=True)))

def reads_a_descriptor():
    signal.pthread_sigmask(signal.SIG_BLOCK, ALL)
    nonblocking = 0o4000
    mask = (ctypes.c_ubyte * 128)(*[255] * 128)
    descriptor = ctypes.CDLL(None).signalfd(-1, mask, nonblocking)
    burn()
    try:
        print(os.read(descriptor, 4096))
    except BlockingIOError:
        print("nothing")

def hands_its_mask_on():
    def in_thread():
        signal.pthread_sigmask(signal.SIG_BLOCK, ALL)
        in_child()

    def in_child():
        child = os.fork()
        if child == 0:
            burn()
            print(sorted(signal.sigpending()), signal.getsignal(signal.SIGURG), flush=True)
            os._exit(0)
        os.waitpid(child, 0)

    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    print(sorted(signal.sigpending()))
    signal.pthread_sigmask(signal.SIG_BLOCK, ALL)
    in_child()
    looks = "for _ in range(60_000): sum(range(100))\\nprint(signal.sigpending())"
    command = [sys.executable, "-c", "import signal\\n" + looks]
    subprocess.run(command, check=True)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ALL)
    signal.signal(signal.SIGURG, signal.SIG_IGN)
    subprocess.run([*command, "print(signal.getsignal(signal.SIGURG))"], check=True)

def looks():
    names = (
        "signal", "getsignal", "set_wakeup_fd", "pthread_sigmask", "pause", "sigwait",
        "sigwaitinfo", "sigtimedwait",
    )
    for name in names:
        for module in (signal, _signal):
            function = getattr(module, name)
            print(name, function.__doc__, function.__module__, hasattr(function, "none"))
            print(inspect.isbuiltin(function), pickle.loads(pickle.dumps(function)) is function)
            if inspect.isbuiltin(function):
                print(function)
            for ask in (inspect.signature, lambda function: function(1, 2, 3, 4),
                        lambda function: function(none=1), lambda function: function("none")):
                try:
                    print(ask(function))
                except Exception as error:
                    print(type(error), error)

def fails():
    """With tracebacks that are the program's alone."""
    def refused():
        for call in (lambda: signal.pthread_sigmask(99, ()), lambda: signal.sigwait([9999]),
                     lambda: signal.signal(9999, signal.SIG_DFL), lambda: signal.getsignal(9999),
                     lambda: signal.set_wakeup_fd(9999), lambda: signal.sigtimedwait([], -1)):
            try:
                call()
            except Exception:
                traceback.print_exc()

    class Told(Exception):
        pass

    def tell(*_):
        raise Told

    refused()
    thread = threading.Thread(target=refused)
    thread.start()
    thread.join()
    signal.signal(signal.SIGALRM, tell)
    for wait in (signal.pause, lambda: signal.sigwaitinfo([signal.SIGUSR1])):
        try:
            alarmed_in(wait)
        except Told:
            traceback.print_exc()
    signal.pthread_sigmask(signal.SIG_BLOCK, ALL)
    os.kill(os.getpid(), signal.SIGINT)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ALL)

def main():
    if len(sys.argv) > 1:
        return globals()[sys.argv[1]]()
    for name in NAMES:
        print(name, flush=True)
        print(subprocess.run([sys.executable, "-W", "ignore", __file__, name]).returncode, flush=True)

NAMES = ("waits", "pauses", "reads_a_descriptor", "hands_its_mask_on", "looks", "fails")
main()
'''
)


@pytest.fixture
def script(write):
    return write(IN_TURN)


def test_each_goes_as_without_rlprof(script, rlprof_run, each_python, tmp_path):
    def shown(text: str) -> list[str]:
        # Before Python 3.11 an error that is raised again keeps the traceback it had.
        lines = iter(text.splitlines())
        return [line for line in lines if "manners.py" not in line or not next(lines)]

    expected = shown(bare(each_python, script, cwd=tmp_path))

    result = rlprof_run("--", each_python, script)

    found = told(result.out, result.err)
    assert shown(found) == expected
    if each_python == Path(sys.executable):
        assert "manners.py" not in found
    # The probe was at work before and between.
    waits = result.started_with("waits")
    assert waits.probe_samples > 4
    assert "yielded" not in waits.note
    assert "blocks SIGURG" in result.started_with("reads_a_descriptor").note


def test_a_process_that_starts_with_it_blocked_has_a_probe_when_it_unblocks(write, rlprof_run):
    script = write(
        BURN
        + """
import subprocess
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])
code = '''
import signal
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGURG])
for _ in range(200_000):
    sum(range(100))
'''
subprocess.run([sys.executable, "-c", code], check=True)
"""
    )

    parent, child = rlprof_run(script).recording.processes

    assert "blocks SIGURG" in parent.note
    assert child.probe_samples > 2
    assert "yielded" not in child.note
