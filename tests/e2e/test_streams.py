"""Input, output and what the target sees of them are unchanged, byte for byte."""

from __future__ import annotations

import fcntl
import hashlib
import inspect
import os
import shlex
import signal
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest

from rlprof.runfile.reader import read_run
from tests.live_processes import DEADLINE_S, Terminal, cli, processes_with, wait_until

STEPS = r"--sps-pattern=steps=(?P<steps>\d+)"
WITH_AND_WITHOUT_PATTERN = pytest.mark.parametrize("options", [[], [STEPS]], ids=["", "pattern"])

ECHOES = """
    import sys
    data = sys.stdin.buffer.read()
    sys.stdout.buffer.write(data[::-1])
    sys.stderr.buffer.write(b"\\xff\\x00err")
"""

SHOWS_TERMINALS = """
    import os, sys
    print([stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)])
    try:
        print("size", tuple(os.get_terminal_size()))
    except OSError:
        print("no size")
    print("encoding", sys.stdout.encoding, "buffered by line", sys.stdout.line_buffering)
"""


def _fill(pipe: int) -> None:
    os.set_blocking(pipe, False)
    try:
        while os.write(pipe, b"x" * 512):
            pass
    except BlockingIOError:
        os.set_blocking(pipe, True)


MEGABYTES = 100
PRINTS_MUCH = f"""
    import os
    block = bytes(range(256)) * 4096
    for number in range({MEGABYTES}):
        sent = memoryview(block)
        while sent:
            sent = sent[os.write(1, sent):]
"""


@WITH_AND_WITHOUT_PATTERN
def test_binary_input_and_output_pass_through(write, start, options):
    running = start(write(ECHOES), options=options, stdin=subprocess.PIPE)
    data = bytes(range(256)) * 300

    out, err = running.popen.communicate(data, timeout=60)

    assert out == data[::-1]
    assert err == b"\xff\x00err"


@WITH_AND_WITHOUT_PATTERN
def test_a_hundred_megabytes_arrive_whole(write, start, options):
    running = start(write(PRINTS_MUCH), options=options)
    expected = hashlib.sha256(bytes(range(256)) * 4096 * MEGABYTES).hexdigest()

    seen = hashlib.sha256()
    for block in iter(lambda: running.popen.stdout.read(1 << 20), b""):
        seen.update(block)

    assert seen.hexdigest() == expected
    assert running.finish().code == 0


@WITH_AND_WITHOUT_PATTERN
def test_pipes_look_like_pipes(write, rlprof_run, bare_run, options):
    script = write(SHOWS_TERMINALS)

    result = rlprof_run(script, options=options)

    assert result.out == bare_run(script).stdout
    assert b"[False, False, False]" in result.out


@WITH_AND_WITHOUT_PATTERN
def test_a_terminal_looks_like_a_terminal(write, terminal, tmp_path, options):
    script = write(SHOWS_TERMINALS)
    run = cli("run", "--no-report", "-o", tmp_path / "run.rlprof", *options, script)
    session: Terminal = terminal(run)
    bare: Terminal = terminal([sys.executable, str(script)])

    assert session.finish() == bare.finish() == 0

    assert b"[True, True, True]" in session.shown
    assert session.shown == bare.shown


@WITH_AND_WITHOUT_PATTERN
def test_a_program_is_told_of_its_window_s_new_size(write, terminal, tmp_path, options):
    script = write(
        """
        import os, signal, sys, time

        def resized(number, frame):
            if os.get_terminal_size(1) == os.get_terminal_size(2) == (132, 43):
                print("resized")
                sys.exit(7)

        signal.signal(signal.SIGWINCH, resized)
        print("ready", flush=True)
        time.sleep(20)
        """
    )
    run = cli("run", "--no-report", "-o", tmp_path / "run.rlprof", *options, script)
    session: Terminal = terminal(run)
    session.read_until(b"ready")

    fcntl.ioctl(session.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 43, 132, 0, 0))

    session.read_until(b"resized")
    assert session.finish() == 7


@WITH_AND_WITHOUT_PATTERN
def test_a_progress_bar_is_drawn_as_without_rlprof(write, terminal, tmp_path, options):
    script = write(
        r"""
        import sys, time
        for step in range(30):
            sys.stderr.write(f"\r\x1b[2K{step}%|{'#' * step}\x1b[K")
            sys.stderr.flush()
            time.sleep(0.005)
        sys.stderr.write("\n")
        """
    )
    run = cli("run", "--no-report", "-o", tmp_path / "run.rlprof", *options, script)
    session: Terminal = terminal(run)
    bare: Terminal = terminal([sys.executable, str(script)])

    session.finish()
    bare.finish()

    assert session.shown == bare.shown


