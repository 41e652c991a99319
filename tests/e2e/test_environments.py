"""Other interpreters, other environments, and what a program brings along for itself."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rlprof.agent import INJECT_DIR

TRAIN = """
import os, sys, time
import multiprocessing as mp
import rlprof

def train(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))
        rlprof.step()

def worker():
    train(0.8)

if __name__ == "__main__":
    process = mp.get_context("fork").Process(target=worker)
    process.start()
    train(0.8)
    process.join()
    print(sys.version_info[:2], rlprof.__file__)
    sys.exit(process.exitcode + 6)
"""


def test_an_interpreter_without_rlprof(write, rlprof_run, other_python):
    """``import rlprof`` in the script still works, and means the recorder's own."""
    result = rlprof_run(write(TRAIN), options=["--python", other_python])

    assert result.code == 6, result.err
    assert INJECT_DIR.parent.parent.name == "rlprof"
    assert str(INJECT_DIR.parent.parent / "__init__.py").encode() in result.out
    assert [process.fate for process in result.recording.processes] == ["sampled"] * 2
    assert all(process.probe_samples > 0 for process in result.recording.processes)
    assert result.root.python.startswith(other_python.parent.parent.name.rpartition(".")[0])
    assert {"train", "worker"} <= result.functions()
    assert result.steps > 0


def test_an_rlprof_of_the_programs_own_comes_first(write, rlprof_run, tmp_path):
    (tmp_path / "project").mkdir()  # Not beside us, who are started by name as well.
    write("version = 'theirs'\ndef step(n=1): pass\n", name="project/rlprof.py")
    script = write("import rlprof; print(rlprof.version)", name="project/train.py")

    assert rlprof_run(script).out == b"theirs\n"


def test_only_the_name_rlprof_is_helped(write, rlprof_run):
    script = write(
        """
        try:
            import rlprof_no_such_module
        except ModuleNotFoundError as error:
            print(error)
        import sys
        try:
            import rlprof.cli
        except ImportError as error:
            print(type(error).__name__)
        """
    )

    result = rlprof_run("--", sys.executable, "-S", "-c", "import site; site.main()", script)
    assert result.code == 0

    assert b"No module named 'rlprof_no_such_module'" in rlprof_run(script).out


def test_a_prompt_that_the_program_asked_for_is_its_alone(write, rlprof_run):
    script = write("print('trained')")

    result = rlprof_run(script, env={"PYTHONINSPECT": "1"})

    assert (result.code, result.out) == (0, b"trained\n")
    assert result.err == ""


TELLS_WHETHER_IT_IS_TRACED = """
import sys, tracemalloc
from rlprof.__main__ import main

sys.argv = ["rlprof", "--version"]
try:
    main()
finally:
    print(tracemalloc.is_tracing())
"""


def test_allocations_are_traced_in_the_program_alone(write, rlprof_run):
    """Traced with its frames, the imports of rlprof's own take many seconds."""
    traced = {"PYTHONTRACEMALLOC": "2"}
    ours = subprocess.run(
        [sys.executable, "-c", TELLS_WHETHER_IT_IS_TRACED],
        env={**os.environ, **traced},
        capture_output=True,
        timeout=60,
        check=True,
    )

    result = rlprof_run(
        write("import tracemalloc; print(tracemalloc.get_traceback_limit())"), env=traced
    )

    assert ours.stdout.endswith(b"\nFalse\n")
    assert result.out == b"2\n"


def test_a_virtual_environment(write, rlprof_run, tmp_path):
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True, timeout=60)
    site = next(venv.glob("lib/python*/site-packages"))
    (site / "only_here.py").write_text("def found():\n    return 'in the venv'\n")
    script = write("import sys, only_here; print(only_here.found(), sys.prefix)")

    by_option = rlprof_run(script, options=["--python", venv / "bin" / "python"])
    by_activation = rlprof_run(script, env={"VIRTUAL_ENV": str(venv)})

    assert by_option.out == by_activation.out == f"in the venv {venv}\n".encode()
    assert by_option.root.fate == "sampled"


