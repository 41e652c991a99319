"""Signals reach the target once, and a terminal's job control works as without rlprof."""

from __future__ import annotations

import os
import resource
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rlprof.recording.machine.procfs import has_signal
from rlprof.runfile.reader import read_run
from tests.live_processes import (
    DEADLINE_S,
    Terminal,
    children_named,
    children_with,
    cli,
    is_alive,
    wait_until,
)

COUNTS_SIGNALS = """
    import signal, sys, time

    caught = []
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"):
        signal.signal(getattr(signal, name), lambda number, frame: caught.append(number))
    print("ready", flush=True)
    while not caught:
        time.sleep(0.005)
    end = time.monotonic() + 0.3  # Time for a second one, if there were any.
    while time.monotonic() < end:
        time.sleep(0.005)
    print("caught", [signal.Signals(number).name for number in caught], flush=True)
    sys.exit(9)
"""

CLEANS_UP = """
    import time

    try:
        print("ready", flush=True)
        while True:
            sum(range(1000))
    except KeyboardInterrupt:
        print("cleaned up", flush=True)
        raise
"""


def test_a_signal_to_rlprof_and_then_to_its_group_counts_once(write, start):
    """As ``timeout`` sends it."""
    running = start(write(COUNTS_SIGNALS), start_new_session=True)
    running.wait_line("ready")

    os.kill(running.pid, signal.SIGTERM)
    os.killpg(running.pid, signal.SIGTERM)

    assert "caught ['SIGTERM']" in running.finish().out.decode()


COUNTS_ALL = """
    import os, signal, sys, time

    caught = []
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    for number in map(int, sys.argv[1:]):
        signal.signal(number, lambda number, frame: caught.append(number))
    print("ready", *mask, flush=True)
    while len(caught) < len(sys.argv) - 1:
        time.sleep(0.005)
    end = time.monotonic() + 0.3  # Time for a second one, if there were any.
    while time.monotonic() < end:
        time.sleep(0.005)
    print("caught", *sorted(caught), flush=True)
    sys.exit(9)
"""

