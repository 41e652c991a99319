"""Instruments of the program's own see and print what they would without rlprof."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live_processes import DEADLINE_S, bare, told

IN_TURN = '''
import os, sys, threading

def burn(rounds=60_000):
    """Work, not time: some 100 ms of CPU time, in which the probe looks several times."""
    for _ in range(rounds):
        sum(range(100))

def under_instrument():
    burn()
    import colorsys
    thread = threading.Thread(target=burn, args=(10,))
    thread.start()
    thread.join()
    if os.fork() == 0:
        burn(1000)
        os._exit(0)
    os.wait()

def show(lines):
    for line in lines:
        print(*line)

def name_of(code):
    # Where they are is another place in every run of some interpreters.
    return os.path.basename(code.co_filename), code.co_name

def profiled(stats):
    for (file, _, function), (_, calls, *_) in sorted(stats.items()):
        # Of threads that start one after the other, some look at a lock once more.
        if "threading" not in file and "lock" not in function:
            yield os.path.basename(file), function.split(" at 0x")[0], calls

def c_profile():
    import cProfile, pstats
    first, second = cProfile.Profile(), cProfile.Profile()
    print(cProfile.Profile, type(first).enable, sorted(vars(cProfile.Profile)))
    for profile in (first, second):
        burn()
        profile.enable()
        under_instrument()
        profile.disable()
        burn()
        show(profiled(pstats.Stats(profile).stats))

def python_profile():
    import profile, pstats
    profiler = profile.Profile()
    profiler.runcall(burn, 3000)
    show(profiled(pstats.Stats(profiler).stats))

def settrace(of_all_threads=False):
    seen = []
    switch = sys.settrace  # As "from sys import settrace" has it.

    def trace(frame, event, _):
        if event == "call":
            seen.append(name_of(frame.f_code))
        return None

    class AtEnd:
        def __del__(self, write=os.write):
            write(1, b"%d\\n" % len(seen))

    burn()
    if of_all_threads:
        threading.settrace_all_threads(trace)
    else:
        threading.settrace(trace)
        sys.settrace(trace)
    print(sys.gettrace() is trace)
    burn()
    import colorsys
    # Longer than all that is done at the end: it is deleted after everything else.
    sys.at_end = AtEnd()
    under_instrument()
    switch(None)
    show(each for each in seen if each[0] != "threading.py")
    seen.clear()
    sys.settrace(trace)

def setprofile(of_all_threads=False):
    seen = []

    def profile(frame, event, value):
        seen.append((event, *name_of(frame.f_code), getattr(value, "__name__", "")))

    burn()
    if of_all_threads:
        threading.setprofile_all_threads(profile)
    else:
        sys.setprofile(profile)
    print(sys.getprofile() is profile)
    burn(1000)
    import colorsys
    sys.setprofile(None)
    print(sys.getprofile())
    show(seen)
    burn()

def all_threads():
    if hasattr(threading, "settrace_all_threads"):
        settrace(True)
        threading.settrace_all_threads(None)
        setprofile(True)

def in_another_thread():
    seen = []
    burn()

    def run():
        sys.settrace(lambda frame, *_: seen.append(name_of(frame.f_code)))
        import colorsys
        burn(1000)
        sys.settrace(None)

    thread = threading.Thread(target=run)
    thread.start()
    burn()
    thread.join()
    show(seen)

def monitoring():
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:
        return
    seen = []
    burn()
    try:
        monitoring.use_tool_id(9, "none")
    except ValueError as error:
        print(error)
    for _ in range(2):
        monitoring.use_tool_id(3, "some")
        monitoring.register_callback(
            3, monitoring.events.PY_START, lambda code, _: seen.append(name_of(code))
        )
        monitoring.set_events(3, monitoring.events.PY_START)
        under_instrument()
        monitoring.set_events(3, 0)
        monitoring.free_tool_id(3)
        burn()
    show(each for each in seen if each[0] != "threading.py")

def memory():
    import tracemalloc
    for _ in range(2):
        burn()
        tracemalloc.start(10)
        kept = [bytes(1000) for _ in range(100)]
        burn()
        import colorsys
        snapshot = tracemalloc.take_snapshot()
        tracemalloc.stop()
        files = {frame.filename for trace in snapshot.traces for frame in trace.traceback}
        print(sorted(map(os.path.basename, files)), tracemalloc.start, tracemalloc.stop)
        print(tracemalloc.is_tracing(), tracemalloc.get_traced_memory())

def debugger():
    import bdb, io, pdb
    burn()
    commands = io.StringIO("step\\nnext\\nwhere\\nnext\\nreturn\\ncontinue\\n")
    pdb.Pdb(stdin=commands, stdout=sys.stdout, nosigint=True, readrc=False).set_trace()
    burn(100)
    total = sum(range(10))
    burn()
    print(total)

def fault_handler():
    import faulthandler
    burn()
    faulthandler.enable()
    faulthandler.dump_traceback(all_threads=False)

def looks():
    """None of this is an instrument, and all of it is as ever."""
    import inspect, pickle, tracemalloc
    print(pickle.loads(pickle.dumps(tracemalloc.start)) is tracemalloc.start)
    for switch in (sys.settrace, sys.setprofile):
        print(switch, inspect.isbuiltin(switch), pickle.loads(pickle.dumps(switch)) is switch)
        for arguments in ((), (1, 2)):
            try:
                switch(*arguments)
            except TypeError as error:
                print(error)
        switch(None)
    burn()

def main():
    import subprocess
    # What is found there first is kept, and looked up in fewer steps then.
    try:
        import no_such_module
    except ImportError:
        pass
    if len(sys.argv) > 1:
        return globals()[sys.argv[1]]()
    for name in NAMES:
        print(name, flush=True)
        # A fork soon after a thread has ended is warned of, or not.
        subprocess.run([sys.executable, "-W", "ignore", __file__, name], check=True)

NAMES = (
    "c_profile", "python_profile", "settrace", "setprofile", "all_threads", "in_another_thread",
    "monitoring", "memory", "debugger", "fault_handler", "looks",
)
main()
'''


@pytest.fixture
def elsewhere(tmp_path_factory) -> Path:
    """A run file that is not beside the script: Python reads a folder again in which a file was made."""
    run_file: Path = tmp_path_factory.mktemp("recorded") / "run.rlprof"
    return run_file


def test_each_shows_what_it_would_without_rlprof(
    write, rlprof_run, each_python, tmp_path, elsewhere
):
    script = write(IN_TURN)
    expected = bare(each_python, script, cwd=tmp_path)

    result = rlprof_run("--", each_python, script, run_file=elsewhere)

    assert told(result.out, result.err).splitlines() == expected.splitlines()
    assert "rlprof" not in expected
    # The probe was at work before.
    assert result.started_with("c_profile").probe_samples > 0
    assert "yielded" not in result.started_with("looks").note
    assert "trace or profile function" in result.started_with("settrace").note


def test_a_profile_of_the_whole_program(write, rlprof_run, tmp_path, elsewhere):
    script = write("import fractions\nfor _ in range(60_000): sum(range(100))\n", name="whole.py")
    command = (sys.executable, "-m", "cProfile", script)

    result = rlprof_run("--", *command, run_file=elsewhere)

    def names(text: str) -> list[str]:
        rows = (line.split(maxsplit=5) for line in text.splitlines() if "(" in line or "{" in line)
        return sorted(row[5] for row in rows if len(row) > 5 and not row[5].endswith("seconds"))

    found = names(told(result.out, result.err))
    assert found == names(bare(*command, cwd=tmp_path))
    assert "whole.py:1(<module>)" in found


def test_an_optimizers_step_has_two_functions_more(write, rlprof_run, tmp_path, elsewhere):
    pytest.importorskip("torch", reason="needs torch: pip install torch==2.13.0")
    script = write(
        """
        import sys, torch
        weight = torch.nn.Parameter(torch.ones(2))
        optimizer = torch.optim.SGD([weight], 0.1)
        weight.grad = torch.ones(2)
        for _ in range(50):
            optimizer.step()
        seen = []

        def trace(frame, event, _):
            seen.append(frame.f_code.co_filename)

        sys.settrace(trace)
        optimizer.step()
        sys.settrace(None)
        print(sum("rlprof_agent" in file for file in seen), len(seen) > 10)
        for _ in range(50):
            optimizer.step()
        """
    )

    result = rlprof_run(script, run_file=elsewhere)

    assert result.out.split() == [b"2", b"True"]
    updates = sum(
        counter.value for counter in result.recording.counters if counter.name == "updates"
    )
    assert updates == 101


def test_the_probe_goes_on_after_tracemalloc(write, rlprof_run):
    script = write(
        """
        import tracemalloc
        tracemalloc.start()
        tracemalloc.stop()
        for _ in range(200_000):
            sum(range(100))
        """
    )

    result = rlprof_run(script)

    assert result.root.probe_samples > 2
    assert result.root.note == ""


@pytest.mark.parametrize(
    ("options", "env"),
    [
        (["-X", "importtime"], {}),
        ([], {"PYTHONPROFILEIMPORTTIME": "1"}),
        (["-X", "tracemalloc=5"], {}),
        ([], {"PYTHONTRACEMALLOC": "5"}),
        (["-v"], {}),
    ],
)
def test_what_python_shows_from_its_start(write, rlprof_run, tmp_path, options, env):
    """With numbers left out: how long imports took, and where modules lie in memory."""
    script = write(
        """
        import sys, colorsys
        print("sitecustomize" in sys.modules, sys.path, sys.meta_path)
        if "tracemalloc" in sys.modules:
            import tracemalloc
            traces = tracemalloc.take_snapshot().traces
            print(sorted({frame.filename for trace in traces for frame in trace.traceback}))
        """
    )
    command = (sys.executable, *options, script)

    def shown(text: str) -> list[str]:
        # A module that there is none of is looked for in each folder of the path.
        lines = [re.sub(r"\d+ \|", "|", re.sub(r" +", " ", line)) for line in text.splitlines()]
        return [line for line in lines if "sitecustomize" not in line or "True" in line]

    # rlprof's own interpreter has the same environment, and prints first.
    bare(*command, cwd=tmp_path, env=env)
    expected = shown(bare(*command, cwd=tmp_path, env=env))
    result = rlprof_run("--", "env", *(f"{k}={v}" for k, v in env.items()), *command)

    assert shown(told(result.out, result.err)) == expected


def test_coverage(write, rlprof_run, tmp_path):
    pytest.importorskip("coverage", reason="coverage is not installed (pip install coverage)")
    script = write(
        """
        def work(rounds):
            for _ in range(rounds):
                sum(range(100))
        work(60_000)
        # What is counted is none of coverage's business.
        import logging, os
        logging.getLogger().addHandler(logging.NullHandler())
        logging.warning("slow")
        os.system("true")
        pid = os.fork()
        if not pid:
            os._exit(0)
        os.waitpid(pid, 0)
        if __name__ == "nobody":
            print("not covered")
        """
    )
    command = (sys.executable, "-m", "coverage")
    report = ("report", "--show-missing")
    bare(*command, "run", "--branch", script, cwd=tmp_path)
    expected = bare(*command, *report, cwd=tmp_path)

    result = rlprof_run("--", *command, "run", "--branch", script)

    assert (result.code, result.out, result.err) == (0, b"", "")
    assert bare(*command, *report, cwd=tmp_path) == expected
    assert "rlprof" not in expected


WORKS_ON_CALL = """
import sys

