"""Beside other tools, and inside or around other programs: the same output, code and files as without rlprof."""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.attack.arena import (
    PROGRAMS,
    Arena,
    Ended,
    Failed,
    NotTried,
    needs_program,
)
from benchmarks.attack.row import Row
from benchmarks.attack.training import kill, recording_in, start_training

PROGRAM = """
import os, sys
from busy import work
work(0.5)
data = "" if sys.stdin.isatty() else sys.stdin.read()
print("trained", *sys.argv[1:], len(data))
print("told", file=sys.stderr)
sys.exit(int(os.environ.get("ENDS_WITH", "0")))
"""

OWN_PROFILER = """
import torch
from torch.profiler import profile, ProfilerActivity
layer = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(layer.parameters(), 0.1)
def update():
    layer(torch.ones(8, 64)).sum().backward()
    optimizer.step()
for _ in range(200):
    update()
with profile(activities=[ProfilerActivity.CPU]) as profiler:
    for _ in range(10):
        update()
events = profiler.key_averages()
for event in sorted(events, key=lambda event: event.key):
    print(event.key, event.count)
profiler.export_chrome_trace("trace.json")
print(torch.autograd.profiler._is_profiler_enabled)
"""


MOST_OURS = 0.1
"""Of what py-spy sees: the agent takes a stack where py-spy may find it at that."""


def around(arena: Arena, shell: str) -> str:
    """``RUN`` in the shell's text is the program's start, bare and recorded."""
    for tool in TOOLS & {*shell.split()}:
        needs_program(tool)
    bare = _run(arena, shell, f"'{sys.executable}'")
    recorded = " ".join(f"'{word}'" for word in arena.recorded())
    seen = _run(arena, shell, recorded)
    _expect_same(bare, seen)
    recording_in(arena)
    arena.expect_nothing_left()
    return f"the same: exit {bare.code}"


def _run(arena: Arena, shell: str, run: str) -> Ended:
    _write_program(arena)
    (arena.work / "endless.py").write_text("from busy import work\nwhile True:\n    work()\n")
    return arena.run(["bash", "-c", shell.replace("RUN", run)])


def _write_program(arena: Arena) -> None:
    (arena.work / "program.py").write_text(PROGRAM)
    shutil.copy(PROGRAMS / "busy.py", arena.work)


def _expect_same(bare: Ended, seen: Ended) -> None:
    if bare.code != seen.code:
        raise Failed(f"exit code {seen.code} instead of {bare.code}: {seen.complaint}")
    if bare.out != seen.out:
        raise Failed(f"stdout is {seen.out[:150]!r} instead of {bare.out[:150]!r}")
    if bare.err != seen.err:
        raise Failed(f"stderr is {seen.err[:150]!r} instead of {bare.err[:150]!r}")


def in_itself(arena: Arena) -> str:
    """Both record; the inner one has the program's agent."""
    _write_program(arena)
    bare = arena.run([sys.executable, "program.py"])
    inner = arena.rlprof("run", "--no-report", "-o", arena.folder / "inner.rlprof", "program.py")
    seen = arena.run(arena.recorded("--", *inner))
    _expect_same(bare, seen)
    for run_file in (arena.run_file, arena.folder / "inner.rlprof"):
        if not recording_in(arena, run_file)["complete"]:
            raise Failed(f"{run_file.name} is not whole")
    arena.expect_nothing_left()
    return "both recordings are whole"


def many_at_once_by_make(arena: Arena) -> str:
    needs_program("make")
    (arena.work / "Makefile").write_text(
        "all: one two three\none two three:\n\t@$(RUN) program.py $@ </dev/null >$@ 2>&1\n"
    )
    _write_program(arena)
    for run in (sys.executable, " ".join(arena.rlprof("run", "--no-report"))):
        ended = arena.run(["make", "-s", "-j3", f"RUN={run}"])
        if ended.code != 0 or ended.err:
            raise Failed(f"make ended with {ended.code}: {ended.complaint}")
        for name in ("one", "two", "three"):
            said = (arena.work / name).read_text()
            if sorted(said.splitlines()) != ["told", f"trained {name} 0"]:
                raise Failed(f"{name} said {said!r}")
            (arena.work / name).unlink()
    if len([*(arena.work / ".rlprof").glob("*.rlprof")]) != 3:
        raise Failed("there are not three recordings")
    return "three recordings, the same output"