ENDING = sorted(
    signal.valid_signals()
    - {signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
    - {signal.SIGCHLD, signal.SIGCONT, signal.SIGWINCH, signal.SIGURG}
)
"""All that end who does not catch them."""


SENT_BY_PEOPLE = [signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGTERM]


def test_signals_to_rlprof_reach_the_target_once_each(write, start):
    running = start(write(COUNTS_ALL), *map(str, map(int, SENT_BY_PEOPLE)))
    running.wait_line("ready")

    for signum in SENT_BY_PEOPLE:
        os.kill(running.pid, signum)
    result = running.finish()

    assert result.out == b"caught 1 2 10 15\n"
    assert result.code == 9
    assert result.recording.run.complete


def test_every_signal_to_the_group_is_the_targets_to_catch(write, start):
    numbers = [str(int(signum)) for signum in ENDING]
    running = start(write(COUNTS_ALL), *numbers, start_new_session=True)
    assert running.wait_line("ready") == "ready"  # None of them is blocked.

    for signum in ENDING:
        os.killpg(running.pid, signum)
    result = running.finish()

    assert result.out.decode() == f"caught {' '.join(numbers)}\n"
    assert result.code == 9
    assert result.recording.run.complete


@pytest.mark.parametrize("signum", [signal.SIGXCPU, signal.SIGBUS, signal.SIGRTMIN])
def test_rlprof_ends_by_the_signal_to_the_group_that_ended_its_target(write, start, signum):
    script = write("import time\nprint('ready', flush=True)\ntime.sleep(60)\n")
    running = start(script, start_new_session=True)
    running.wait_line("ready")

    os.killpg(running.pid, signum)
    result = running.finish()

    assert running.popen.returncode == -signum
    assert result.recording.run.complete


COUNTS_HANG_UPS = """
    import signal, time
    from pathlib import Path

    heard = []
    signal.signal(signal.SIGHUP, lambda *_: heard.append(time.monotonic()))
    print("ready", flush=True)
    while not heard or time.monotonic() < heard[0] + 1:
        time.sleep(0.005)
    Path("half").write_text(str(len(heard)))
    Path("half").rename("log")
"""


@pytest.mark.parametrize(
    ("starter", "times"), [("a-shell", 2), ("a-shell-that-ignores-it", 2), ("nobody", 1)]
)
def test_a_terminal_that_closes_hangs_the_target_up_as_without_us(
    write, terminal, tmp_path, starter, times
):
    """A shell tells its jobs, and once it has ended the kernel tells the foreground: twice, or once if it ends at once."""
    words = cli("run", "--no-report", write(COUNTS_HANG_UPS))
    typed = {
        "a-shell": f"{shlex.join(words)}; echo after",
        "a-shell-that-ignores-it": f"(trap '' HUP; exec {shlex.join(words)}); echo after",
    }
    shell = ["bash", "--norc", "-ic", typed.get(starter, "")]
    session = terminal(words if starter == "nobody" else shell)
    session.read_until(b"ready\r\n")  # Cut off in the middle of it, the print would fail.

    session.hang_up()

    log = tmp_path / "log"
    wait_until(log.exists, "the end of the training")
    assert 1 <= int(log.read_text()) <= times


def test_a_soft_limit_on_cpu_time_is_the_targets_alone(write, tmp_path):
    script = write(
        """\
        import os, resource
        print(resource.getrlimit(resource.RLIMIT_CPU)[0])
        limits = open(f"/proc/{os.getppid()}/limits").read().splitlines()
        print(*(line.split()[3] for line in limits if line.startswith("Max cpu time")))
        """
    )
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)

    answer = subprocess.run(
        cli("run", "--no-report", "-o", tmp_path / "run.rlprof", script),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (1000, hard)),
        capture_output=True,
        timeout=DEADLINE_S,
        check=True,
    )

    unlimited = "unlimited" if hard == resource.RLIM_INFINITY else str(hard)
    assert answer.stdout.decode().split() == ["1000", unlimited]


def test_a_fault_that_somebody_sends_to_rlprof_alone_ends_nobody(write, start):
    running = start(write(COUNTS_SIGNALS))
    running.wait_line("ready")

    os.kill(running.pid, signal.SIGBUS)
    os.kill(running.pid, signal.SIGUSR1)

    assert running.finish().code == 9


WITH_A_WORKER = """
    import os, subprocess, sys, time

    worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    print("ready", worker.pid, os.getpid(), flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_a_signal_to_the_group_of_the_job_reaches_its_workers(write, start, name):
    running = start(write(WITH_A_WORKER), start_new_session=True)
    _, worker, target = running.wait_line("ready").split()

    os.killpg(running.pid, getattr(signal, name))

    for pid in (int(worker), int(target), running.pid):
        wait_until(lambda pid=pid: not is_alive(pid), f"the end of {pid}")


def test_a_signal_to_rlprof_alone_is_for_the_main_process_alone(write, start):
    running = start(write(WITH_A_WORKER), start_new_session=True)
    _, worker, target = running.wait_line("ready").split()

    os.kill(running.pid, signal.SIGTERM)

    wait_until(lambda: not is_alive(int(target)), "the end of the main process")
    assert is_alive(int(worker))
    os.kill(int(worker), signal.SIGKILL)


def test_rlprof_dies_of_the_signal_that_ended_its_target_and_says_so(write, start):
    running = start(write("import time\nprint('ready', flush=True)\ntime.sleep(60)\n"))
    running.wait_line("ready")

    os.kill(running.pid, signal.SIGTERM)
    result = running.finish()

    assert running.popen.returncode == -signal.SIGTERM
    assert result.recording.run.complete


IGNORING = ("sh", "-c", 'trap "" HUP INT QUIT TERM USR1; exec "$@"', "sh")
"""``nohup`` and a shell's background jobs work that way."""


