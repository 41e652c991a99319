"""What a step of CartPole costs where somebody has asked the environments for their ``__dict__``, and under rlprof.

    python benchmarks/objects_without_dict.py

Prints one Markdown table: the median and the spread of three runs each, taken in turns.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile

from measuring import PROGRAMS, Spread, environment, print_table

ROUNDS = 3
PROGRAM = str(PROGRAMS / "cart_pole_alone.py")
WITH_RLPROF = ("-m", "rlprof", "run", "--no-report", "--force", "-o")


def main() -> None:
    costs: dict[str, list[float]] = {"alone": [], "asked for their dict": [], "under rlprof": []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            for what, options in (
                ("alone", [PROGRAM]),
                ("asked for their dict", [PROGRAM, "--dict"]),
                ("under rlprof", [*WITH_RLPROF, f"{folder}/run.rlprof", PROGRAM]),
            ):
                answer = subprocess.run(
                    [sys.executable, *options],
                    capture_output=True,
                    text=True,
                    env=environment(),
                    check=True,
                )
                costs[what].append(float(answer.stdout.split()[-1]))
    rows = [[what, Spread.of(found).text("{:.2f}")] for what, found in costs.items()]
    print_table("A step of CartPole, µs of CPU time", ["environments", "µs"], rows)


if __name__ == "__main__":
    main()