def test_the_programs_own_sitecustomize_runs(write, rlprof_run, tmp_path):
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "helper.py").write_text("value = 'helped'\n")
    (folder / "sitecustomize.py").write_text(
        "import json, sys, helper\nsys.their_mark = (helper.value, __name__, __file__)\n"
    )
    script = write(
        """
        import sys, subprocess
        import sitecustomize
        print(sys.their_mark, sitecustomize.__file__)
        subprocess.run([sys.executable, "-c", "import sys; print(sys.their_mark)"], check=True)
        """
    )

    result = rlprof_run(script, env={"PYTHONPATH": str(folder)})

    mark = str(("helped", "sitecustomize", str(folder / "sitecustomize.py")))
    assert result.out.decode().splitlines() == [f"{mark} {folder / 'sitecustomize.py'}", mark]
    assert [process.probe_samples >= 0 for process in result.recording.processes] == [True] * 2


CHAINING = """
import importlib.util, os, sys
from importlib.machinery import PathFinder

here = os.path.dirname(os.path.abspath(__file__))
spec = PathFinder.find_spec("sitecustomize", [it for it in sys.path if os.path.abspath(it) != here])
if spec is not None and spec.loader is not None:
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
"""
MARKING = "import builtins\nbuiltins.RAN = [*getattr(builtins, 'RAN', []), NAME]\n"


def test_sitecustomizes_that_run_the_ones_they_hide_run_once_each(write, rlprof_run, tmp_path):
    for name, text in {"first": CHAINING + MARKING, "last": MARKING}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "sitecustomize.py").write_text(f"NAME = {name!r}\n{text}")
    program = write("import builtins, sys; print(builtins.RAN, sys.modules['sitecustomize'].NAME)")

    result = rlprof_run(program, env={"PYTHONPATH": f"{tmp_path / 'first'}:{tmp_path / 'last'}"})

    assert result.out == b"['last', 'first'] first\n"
    assert result.err == ""


def test_a_signal_py_on_the_python_path_is_the_program_s(write, rlprof_run, tmp_path):
    """Rlprof asked for Python's before it had put that path aside, and the training did not start."""
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "signal.py").write_text("def moving_average(prices):\n    return sum(prices) / 3\n")
    script = write("from signal import moving_average; print(moving_average([1, 2, 3]))")

    result = rlprof_run(script, env={"PYTHONPATH": str(folder)})

    assert (result.code, result.out) == (0, b"2.0\n")


def test_a_sitecustomize_that_fails_is_told_by_python_as_ever(write, rlprof_run, tmp_path):
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("raise ValueError('broken by hand')\n")
    script = write("print('went on')")

    result = rlprof_run(script, env={"PYTHONPATH": str(folder)})

    bare = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        check=False,
    )
    assert (result.code, result.out) == (bare.returncode, bare.stdout)
    assert result.err.splitlines()[-1] == bare.stderr.decode().splitlines()[-1]
    # Once by the target's interpreter and once by our own, which has the same environment.
    assert result.err.count("broken by hand") == 2


@pytest.fixture
def project(tmp_path):
    """One whose script needs both the working directory and ``lib`` on the path, and a file that bears the name of a module of Python's."""
    for folder in ("lib", "scripts", "worlds"):
        (tmp_path / folder).mkdir()
    (tmp_path / "lib" / "helper.py").write_text("")
    (tmp_path / "worlds" / "__init__.py").write_text("")
    (tmp_path / "colorsys.py").write_text("raise ValueError('not the one of Python')\n")
    (tmp_path / "scripts" / "train.py").write_text("import helper, worlds; print('trained')\n")
    return tmp_path


WITH_AN_EMPTY_ENTRY = {
    "in front": "PYTHONPATH=$PYTHONPATH:$PWD/lib",
    "behind": "PYTHONPATH=$PWD/lib:$PYTHONPATH",
    "in an environment of its own": "env -i PYTHONPATH=$PYTHONPATH:lib",
}


@pytest.mark.parametrize("way", WITH_AN_EMPTY_ENTRY)
def test_what_is_added_to_no_python_path_leaves_the_working_directory_on_it(
    project, rlprof_run, way
):
    """Without rlprof the value has an empty entry, which is the working directory."""
    line = f"{WITH_AN_EMPTY_ENTRY[way]} {sys.executable} scripts/train.py"

    result = rlprof_run("--", "sh", "-c", line, env={"PYTHONPATH": ""})

    assert (result.code, result.out) == (0, b"trained\n"), result.err


@pytest.mark.usefixtures("project")
def test_a_worker_whose_path_is_added_to_none_finds_the_working_directory(write, rlprof_run):
    program = write(
        """
        import os, subprocess, sys
        env = dict(os.environ)
        env["PYTHONPATH"] = env.get("PYTHONPATH", "") + os.pathsep + os.path.abspath("lib")
        sys.exit(subprocess.run([sys.executable, "scripts/train.py"], env=env).returncode)
        """
    )

    result = rlprof_run(program, env={"PYTHONPATH": ""})

    assert (result.code, result.out) == (0, b"trained\n"), result.err


