"""How the run file grows with the length of the run: it must hardly grow at all.

    python benchmarks/run_file_size.py --seconds 30
    python benchmarks/run_file_size.py --skip-real --hours 1

Records programs for T and for ten times T. What nobody wants to wait for is replayed on a fake
clock (replaying.py): one hour against ten, through the recorder's own store.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from measuring import PROGRAMS, print_table, rlprof_run, run, say
from replaying import replay

from rlprof.runfile.reader import read_run
from rlprof.units import size

TARGET = "≤ 1.3"
TEN = 10

PROGRAM_NAMES = {
    "small stacks, 2 workers": ("call_heavy.py", "--workers", "2"),
    "torch and gymnasium, one process": ("deep_stacks.py",),
    "torch and gymnasium, 2 workers": ("deep_stacks.py", "--workers", "2"),
}


def record(path: Path, program: Sequence[str], seconds: float, *options: str) -> int:
    """The size of the run file of ``program`` run for ``seconds``."""
    name, *arguments = program
    command = [sys.executable, str(PROGRAMS / name), *arguments, "--seconds", str(seconds)]
    run(rlprof_run(path, *options, command=command))
    return path.stat().st_size


def real_row(folder: Path, name: str, seconds: float) -> list[str]:
    sizes = []
    for length in (seconds, TEN * seconds):
        say(f"{name}: {length:g} s")
        path = folder / "run.rlprof"
        sizes.append((record(path, PROGRAM_NAMES[name], length), _sample_rows(path)))
    return _row(name, f"{seconds:g} s", f"{TEN * seconds:g} s", sizes, "")


def replayed_row(folder: Path, hours: float, processes: int) -> list[str]:
    recorded = folder / "recorded.rlprof"
    say("recording torch and gymnasium for 20 s at 1 ms")
    record(recorded, PROGRAM_NAMES["torch and gymnasium, 2 workers"], 20, "--interval", "1ms")
    costs = []
    for length in (hours, TEN * hours):
        say(f"replaying it for {length:g} h with {processes} processes")
        costs.append(
            replay(
                read_run(recorded), folder / "replayed.rlprof", hours=length, processes=processes
            )
        )
    name = f"torch and gymnasium, replayed with {processes} processes"
    sizes = [(cost.file_bytes, cost.sample_rows) for cost in costs]
    longest = f"{costs[1].longest_window_s:.2f} s"
    return _row(name, f"{hours:g} h", f"{TEN * hours:g} h", sizes, longest)


def _row(
    name: str, short: str, long: str, sizes: Sequence[tuple[int, int]], longest: str
) -> list[str]:
    (small, small_rows), (large, large_rows) = sizes
    return [
        name,
        f"{short}, {long}",
        f"{size(small)}, {size(large)}",
        f"{small_rows}, {large_rows}",
        f"{large / small:.2f}",
        TARGET,
        longest,
    ]


def _sample_rows(path: Path) -> int:
    return len(read_run(path).samples)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30.0, help="T of the real recordings")
    parser.add_argument("--hours", type=float, default=1.0, help="T of the replay")
    parser.add_argument("--processes", type=int, default=8, help="of the replay")
    parser.add_argument("--skip-real", action="store_true", help="only the replay")
    parser.add_argument("--skip-replay", action="store_true", help="only real recordings")
    parser.add_argument("--rounds", type=int, default=1, help="of the real recordings")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        if not arguments.skip_real:
            rows += [
                real_row(folder, name, arguments.seconds)
                for name in PROGRAM_NAMES
                for _ in range(arguments.rounds)
            ]
        if not arguments.skip_replay:
            rows.append(replayed_row(folder, arguments.hours, arguments.processes))
    print_table(
        "Run file: its size after T and after ten times T",
        [
            "program",
            "T, 10 T",
            "size",
            "sample rows",
            "ratio",
            "target",
            "longest time to close a window",
        ],
        rows,
    )


if __name__ == "__main__":
    main()