def beside_py_spy(arena: Arena) -> str:
    """Have py-spy read the same process at 100 Hz, stopping it each time."""
    py_spy = shutil.which("py-spy") or str(Path(sys.executable).with_name("py-spy"))
    needs_program(py_spy)
    training = start_training(arena)
    seen = arena.folder / "seen.txt"
    command = [py_spy, "record", "-d", "1", "-f", "raw", "-o", seen, "-p", str(training.target)]
    spy = arena.start(command)
    training.finish()
    arena.finish(spy)
    lines = seen.read_text().splitlines() if seen.exists() else []
    samples = {line: int(line.rpartition(" ")[2]) for line in lines}
    if not any("rollout" in line for line in samples):
        raise Failed("py-spy saw nothing of the program")
    ours = sum(number for line, number in samples.items() if "rlprof_agent" in line)
    if ours > MOST_OURS * sum(samples.values()):
        raise Failed(f"{ours} of {sum(samples.values())} samples of py-spy are in the agent")
    training.expect_clean_end()
    return "both saw the training; its result is the same"


def beside_memray(arena: Arena) -> str:
    """Have memray replace the allocator and follow forks."""
    if importlib.util.find_spec("memray") is None:
        raise NotTried("no memray in this environment")
    _write_program(arena)
    memray = [
        "-m",
        "memray",
        "run",
        "-f",
        "-q",
        "-o",
        str(arena.folder / "memory.bin"),
        "program.py",
    ]
    bare = arena.run([sys.executable, *memray])
    seen = arena.run(arena.recorded("--", sys.executable, *memray))
    _expect_same(bare, seen)
    recording_in(arena)
    return "the same output, both recorded"


def own_torch_profiler(arena: Arena) -> str:
    """The events that it lists and the lines that it prints, and no window of ours meanwhile."""
    if importlib.util.find_spec("torch") is None:
        raise NotTried("no torch in this environment")
    (arena.work / "program.py").write_text(OWN_PROFILER)
    bare = arena.run([sys.executable, "program.py"])
    for options in ([], ["--torch", "always"]):
        seen = arena.run(arena.recorded("program.py", options=options))
        if _kineto(bare.err) != _kineto(seen.err):
            raise Failed(
                f"{len(seen.err.splitlines())} lines on stderr instead of "
                f"{len(bare.err.splitlines())}: {seen.complaint}"
            )
        _expect_same(Ended(bare.code, bare.out, b"", 0), Ended(seen.code, seen.out, b"", 0))
    return "the same events and lines"


def _kineto(err: bytes) -> list[bytes]:
    """Lines of torch's library less their times and pids."""
    return [line.partition(b"] ")[2] or line for line in err.splitlines()]


def flood_of_output(arena: Arena) -> str:
    """A hundred megabytes through a slow reader, searched for a rate on the way."""
    (arena.work / "program.py").write_text(
        "import sys\n"
        "line = 'x' * 99 + '\\n'\n"
        "for number in range(1000):\n"
        "    sys.stdout.write(line * 999 + 'sps: %087d\\n' % number)\n"
        "    print(number, file=sys.stderr)\n"
    )
    sums = []
    for command in (
        [sys.executable, "program.py"],
        arena.recorded("program.py", options=["--sps-pattern", r"sps: (\d+)"]),
    ):
        ended = arena.run(command)
        if ended.code != 0:
            raise Failed(f"exit {ended.code}: {ended.complaint}")
        sums.append(hashlib.sha256(ended.out + b"\0" + ended.err).hexdigest())
    if sums[0] != sums[1]:
        raise Failed("not the same bytes came through")
    return "100 MB, every byte the same"


def reader_gone(arena: Arena) -> str:
    """The reader of its output leaves while a pattern is searched for."""
    (arena.work / "program.py").write_text(
        "import sys\nwhile True:\n    print('sps: 1', 'x' * 1000)\n"
    )
    codes = []
    for command in (
        [sys.executable, "program.py"],
        arena.recorded("program.py", options=["--sps-pattern", r"sps: (\d+)"]),
        arena.recorded("program.py"),
    ):
        shell = '"$@" 2>errors | head -c 100000 >/dev/null; echo ${PIPESTATUS[0]}'
        codes.append(arena.run(["bash", "-c", shell, "sh", *command]).out)
    if len(set(codes)) != 1:
        raise Failed(f"exit codes {[code.decode().strip() for code in codes]}")
    return f"the same: exit {codes[0].decode().strip()}"