def test_the_working_directory_comes_last_where_it_may_not_have_been_meant(project, rlprof_run):
    """``${PYTHONPATH:+…}`` has no empty entry, and cannot be told from one that has."""
    (project / "scripts" / "train.py").write_text(
        "import colorsys, os, sys; print(sys.path.index(os.getcwd()) - len(sys.path))\n"
    )
    line = f"PYTHONPATH=${{PYTHONPATH:+$PYTHONPATH:}}lib {sys.executable} scripts/train.py"

    result = rlprof_run("--", "sh", "-c", line, env={"PYTHONPATH": ""})

    assert (result.code, result.out) == (0, b"-1\n"), result.err


@pytest.mark.parametrize(
    ("given", "line", "times"),
    [
        ("", "{python} scripts/train.py", 0),
        ("/theirs", "PYTHONPATH=$PYTHONPATH:lib {python} scripts/train.py", 0),
        ("", "PYTHONPATH=$PYTHONPATH::lib {python} scripts/train.py", 1),
        ("", "PYTHONPATH=$PYTHONPATH:lib {python} train.py", 1),
        ("", "PYTHONPATH=$PYTHONPATH:lib {python} -m train", 1),
        ("", "PYTHONPATH=$PYTHONPATH:lib PYTHONSAFEPATH=1 {python} scripts/train.py", 1),
    ],
)
def test_the_working_directory_is_added_once_and_to_nothing_alone(
    project, rlprof_run, given, line, times
):
    for script in ("train.py", "scripts/train.py"):
        (project / script).write_text("import os, sys; print(sys.path.count(os.getcwd()))\n")

    result = rlprof_run(
        "--", "sh", "-c", line.format(python=sys.executable), env={"PYTHONPATH": given}
    )

    assert (result.code, result.out) == (0, f"{times}\n".encode()), result.err


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_a_root_that_shuts_the_agent_out(write, rlprof_run, option):
    script = write(
        """
        import time
        def work():
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                sum(range(1000))
        work()
        """
    )

    result = rlprof_run("--", sys.executable, option, script)

    assert result.code == 0
    assert result.root.fate == "sampled"
    assert result.root.start_method == "root"
    assert "without the agent" in result.root.note
    assert "work" in result.functions()


def test_sockets_and_the_watchdog_are_for_the_program(write, rlprof_run):
    """As systemd gives them: to the process with the number in such a variable."""
    names = "LISTEN_PID", "WATCHDOG_PID", "SYSTEMD_EXEC_PID"
    script = write(
        f"import os; print({{os.environ[name] for name in {names}}} == {{str(os.getpid())}})"
    )
    given = " ".join(f"{name}=$$" for name in names)

    result = rlprof_run(script, prefix=["sh", "-c", f'{given} exec "$@"', "sh"])

    assert (result.code, result.out) == (0, b"True\n")
    assert result.root.fate == "sampled"


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_script_that_names_no_interpreter_is_the_shell_s(write, start, tmp_path, is_recorded):
    script = write("echo got $1; exit 6", "train")
    script.chmod(0o700)
    run_file = tmp_path / "run.rlprof" if is_recorded else tmp_path / "train" / "run.rlprof"

    result = start("--", script, "this", run_file=run_file).finish()

    assert (result.code, result.out) == (6, b"got this\n")
    assert run_file.exists() == is_recorded


def test_what_is_no_script_is_not_the_shell_s(write, rlprof_run):
    program = write("", "train")
    program.write_bytes(b"\x7fELF\0 of another machine")
    program.chmod(0o700)

    result = rlprof_run("--", program)

    assert result.code == 70
    assert "Exec format error" in result.err


def test_an_interpreter_within_the_process_has_no_agent_of_its_own(write, rlprof_run):
    """Its steps are not counted, and those of the first one still are."""
    program = write(
        """\
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        import rlprof

        rlprof.step(3)
        number = interpreters.create()
        run = getattr(interpreters, "run_string", None) or interpreters.exec
        run(number, "x = 1")
        interpreters.destroy(number)
        rlprof.step(4)
        """
    )
    result = rlprof_run(program)

    assert result.code == 0, result.err
    assert result.steps == 7
    assert len(result.recording.processes) == 1