@pytest.mark.parametrize(
    ("options", "job"),
    [((), "> out.txt & wait $!"), (("--sps-pattern", "SPS: (.*)"), "")],
    ids=["background", "foreground"],
)
def test_a_terminal_that_stops_background_output_stops_no_training_for_ours(
    write, terminal, tmp_path, options, job
):
    """In the foreground the program has the terminal, and rlprof writes from behind it."""
    script = write("print('SPS: 4500')")
    run = shlex.join(cli("run", "-o", tmp_path / "run.rlprof", *options, script))
    session: Terminal = terminal(
        ["bash", "--norc", "-ic", f"stty tostop; {run} {job}; echo code $?; kill -KILL %1"]
    )

    session.finish()

    assert b"code 0\r\n" in session.shown


def test_nothing_is_added_to_the_output_when_it_is_no_terminal(write, rlprof_run):
    script = write("import sys; print('out'); print('err', file=sys.stderr)")

    result = rlprof_run(script)

    assert (result.out, result.err) == (b"out\n", "err\n")


def test_the_report_goes_to_stderr_and_leaves_stdout_alone(write, rlprof_run):
    script = write("end = 0\nfor i in range(3_000_000): end += i\nprint('the answer')")

    result = rlprof_run(script, report=True)

    assert result.out == b"the answer\n"
    assert "train.py" in result.err


def test_a_full_disk_does_not_end_a_target_that_is_read_along_with(write, tmp_path):
    # More than a pipe holds: where nobody read it any more, the script would hear of that.
    prints = "n=0; while [ $n -lt 20000 ]; do n=$((n + 1)); echo steps=$n; done"
    script = write(f"{prints}; echo trained > result", "train.sh")
    run_file = tmp_path / "run.rlprof"
    command = cli("run", "-o", run_file, STEPS, "--", "sh", script)

    with Path("/dev/full").open("wb") as full:
        result = subprocess.run(
            command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )

    assert result.returncode == 0, result.stderr
    assert (tmp_path / "result").read_text() == "trained\n"
    (note,) = [note for note in read_run(run_file).notes if note.slug == "output-not-written"]
    assert "of the program's output are missing: stdout" in note.text


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("fps | 4500", ["--sps-pattern found nothing in what the program printed."]),
        ("SPS: 1.234,5", ["--sps-pattern found '1.234,5', which is no number that counts"]),
        ("SPS: 4500", []),
    ],
)
def test_a_pattern_that_finds_no_number_is_told(write, rlprof_run, printed, told):
    script = write(f"print({printed!r})")

    result = rlprof_run(script, options=["--sps-pattern", r"SPS: (\S+)"])

    notes = [note for note in result.recording.notes if note.slug == "sps-pattern-found-nothing"]
    assert [note.text.partition(":")[0] for note in notes] == told


@pytest.mark.parametrize("place", ["run.rlprof", "/proc/run.rlprof"], ids=["", "not-recorded"])
def test_a_training_starts_though_nobody_reads_a_full_stderr(write, tmp_path, place):
    reading, writing = os.pipe()
    _fill(writing)
    script = write("print('trained')")

    done = subprocess.run(
        cli("run", "-o", place, script),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=writing,
        timeout=DEADLINE_S,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, b"trained\n")
    for fd in (reading, writing):
        os.close(fd)


def test_a_report_that_nobody_reads_holds_up_nobody(write, start):
    running = start(
        write(f"import os\n{inspect.getsource(_fill)}\n_fill(2)\nprint('trained', flush=True)"),
        report=True,
    )
    running.wait_line("trained")

    assert running.popen.wait(DEADLINE_S) == 0
    assert set(running.popen.stderr.read().partition(b"\n")[2]) == {ord("x")}


def test_a_stderr_that_takes_nothing_is_the_programs_all_the_same(write, tmp_path):
    script = write("import os; print(os.readlink('/proc/self/fd/2'))")

    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            cli("run", "-o", "run.rlprof", script),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=full,
            timeout=DEADLINE_S,
            check=True,
        )

    assert done.stdout == b"/dev/full\n"