@pytest.mark.parametrize("send", [os.kill, os.killpg])
def test_ignored_signals_reach_a_target_that_has_handlers_by_then(write, start, send):
    numbers = map(str, map(int, SENT_BY_PEOPLE))
    running = start(write(COUNTS_ALL), *numbers, prefix=IGNORING, start_new_session=True)
    running.wait_line("ready")

    for signum in SENT_BY_PEOPLE:
        send(running.pid, signum)
    result = running.finish()

    assert result.out == b"caught 1 2 10 15\n"
    assert result.code == 9


def test_an_ignored_signal_ends_neither_recorder_nor_sampler(write, start):
    script = write("import sys\nprint('ready', flush=True)\nsys.stdin.read()\nsys.exit(8)")
    running = start(script, prefix=IGNORING, stdin=subprocess.PIPE)
    running.wait_line("ready")
    wait_until(lambda: children_named(running.pid, "austin"), "a sampler")
    samplers = children_named(running.pid, "austin")

    for pid in (running.pid, *samplers):
        for signum in (signal.SIGHUP, signal.SIGQUIT):
            os.kill(pid, signum)
    os.kill(running.pid, signal.SIGTERM)

    wait_until(
        lambda: not has_signal(running.pid, signal.SIGTERM, b"ShdPnd"), "rlprof has the signals"
    )
    assert children_named(running.pid, "austin") == samplers
    assert running.finish().code == 8


def test_ctrl_c_on_a_terminal_interrupts_the_target_once(write, terminal, tmp_path):
    run_file = tmp_path / "run.rlprof"
    session: Terminal = terminal(cli("run", "-o", run_file, write(CLEANS_UP)))
    session.read_until(b"ready")

    session.type(b"\x03")
    code = session.finish()

    shown = session.shown.decode()
    # The report may quote the line that prints it.
    assert shown.count("cleaned up\r\n") == 1
    assert shown.count("Traceback") == 1
    assert "KeyboardInterrupt" in shown
    assert code == 130
    assert run_file.exists()
    # The report comes after the target's last words.
    assert shown.index("cleaned up") < shown.rindex("train.py")


ENDS_AS_CLICK_DOES = """
import sys, time
try:
    print("ready", flush=True)
    while True:
        sum(range(10_000))
except KeyboardInterrupt:
    print("Aborted!", flush=True)
    sys.exit(1)
"""


def test_what_ctrl_c_has_ended_is_told_as_no_crash(write, terminal, tmp_path):
    """The terminal's signal goes to the target alone, which does not die of it."""
    run_file = tmp_path / "run.rlprof"
    session: Terminal = terminal(cli("run", "-o", run_file, write(ENDS_AS_CLICK_DOES)))
    session.read_until(b"ready")

    session.type(b"\x03")
    code = session.finish()

    assert code == 1
    run = read_run(run_file).run
    assert run.exit_code == 1
    assert run.told_to_end_us is not None
    assert b"crash" not in session.shown.rpartition(b"Aborted!")[2].lower()


ENDS_ITS_GROUP = """
import os, signal
os.killpg(0, signal.SIGKILL)
"""


def test_a_program_that_kills_its_group_on_a_terminal_is_recorded(write, terminal, tmp_path):
    run_file = tmp_path / "run.rlprof"
    session: Terminal = terminal(cli("run", "-o", run_file, write(ENDS_ITS_GROUP)))

    assert session.finish() == 128 + signal.SIGKILL
    run = read_run(run_file).run
    assert run.complete
    assert run.told_to_end_us is None


INTERRUPTED_AT_AN_IMPORT = """
import os, signal, sys

class Finder:
    def find_spec(self, name, *_):
        if name == "sqlite3":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
"""


