"""What rlprof costs a training: steps per second with it over those without it.

    python benchmarks/overhead.py --rounds 5 --seconds 8

Pairs of runs at default settings, every other pair in reverse order. The ratio of CPU time per
step says the same with less noise, but cannot see what the training waits for. It covers the
whole tree of the target, start-up and agent included; rlprof's own parts come from the run file.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from measuring import (
    PROGRAMS,
    ROOT,
    Spread,
    in_pairs,
    last_json,
    print_table,
    rlprof_run,
    run,
    say,
)

from rlprof.runfile.reader import read_run

BANDIT = ROOT / "examples" / "bandit"
OWN_PARTS = ("samplers", "recorder", "probe")


class Work(NamedTuple):
    """What one run of a program did, by its own account."""

    steps: float
    sps: float


class Case(NamedTuple):
    """A program to run with and without rlprof."""

    name: str
    target: float
    """Least ratio of sps that will do."""
    command: Sequence[str]
    read: Callable[[str], Work]
    """Its standard output, understood."""


class Measured(NamedTuple):
    sps: float
    cpu_us_per_step: float
    """CPU time of the target's whole tree."""
    own_cpu: dict[str, float]
    """CPU of rlprof's parts, in % of one core; empty without rlprof."""


def read_bandit(stdout: str) -> Work:
    steps = re.search(r"(\d+) steps", stdout)
    sps = re.search(r"([\d.]+) sps", stdout)
    if steps is None or sps is None:
        raise SystemExit(f"the bandit printed no sps: {stdout!r}")
    return Work(float(steps[1]), float(sps[1]))


def read_report(stdout: str) -> Work:
    printed = last_json(stdout)
    return Work(printed["steps"], printed["steps"] / printed["wall_s"])


def bandit_case(stage: int, workers: int, seconds: float) -> Case:
    """A bandit of about ``seconds``: its work is fixed, so a short run sets its size."""

    def command(runs: int) -> list[str]:
        options = {"--stage": stage, "--workers": workers, "--runs": runs}
        texts = [text for option in options.items() for text in map(str, option)]
        return [sys.executable, str(BANDIT), *texts]

    trial_runs = 8 * workers
    stdout, _ = run(command(trial_runs))
    work = read_bandit(stdout)
    runs = max(trial_runs, round(seconds * work.sps / (work.steps / trial_runs)))
    plural = "s" if workers > 1 else ""
    return Case(f"bandit stage {stage}, {workers} worker{plural}", 0.99, command(runs), read_bandit)


def call_heavy_case(workers: int, seconds: float) -> Case:
    program = str(PROGRAMS / "call_heavy.py")
    command = [sys.executable, program, "--seconds", str(seconds), "--workers", str(workers)]
    if workers:
        return Case(f"call-heavy, {workers} busy workers", 0.97, command, read_report)
    return Case("call-heavy, one process", 0.99, command, read_report)


def cases(seconds: float) -> dict[str, Callable[[], Case]]:
    """Made when their turn comes: some need a trial run."""
    return {
        "stage-4": lambda: bandit_case(4, 2, seconds),
        "stage-4-single": lambda: bandit_case(4, 1, seconds),
        "stage-1": lambda: bandit_case(1, 2, seconds),
        "stage-1-single": lambda: bandit_case(1, 1, seconds),
        "calls": lambda: call_heavy_case(0, seconds),
        "workers": lambda: call_heavy_case(8, seconds),
    }


def timed(command: Sequence[str]) -> list[str]:
    """``command`` under a shell that prints the CPU seconds of its whole tree to stderr."""
    bash = shutil.which("bash")
    if bash is None:
        raise SystemExit("bash was not found: its `time` counts the CPU time of a process tree")
    return [bash, "-c", 'TIMEFORMAT="cpu %U %S"; time "$0" "$@"', *command]


def measure_bare(case: Case) -> Measured:
    stdout, stderr = run(timed(case.command))
    return _measured(case, stdout, stderr, {})


def measure_recorded(case: Case) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        run_file = Path(folder, "overhead.rlprof")
        stdout, stderr = run(rlprof_run(run_file, command=timed(case.command)))
        recording = read_run(run_file)
    wall_us = recording.run.wall_us
    own = {part: 100 * recording.overhead[f"{part}_cpu_us"] / wall_us for part in OWN_PARTS}
    return _measured(case, stdout, stderr, own)


def _measured(case: Case, stdout: str, stderr: str, own_cpu: dict[str, float]) -> Measured:
    work = case.read(stdout)
    user, system = map(float, re.findall(r"^cpu ([\d.]+) ([\d.]+)$", stderr, re.MULTILINE)[-1])
    return Measured(work.sps, 1e6 * (user + system) / work.steps, own_cpu)


def row(case: Case, pairs: Sequence[tuple[Measured, Measured]]) -> list[str]:
    sps = Spread.of(treated.sps / bare.sps for bare, treated in pairs)
    cpu = Spread.of(treated.cpu_us_per_step / bare.cpu_us_per_step for bare, treated in pairs)
    own = [
        f"{Spread.of(treated.own_cpu[part] for _, treated in pairs).median:.2f}"
        for part in OWN_PARTS
    ]
    bare_sps = Spread.of(bare.sps for bare, _ in pairs)
    return [
        case.name,
        f"{bare_sps.median:.0f}",
        sps.text(),
        f"≥ {case.target}",
        cpu.text(),
        " / ".join(own),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each run")
    parser.add_argument("--only", nargs="+", choices=list(cases(0)), help="some cases")
    arguments = parser.parse_args()
    rows = []
    for name, make in cases(arguments.seconds).items():
        if arguments.only and name not in arguments.only:
            continue
        case = make()
        say(f"{case.name}: {arguments.rounds} pairs")
        pairs = in_pairs(
            arguments.rounds, partial(measure_bare, case), partial(measure_recorded, case)
        )
        rows.append(row(case, pairs))
    print_table(
        f"Overhead: {arguments.rounds} pairs of {arguments.seconds:g} s, median (lowest to highest)",
        [
            "program",
            "sps without",
            "sps with / without",
            "target",
            "CPU per step with / without",
            "samplers / recorder / probe, % of a core",
        ],
        rows,
    )


if __name__ == "__main__":
    main()
