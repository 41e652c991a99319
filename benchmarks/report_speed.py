"""How long `rlprof report` and `rlprof flame` take on a long run of many processes.

    python benchmarks/report_speed.py --hours 1 --processes 8
    python benchmarks/report_speed.py RUN ...

Records a deep torch program for a while and replays it on a fake clock (replaying.py) as a run of
one hour and eight processes; then times whole commands, the interpreter's start included. Of run
files that are given, `rlprof report` is timed instead: those of real trainings hold the sources of
the libraries that they use, which a report reads.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from measuring import PROGRAMS, Spread, print_table, rlprof_run, run, say
from replaying import replay

from rlprof.runfile.reader import read_run
from rlprof.units import size

PROFILE = (
    "import cProfile, pstats, sys\n"
    "from rlprof.cli.commands import main\n"
    "profile = cProfile.Profile()\n"
    "try:\n"
    "    profile.runcall(main)\n"
    "except SystemExit:\n"
    "    pass\n"
    "pstats.Stats(profile, stream=sys.stderr).sort_stats('tottime').print_stats(10)\n"
)
"""Runs a command as `rlprof` would and shows on stderr where its time went."""


def record(path: Path, *, program: str, workers: int, seconds: float) -> None:
    """A real recording at 1 ms: rich in rare stacks."""
    command = [sys.executable, str(PROGRAMS / program)]
    options = ["--workers", str(workers), "--seconds", str(seconds)]
    run(rlprof_run(path, "--interval", "1ms", command=[*command, *options]))


def wall_s(arguments: list[str]) -> float:
    started = time.perf_counter()
    run([sys.executable, "-m", "rlprof", *arguments])
    return time.perf_counter() - started


def time_given(runs: Sequence[Path], rounds: int) -> None:
    """Time the report of each of ``runs``."""
    spreads = {
        path.name: Spread.of(wall_s(["report", str(path)]) for _ in range(rounds)) for path in runs
    }
    rows = [[name, spread.text("{:.2f}"), "< 1"] for name, spread in spreads.items()]
    all_runs = Spread.of(spread.median for spread in spreads.values())
    print_table(
        f"`rlprof report`, seconds, median of {rounds} (lowest to highest)",
        ["run", "wall, s", "target"],
        [*rows, [f"medians of {len(runs)} runs", all_runs.text("{:.2f}"), "< 1"]],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="*", metavar="RUN", help="files to report on")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--record-seconds", type=float, default=20.0)
    parser.add_argument("--profile", action="store_true", help="show where the time goes")
    parser.add_argument("--keep", type=Path, metavar="RUN", help="leave the run file here")
    arguments = parser.parse_args()
    if arguments.runs:
        time_given(arguments.runs, arguments.rounds)
        return
    with tempfile.TemporaryDirectory() as folder:
        recorded = Path(folder, "recorded.rlprof")
        made = arguments.keep or Path(folder, "made.rlprof")
        say(f"recording deep_stacks.py for {arguments.record_seconds:g} s")
        record(recorded, program="deep_stacks.py", workers=2, seconds=arguments.record_seconds)
        say(f"replaying it for {arguments.hours:g} h with {arguments.processes} processes")
        cost = replay(
            read_run(recorded), made, hours=arguments.hours, processes=arguments.processes
        )
        commands = {
            "rlprof report": ["report", str(made)],
            "rlprof report --format json": ["report", str(made), "--format", "json"],
            "rlprof flame": ["flame", str(made), "--force", "-o", str(Path(folder, "out.svg"))],
        }
        rows = []
        for name, command in commands.items():
            say(name)
            times = Spread.of(wall_s(command) for _ in range(arguments.rounds))
            rows.append([f"`{name}`", times.text("{:.2f}"), "< 1"])
            if arguments.profile:
                say(run([sys.executable, "-c", PROFILE, *command])[1])
    print_table(
        f"Report of a run of {arguments.hours:g} h and {arguments.processes} processes "
        f"({cost.sample_rows} sample rows, {size(cost.file_bytes)}): seconds, "
        f"median of {arguments.rounds} (lowest to highest)",
        ["command", "wall, s", "target"],
        rows,
    )


if __name__ == "__main__":
    main()