def test_ctrl_c_while_rlprof_starts_ends_it_as_it_would_the_target(write, start, tmp_path):
    """A shell's loop stops at a death by SIGINT, and goes on at any code."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(INTERRUPTED_AT_AN_IMPORT)
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])

    running = start(write("print('ran')"), env={"PYTHONPATH": path})
    out, err = running.popen.communicate(timeout=DEADLINE_S)

    assert (running.popen.returncode, out, err) == (-signal.SIGINT, b"", b"")


def test_ctrl_c_ends_a_sweep_and_not_only_its_first_run(write, terminal, tmp_path):
    command = " ".join(map(str, cli("run", "--no-report", write(CLEANS_UP))))
    sweep = tmp_path / "sweep.sh"
    sweep.write_text(f"for seed in 1 2 3; do {command}; echo next; done; echo over\n")
    session: Terminal = terminal(["bash", str(sweep)])
    session.read_until(b"ready")

    session.type(b"\x03")
    code = session.finish()

    assert session.shown.count(b"cleaned up\r\n") == 1
    assert b"next" not in session.shown
    assert b"over" not in session.shown
    assert code in (-signal.SIGINT, 128 + signal.SIGINT)


SHELL_JOB = """
set -m
{rlprof}
echo "stopped: $?"
read go
fg
echo "back: $?"
"""


@pytest.mark.parametrize("redirected", ["", "2>/dev/null"])
def test_ctrl_z_stops_rlprof_with_its_target_and_fg_goes_on(write, terminal, tmp_path, redirected):
    script = write(
        """
        import sys, time
        print("ready", flush=True)
        print("got", sys.stdin.readline().strip(), flush=True)
        sys.exit(6)
        """
    )
    shell_script = tmp_path / "session.sh"
    command = " ".join(cli("run", "--no-report", "-o", tmp_path / "run.rlprof", script))
    shell_script.write_text(SHELL_JOB.format(rlprof=f"{command} {redirected}"))
    session: Terminal = terminal(["bash", str(shell_script)])
    session.read_until(b"ready")

    session.type(b"\x1a")
    session.read_until(b"stopped: 148")  # 128 + SIGTSTP: the shell has its prompt again.
    session.type(b"go\n")
    session.read_until(b"train.py")  # fg names the job that it continues.
    session.type(b"hello\n")
    session.read_until(b"back: 6")

    assert b"got hello" in session.shown
    session.finish()


READS_WHEN_TOLD = """
    import os, signal, sys, time
    signal.signal(signal.SIGCONT, lambda *_: open("continued", "w").close())
    print("ready", flush=True)
    while not os.path.exists("go"):
        time.sleep(0.01)
    print("got", sys.stdin.readline().strip(), flush=True)
    sys.exit(6)