def parent_killed(arena: Arena) -> str:
    """The shell that started rlprof is killed: rlprof and its target go on."""
    shutil.copy(PROGRAMS / "training.py", arena.work)
    command = arena.recorded("training.py", "5000", "0")
    shell = arena.start(["bash", "-c", '"$@" & wait', "sh", *command], output=subprocess.DEVNULL)
    arena.wait_for("the start of the training", (arena.work / "started").exists)
    kill(shell.pid, signal.SIGKILL)
    arena.wait_for("the training's result", (arena.work / "result").exists)
    arena.expect_nothing_left()
    if not recording_in(arena)["complete"]:
        raise Failed("the recording is not whole")
    return "both went on to their ends"


TOOLS = {"timeout", "nohup", "setsid", "nice", "xargs", "stdbuf", "seq", "flock"}

HANDS_ON = """
import os, time
os.close(9)
while not os.path.exists("taken"): time.sleep(0.01)
"""

SHELLS = {
    "timeout": ("timeout 30 RUN program.py a </dev/null", "Under timeout, in time."),
    "timeout-over": (
        "timeout 3 RUN endless.py </dev/null; echo $?",
        "Under timeout, which ends it.",
    ),
    "nohup": ("nohup RUN program.py a </dev/null", "Under nohup."),
    "setsid": ("setsid -w RUN program.py a </dev/null", "Under setsid."),
    "nice": ("nice -n 5 RUN program.py a </dev/null", "Under nice."),
    "xargs": ("printf 'a b' | xargs -n1 RUN program.py", "Under xargs, twice."),
    "pipeline": ("seq 1000 | RUN program.py a | cat; echo ${PIPESTATUS[*]}", "In a pipeline."),
    "background": (
        "RUN program.py a </dev/null & wait $!; echo $?",
        "In the background of a shell.",
    ),
    "subshell": ("x=$(ENDS_WITH=9 RUN program.py a </dev/null); echo $? $x", "In a substitution."),
    "stdbuf": ("stdbuf -o0 RUN program.py a </dev/null", "Under stdbuf."),
    "lock": (
        f"rm -f taken; echo '{HANDS_ON}' >hands_on.py; exec 9>lock; flock 9; RUN hands_on.py & exec 9>&-; "
        "exec 8>lock; flock -w 60 8 && echo free; touch taken; wait $!; echo $?",
        "Under a lock of flock, which it hands on while it goes on.",
    ),
    "here-document": ("RUN program.py a <<E\none\ntwo\nE", "With a here-document."),
}


def script_terminal(arena: Arena) -> str:
    """Compare characters on the terminal of script(1)."""
    needs_program("script")
    shown = []
    for run in (sys.executable, " ".join(arena.recorded())):
        _write_program(arena)
        command = f"{run} program.py a </dev/null"
        ended = arena.run(["script", "-qec", command, str(arena.folder / "typescript")])
        # rlprof may say one line on a terminal before the program begins.
        lines = [line for line in ended.out.splitlines() if not line.startswith(b"rlprof")]
        shown.append((ended.code, b"\n".join(lines)))
    if shown[0] != shown[1]:
        raise Failed(f"{shown[1]} instead of {shown[0]}")
    return "the same on a terminal"


def _row(name: str, told: str, attempt: Callable[[Arena], str], *, is_fast: bool = False) -> Row:
    return Row(name, "nesting", told, attempt, is_fast)


ROWS: tuple[Row, ...] = (
    _row("in-itself", "rlprof run in rlprof run.", in_itself, is_fast=True),
    _row("beside-py-spy", "py-spy record on the target.", beside_py_spy, is_fast=True),
    _row("beside-memray", "The target runs in memray.", beside_memray),
    _row("own-torch-profiler", "The target uses torch.profiler itself.", own_torch_profiler),
    _row("flood-of-output", "100 MB of output, with --sps-pattern.", flood_of_output),
    _row("reader-gone", "The reader of its output leaves.", reader_gone),
    _row("parent-killed", "SIGKILL to the shell that started rlprof.", parent_killed),
    _row("make-j", "Three at once under make -j.", many_at_once_by_make),
    _row("script-terminal", "On a terminal of script(1).", script_terminal),
    *(
        _row(
            f"under-{name}",
            told,
            partial(around, shell=shell),
            is_fast=name in ("timeout", "xargs", "background"),
        )
        for name, (shell, told) in SHELLS.items()
    ),
)
