"""Count the runs that die of windows of torch's profiler.

    python benchmarks/window_crashes.py --runs 14 --jobs 3
    python benchmarks/window_crashes.py --rlprof ../another-checkout

A program in which torch has ranges open wherever a window ends runs with ``--torch always``, several at once: its windows
then end in ever other places. Beside it a program that shows the fault of torch's without rlprof (decision 39).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from measuring import PROGRAMS, ROOT, print_table, rlprof_run, say, training_environment

TIMEOUT_S = 120


def codes(
    command: Callable[[int], Sequence[str]], rlprof: Path, runs: int, jobs: int
) -> Counter[int]:
    def code(number: int) -> int:
        ended = subprocess.run(
            command(number),
            # `python -m rlprof` takes the one that lies there.
            cwd=rlprof,
            env=training_environment(),
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        return ended.returncode

    with ThreadPoolExecutor(jobs) as pool:
        return Counter(pool.map(code, range(runs)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=14)
    parser.add_argument("--jobs", type=int, default=3, help="at once")
    parser.add_argument("--rlprof", type=Path, default=ROOT, metavar="PATH", help="a checkout")
    arguments = parser.parse_args()
    compiled = [sys.executable, str(PROGRAMS / "compiled_branches.py")]
    across = [sys.executable, str(PROGRAMS / "ranges_across_profilers.py")]
    rows = []
    with tempfile.TemporaryDirectory() as folder:

        def recorded(number: int) -> Sequence[str]:
            file = Path(folder) / f"{number}.rlprof"
            return rlprof_run(file, "--torch", "always", command=compiled)

        for name, command in (
            ("torch.compile, with rlprof", recorded),
            ("torch.compile, bare", lambda _: compiled),
            ("ranges across two profilers of its own, bare", lambda _: across),
        ):
            found = codes(command, arguments.rlprof, arguments.runs, arguments.jobs)
            crashed = arguments.runs - found[0]
            ends = " ".join(map(str, sorted(found)))
            rows.append([name, str(arguments.runs), str(crashed), ends])
            say(" ".join(rows[-1]))
    print_table(
        "Runs that die of torch's profiler", ["program", "runs", "crashed", "exit codes"], rows
    )


if __name__ == "__main__":
    main()