def test_a_reader_that_goes_away_is_felt_by_the_target(write, start):
    """As in ``rlprof run … | head``: also with a pattern, where we stand in between."""
    script = write(
        """
        import sys
        try:
            while True:
                print("line", flush=True)
        except BrokenPipeError:
            sys.stdout = None
            sys.exit(11)
        """
    )
    for options in ([], [STEPS]):
        running = start(script, options=options)
        running.wait_line("line")
        running.popen.stdout.close()

        assert running.popen.wait(timeout=60) == 11


def test_the_target_has_the_descriptors_that_it_has_without_rlprof(write, rlprof_run, bare_run):
    script = write(
        """
        import os
        def descriptors():
            return sorted(int(name) for name in os.listdir("/proc/self/fd"))
        print(descriptors(), flush=True)
        if os.fork() == 0:
            print("child", descriptors(), flush=True)
            os._exit(0)
        os.wait()
        """
    )

    assert rlprof_run(script).out == bare_run(script).stdout


def test_a_child_that_outlives_the_target_can_still_write(write, start, tmp_path):
    script = write(
        """
        import os, sys, time
        if os.fork():
            sys.exit(0)
        parent = os.getppid()
        while not os.path.exists("go"):
            time.sleep(0.01)
        print("last words", flush=True)
        """
    )
    for options in ([], [STEPS]):
        running = start(script, options=options)
        assert running.popen.wait(timeout=60) == 0
        (tmp_path / "go").touch()

        assert running.popen.stdout.read() == b"last words\n"
        (tmp_path / "go").unlink()


def test_what_passes_its_output_on_ignores_what_rlprof_was_to_ignore(write, start, tmp_path):
    script = write(
        """
        import os, sys, time
        if os.fork():
            sys.exit(0)
        while not os.path.exists("go"):
            time.sleep(0.01)
        print("last words", flush=True)
        """
    )
    running = start(script, options=[STEPS], prefix=["nohup"])
    assert running.popen.wait(DEADLINE_S) == 0
    relays = processes_with(str(running.run_file))

    for relay in relays:
        os.kill(relay, signal.SIGHUP)
    (tmp_path / "go").touch()

    assert relays
    assert running.popen.stdout.read() == b"last words\n"


OUTLIVES = """
    import os, sys, time
    if os.fork():
        sys.exit(0)
    os.close(2)
    while not os.path.exists("go"):
        time.sleep(0.01)
"""


def test_what_passes_its_output_on_holds_no_other_stream_open(write, start, tmp_path):
    running = start(write(OUTLIVES), options=[STEPS])
    assert running.popen.wait(timeout=60) == 0

    assert running.popen.stderr.read() == b""  # The child has closed its own.
    assert processes_with(str(running.run_file))
    (tmp_path / "go").touch()
    assert running.popen.stdout.read() == b""


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_what_passes_its_output_on_can_be_ended(write, start, tmp_path, signum):
    running = start(write(OUTLIVES), options=[STEPS])
    assert running.popen.wait(timeout=60) == 0

    def all_ended() -> bool:
        # Again and again: one that comes before the relay obeys signals is lost.
        relays = processes_with(str(running.run_file))
        for relay in relays:
            with suppress(ProcessLookupError):
                os.kill(relay, signum)
        return not relays

    try:
        wait_until(all_ended, "the relay's end")
    finally:
        (tmp_path / "go").touch()


def test_steps_are_read_from_the_output(write, rlprof_run):
    script = write(
        """
        import time
        for step in range(0, 1001, 100):
            print(f"steps={step}", flush=True)
            end = time.monotonic() + 0.05
            while time.monotonic() < end:
                sum(range(1000))
        """
    )

    result = rlprof_run(script, options=[STEPS])

    counters = result.recording.counters
    assert sum(c.value for c in counters if c.name == "output_steps") == 1000
    assert len({counter.window for counter in counters}) >= 2


def test_a_non_blocking_stdout_of_ours_loses_nothing(write, start, tmp_path):
    script = write(PRINTS_MUCH.replace("range(100)", "range(5)"))
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    command = cli("run", "--no-report", "-o", tmp_path / "r.rlprof", STEPS, script)
    with subprocess.Popen(command, stdout=writing, cwd=tmp_path) as popen:
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            size = sum(len(block) for block in iter(lambda: pipe.read(1 << 16), b""))

    assert popen.returncode == 0
    assert size == 5 * 256 * 4096