def work(rounds):
    for _ in range(rounds):
        sum(range(100))

work(60_000)
print("ready", flush=True)
for line in sys.stdin:
    work(60_000)
    print(line.strip(), flush=True)
"""


def test_py_spy_beside_it(write, start, tmp_path):
    py_spy = shutil.which("py-spy", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if py_spy is None:
        pytest.skip("py-spy is not installed (pip install py-spy)")
    script = write(
        "import os\nprint(os.getpid(), flush=True)\n"
        + WORKS_ON_CALL.replace("for line in sys.stdin", "for line in iter(sys.stdin.readline, '')")
    )
    running = start(script, stdin=subprocess.PIPE)
    pid = running.wait_line("")
    running.wait_line("ready")

    dumped = subprocess.run(
        [py_spy, "dump", "--pid", pid],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    out, err = running.popen.communicate(b"once\ntwice\n", timeout=DEADLINE_S)

    if "Permission" in dumped.stderr:
        pytest.skip("py-spy may not read other processes here")
    assert dumped.returncode == 0, dumped.stderr
    assert "<module> (" in dumped.stdout
    assert "rlprof" not in dumped.stdout.partition("Thread")[2]
    assert (running.popen.returncode, out, err) == (0, b"once\ntwice\n", b"")


@pytest.mark.skipif(
    importlib.util.find_spec("memray") is None,
    reason="memray is not installed (pip install memray)",
)
def test_memray_beside_it(write, rlprof_run, tmp_path):
    script = write(
        """
        def work():
            return [bytes(1000) for _ in range(1000)]
        kept = [work() for _ in range(10)]
        for _ in range(60_000):
            sum(range(100))
        """
    )

    result = rlprof_run(
        "--", sys.executable, "-m", "memray", "run", "-q", "-o", "memory.bin", script
    )

    assert (result.code, result.out, result.err) == (0, b"", "")
    shown = bare(sys.executable, "-m", "memray", "summary", "memory.bin", cwd=tmp_path)
    assert "work" in shown
    assert "rlprof" not in shown
