"""Whether the profile says what is true.

    python benchmarks/truth.py --seconds 30 --rounds 5

Two questions. Does each process of a program that knows its own split (30 % sleep, 50 % Python,
20 % numpy) get that split from rlprof? And does a line get the share of the time that its fix
really saves: measured on the fixed program, and set beside what bare austin and py-spy say?
For the second the script makes virtual environments of Python 3.9, 3.11, 3.12 and 3.13.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from interpreters import default_folder, environment_of, found
from measuring import (
    PROGRAMS,
    Spread,
    in_pairs,
    last_json,
    print_table,
    rlprof_run,
    run,
    say,
)
from samplers import LineShare, austin_share, py_spy_share, rlprof_share

from rlprof.runfile.reader import read_run

VERSIONS = ("3.9", "3.11", "3.12", "3.13")
PACKAGES = ("numpy", "omegaconf")
PARTS = ("sleeping", "counting", "multiplying")
GUILTY = "# guilty"
SPLIT_TARGET_POINTS = 1.0
SHARE_TARGET_POINTS = 2.0

LINE_PROGRAMS = {
    "array in an f-string": "array_formatting.py",
    "omegaconf node access": "config_access.py",
}


class Split(NamedTuple):
    """Share of each part of one process, in %."""

    pid: int
    shares: dict[str, float]


def split_rows(seconds: float, rounds: int) -> list[list[str]]:
    rows = []
    for children in (0, 2):
        errors: list[tuple[float, str]] = []
        for number in range(rounds):
            say(f"known split, {children} children, round {number + 1}")
            errors += split_errors(seconds, children)
        worst = Spread.of(error for error, _ in errors)
        _, shown = max(errors)
        name = "known split, alone" if not children else f"known split, with {children} children"
        rows.append(
            [
                name,
                _own_version(),
                "",
                "30 / 50 / 20",
                f"{shown} (the worst)",
                *[""] * 3,
                worst.text("{:.2f}"),
                f"≤ {SPLIT_TARGET_POINTS:g}",
            ]
        )
    return rows


def split_errors(seconds: float, children: int) -> list[tuple[float, str]]:
    """For each process its largest error in points, and what rlprof said against its own clock."""
    command = [sys.executable, str(PROGRAMS / "known_split.py")]
    command += ["--seconds", str(seconds), "--children", str(children)]
    with tempfile.TemporaryDirectory() as folder:
        run_file = Path(folder, "split.rlprof")
        stdout, _ = run(rlprof_run(run_file, command=command))
        seen = recorded_splits(run_file)
    errors = []
    for line in stdout.splitlines():
        told = json.loads(line)
        true = _shares({part: told[part] for part in PARTS})
        if told["pid"] not in seen:
            raise SystemExit(f"process {told['pid']} is not in the run file")
        ours = seen[told["pid"]]
        worst = max(abs(ours[part] - true[part]) for part in PARTS)
        errors.append((worst, f"{_in_words(ours)} for {_in_words(true)}"))
    return errors


def recorded_splits(run_file: Path) -> dict[int, dict[str, float]]:
    """By pid, in % of the time in the three parts, from the samples of main threads."""
    recording = read_run(run_file)
    part_of: list[str | None] = []
    for node in recording.nodes:
        above = None if node.parent < 0 else part_of[node.parent]
        name = node.frame.function.rpartition(".")[2]
        part_of.append(name if name in PARTS else above)
    pids = {
        thread.id: recording.processes[thread.process].pid
        for thread in recording.threads
        if thread.is_main
    }
    sums: dict[int, dict[str, float]] = {}
    for _, thread, node_id, wall, _, _ in recording.samples.rows():
        part = part_of[node_id]
        if part is not None and thread in pids:
            spent = sums.setdefault(pids[thread], dict.fromkeys(PARTS, 0.0))
            spent[part] += wall
    return {pid: _shares(spent) for pid, spent in sums.items()}


def _shares(spent: dict[str, float]) -> dict[str, float]:
    whole = sum(spent.values())
    return {part: 100 * value / whole for part, value in spent.items()}


def _in_words(shares: dict[str, float]) -> str:
    return " / ".join(f"{shares[part]:.1f}" for part in PARTS)


def _own_version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def guilty_lines(program: Path) -> frozenset[int]:
    lines = program.read_text().splitlines()
    return frozenset(number for number, line in enumerate(lines, 1) if line.endswith(GUILTY))


def cpu_us_per_step(command: Sequence[str]) -> float:
    """CPU time, which equals wall time here on a quiet machine and bears a busy one."""
    printed = last_json(run(command)[0])
    return 1e6 * float(printed["cpu_s"]) / float(printed["steps"])


def measured_saving(command: Sequence[str], rounds: int) -> Spread:
    """1 - time per step of the fixed program over that of the original, in %."""
    pairs = in_pairs(
        rounds, partial(cpu_us_per_step, command), partial(cpu_us_per_step, [*command, "--fixed"])
    )
    return Spread.of(100 * (1 - fixed / original) for original, fixed in pairs)


def clocked_share(command: Sequence[str], rounds: int) -> Spread:
    """The lines' own time, taken by a clock inside the original program, in % of the whole.

    What is saved beyond it is an indirect gain (caches, branch predictors) that no profile shows.
    """
    shares = []
    for _ in range(rounds):
        printed = last_json(run([*command, "--clock"])[0])
        shares.append(100 * float(printed["guilty_s"]) / float(printed["wall_s"]))
    return Spread.of(shares)


def line_row(name: str, version: str, python: Path, arguments: argparse.Namespace) -> list[str]:
    program = PROGRAMS / LINE_PROGRAMS[name]
    lines = guilty_lines(program)
    start = [str(python), str(program)]
    pair_command = [*start, "--seconds", str(arguments.pair_seconds)]
    command = [*start, "--seconds", str(arguments.seconds)]
    say(f"{name}, Python {version}: {arguments.rounds} pairs")
    saving = measured_saving(pair_command, arguments.rounds)
    clocked = clocked_share(pair_command, arguments.rounds)
    say("  rlprof, austin, py-spy")
    ours = rlprof_share(command, program, lines)
    austin = austin_share(command, program, lines)
    py_spy = py_spy_share(command, program, lines) if shutil.which(_py_spy()) else None
    return [
        name,
        version,
        saving.text("{:.1f}"),
        clocked.text("{:.1f}"),
        f"{ours.percent:.1f} ± {_sampling_error(ours):.1f}",
        f"{austin.percent:.1f}",
        f"{austin.percent_of_valid:.1f} ({100 - austin.valid_percent:.0f} % invalid)",
        "not installed" if py_spy is None else f"{py_spy.percent:.1f}",
        f"{ours.percent - saving.median:+.1f}, {ours.percent - clocked.median:+.1f}",
        f"± {SHARE_TARGET_POINTS:g}",
    ]


def _sampling_error(share: LineShare) -> float:
    """One standard deviation of a share counted on so many samples, in points."""
    part = share.percent / 100
    return 100 * math.sqrt(part * (1 - part) / max(1, share.samples))


def _py_spy() -> str:
    return str(Path(sys.executable).with_name("py-spy"))


def line_rows(arguments: argparse.Namespace) -> list[list[str]]:
    rows = []
    for version, base in found(tuple(arguments.versions)).items():
        python = environment_of(version, base, PACKAGES, arguments.envs)
        rows += [line_row(name, version, python, arguments) for name in LINE_PROGRAMS]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each profiled run")
    parser.add_argument("--pair-seconds", type=float, default=4.0, help="of each run of a pair")
    parser.add_argument("--versions", nargs="+", default=VERSIONS, metavar="3.X")
    parser.add_argument("--envs", type=Path, default=default_folder(), metavar="DIR")
    parser.add_argument("--only", choices=["split", "lines"])
    arguments = parser.parse_args()
    rows = []
    if arguments.only != "lines":
        rows += split_rows(arguments.seconds, arguments.rounds)
    if arguments.only != "split":
        rows += line_rows(arguments)
    print_table(
        f"Truth, in % and percentage points ({arguments.rounds} rounds, "
        f"{arguments.seconds:g} s; median, lowest to highest)",
        [
            "program",
            "Python",
            "measured saving",
            "by a clock inside",
            "rlprof",
            "austin, of all",
            "austin, of valid stacks",
            "py-spy",
            "error of rlprof against the saving, the clock",
            "target",
        ],
        rows,
    )


if __name__ == "__main__":
    main()
