"""The arithmetic of ``benchmarks/overhead.py``, and how it runs a program."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

TELLING = """
import json, sys
for _ in range(int(sys.argv[1])):
    sum(range(1000))
print(json.dumps({"sps": 5.0, "cpu_s_per_step": 0.1, "tree_cpu_s": 0.0}))
print("said behind it")
sys.exit(int(sys.argv[2]))
"""


@pytest.fixture
def script(monkeypatch):
    """Finds a script of ``benchmarks/`` as they find each other."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module


@pytest.fixture
def measured(script):
    """Two rounds, of which the second has no run of py-spy."""
    overhead, ran = script("overhead"), script("profiled").Ran
    return overhead.Measured(
        overhead.WORKLOADS["one"],
        rounds=[
            {
                "bare": ran(1000.0, 1e-3, wall_s=10.0, besides_cpu_s=0.1, settled_cores=0.01),
                "rlprof": ran(990.0, 1.01e-3, wall_s=10.0, besides_cpu_s=0.4, settled_cores=0.01),
                "py-spy": ran(950.0, 1.05e-3, wall_s=10.0, besides_cpu_s=0.9, settled_cores=0.01),
            },
            {
                "bare": ran(500.0, 2e-3, wall_s=10.0, besides_cpu_s=0.1, settled_cores=0.01),
                "rlprof": ran(500.0, 2e-3, wall_s=10.0, besides_cpu_s=0.3, settled_cores=0.01),
            },
        ],
        neighbours=[0.2, 0.4],
        failures={"py-spy": "ended with 1: no such process"},
    )


def test_ratios_are_of_runs_of_the_same_round(measured):
    assert measured.ratios("rlprof") == [0.99, 1.0]
    assert measured.ratios("py-spy") == [0.95]
    assert measured.cpu_ratios("rlprof") == pytest.approx([1.01, 1.0])


def test_the_end_of_the_program_is_no_cost_of_a_profiler(measured):
    assert measured.cpu_percent("rlprof") == pytest.approx(2.5)
    assert measured.cpu_percent("py-spy") == pytest.approx(8.0)


def test_the_tables_say_what_failed_and_what_was_left_out(script, measured):
    text = script("overhead").tables([measured], ["rlprof", "py-spy", "austin"], ["Left out."])

    assert (
        "| one busy process | 750 | ≥ 0.99 | 0.995 (0.990 to 1.000) | 0.950 (0.950 to 0.950), "
        "1 failed (ended with 1: no such process) | 2 failed (without a bare run) |" in text
    )
    assert "| one busy process | 1.005 (1.000 to 1.010), 2.5 %, 1.0 % |" in text
    assert "other programs took 0.30 cores" in text
    assert text.endswith("Left out.")


def test_every_workload_has_its_program(script):
    overhead = script("overhead")

    missing = [
        workload.program
        for workload in overhead.WORKLOADS.values()
        if not (overhead.PROGRAMS / workload.program).is_file()
    ]

    assert overhead.WORKLOADS
    assert missing == []


def test_packages_that_are_not_there_are_named(script):
    overhead = script("overhead")
    workload = overhead.Workload("made up", 0.99, "none.py", needs=("json", "no_such_package"))

    assert overhead.missing(workload, Path(sys.executable)) == "no_such_package"


def test_cpu_time_that_the_program_does_not_tell_is_seen_beside_it(script, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(TELLING)
    bare = script("profiled").bare()

    little, much = (
        bare.run([sys.executable, str(program), rounds, "0"], cores=None)
        for rounds in ("1", "50000")
    )

    assert (little.sps, little.cpu_s_per_step) == (5.0, 0.1)
    assert much.besides_cpu_s > little.besides_cpu_s > 0


def test_what_a_profiler_takes_beside_the_program_is_watched(script, tmp_path):
    program = tmp_path / "program.py"
    # The program works for two seconds, and what has started it works, too.
    program.write_text(
        "import json, time\n"
        "while time.process_time() < 2: pass\n"
        "print(json.dumps({'sps': 1, 'cpu_s_per_step': 1, 'tree_cpu_s': time.process_time()}))\n"
    )
    busy = (
        "import subprocess, sys\n"
        "program = subprocess.Popen(sys.argv[1:])\n"
        "while program.poll() is None: sum(range(1000))\n"
    )
    profiled = script("profiled")
    profiler = profiled.Variant("busy", lambda command, _: [sys.executable, "-c", busy, *command])
    command = [sys.executable, str(program)]

    bare, watched = (variant.run(command, cores=None) for variant in (profiled.bare(), profiler))

    assert bare.settled_cores == 0.0
    assert watched.settled_cores > 0.1


def test_a_program_that_fails_is_told_with_its_last_lines(script, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(TELLING)
    profiled = script("profiled")

    with pytest.raises(profiled.RunFailed, match="ended with 3"):
        profiled.bare().run([sys.executable, str(program), "1", "3"], cores=None)
    with pytest.raises(profiled.RunFailed, match="told no rate"):
        profiled.bare().run([sys.executable, "-c", "pass"], cores=None)