"""

BACKGROUND_JOB = """
set -m
{rlprof}
bg
{meanwhile}
fg
echo "back: $?"
"""


def _stopped_and_in_background(terminal, tmp_path, script, meanwhile: str) -> Terminal:
    shell_script = tmp_path / "session.sh"
    command = " ".join(cli("run", "--no-report", "-o", tmp_path / "run.rlprof", script))
    shell_script.write_text(BACKGROUND_JOB.format(rlprof=command, meanwhile=meanwhile))
    session: Terminal = terminal(["bash", str(shell_script)])
    session.read_until(b"ready")
    session.type(b"\x1a")
    return session


def test_a_job_that_runs_has_the_terminal_again_after_fg(write, terminal, tmp_path):
    """The shell continues nobody that it believes to run."""
    runs = "until [ -e continued ]; do sleep 0.01; done; echo in background"
    session = _stopped_and_in_background(terminal, tmp_path, write(READS_WHEN_TOLD), runs)
    (rlprof,) = children_with(session.pid, "rlprof")
    session.read_until(b"in background")
    wait_until(lambda: os.tcgetpgrp(session.fd) == rlprof, "the job is in the foreground")

    (tmp_path / "go").touch()
    session.type(b"hello\n")

    session.read_until(b"back: 6")
    assert b"got hello" in session.shown
    session.finish()


def test_a_job_that_reads_in_the_background_is_stopped_for_the_shell_too(write, terminal, tmp_path):
    is_stopped = 'until [ -n "$(jobs -s)" ]; do sleep 0.01; done; echo stopped; read go'
    session = _stopped_and_in_background(terminal, tmp_path, write(READS_WHEN_TOLD), is_stopped)

    (tmp_path / "go").touch()
    session.read_until(b"stopped\r\n")
    session.type(b"go\n")
    session.read_until(b"train.py")  # fg names the job that it continues.
    session.type(b"hello\n")

    session.read_until(b"back: 6")
    assert b"got hello" in session.shown
    session.finish()


def test_ctrl_z_without_a_shell_stops_nobody(write, terminal, tmp_path):
    """As in ``ssh -t`` or a container: nobody is there to continue what it would stop."""
    script = write("print('ready', flush=True)\nprint('got', input(), flush=True)")
    run_file = tmp_path / "run.rlprof"
    session: Terminal = terminal(cli("run", "--no-report", "-o", run_file, script))
    session.read_until(b"ready")

    session.type(b"\x1a")
    session.type(b"hello\n")

    assert session.finish() == 0
    assert b"got hello" in session.shown


def test_the_terminal_belongs_to_the_shell_again_after_the_run(write, terminal, tmp_path):
    script = write("print('trained', flush=True)")
    command = " ".join(cli("run", "--no-report", "-o", tmp_path / "run.rlprof", script))
    shell_script = tmp_path / "session.sh"
    shell_script.write_text(f'set -m\n{command}\nread line\necho "read $line"\n')
    session: Terminal = terminal(["bash", str(shell_script)])
    session.read_until(b"trained")

    session.type(b"hello\n")
    session.read_until(b"read hello")

    assert session.finish() == 0


def test_a_stopped_target_in_the_background_can_be_continued(write, start):
    running = start(
        write(
            """
            import os, time
            print("pid", os.getpid(), flush=True)
            end = time.monotonic() + 1.0
            while time.monotonic() < end:
                sum(range(1000))
            """
        )
    )
    pid = int(running.wait_line("pid").split()[1])

    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: _state(pid) == "T", "the target is stopped")
    os.kill(pid, signal.SIGCONT)

    assert running.finish().code == 0
    assert not is_alive(pid)


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_in_a_pipeline_ctrl_c_reaches_the_target_once(write, terminal, tmp_path):
    """The target stays in the pipeline's group, where a pager would keep the keyboard."""
    run_file = tmp_path / "run.rlprof"
    command = " ".join(map(str, cli("run", "--no-report", "-o", run_file, write(COUNTS_SIGNALS))))
    session: Terminal = terminal(["sh", "-c", f"trap : INT; {command} | (trap '' INT; cat)"])
    session.read_until(b"ready")

    session.type(b"\x03")
    session.finish()

    assert b"caught ['SIGINT']" in session.shown
    assert read_run(run_file).run.complete


SETS_AN_ALARM = """
    import os, signal, sys

    signal.alarm(60)
    os.execv(sys.argv[1], sys.argv[1:])
"""
HAS_AN_ALARM = """
    import signal

    print(0 < signal.alarm(0) <= 60, signal.getitimer(signal.ITIMER_REAL)[0])
"""


def test_an_alarm_of_the_launcher_is_the_programs(write, tmp_path):
    launcher = write(SETS_AN_ALARM, "launcher.py")
    words = cli("run", "--no-report", "-o", tmp_path / "run.rlprof", write(HAS_AN_ALARM))

    answer = subprocess.run(
        [sys.executable, launcher, *words],
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )

    assert (answer.returncode, answer.stdout) == (0, b"True 0.0\n")
