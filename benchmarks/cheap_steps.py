"""What counting costs trainings whose steps take microseconds, and how true the count is.

    python benchmarks/cheap_steps.py --rounds 5 --seconds 8

Each round runs a loop bare and recorded, in an order that alternates. A loop tells the CPU time of a step and the steps per second
of its second half itself. Steps are counted a part of the time there (decision 45): what rlprof tells is held against
what the recorded loop has told. ``--python`` needs gymnasium.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import median

from measuring import PROGRAMS, Spread, in_pairs, last_json, print_table, rlprof_run, run, say

LOOPS = {
    "corridor": "a corridor of its own, three lines a step",
    "q_learning": "tabular Q-learning, an environment of its own",
    "gymnasium_q_learning": "the same as a `gymnasium.Env`",
    "cart_pole": "CartPole of `gymnasium.make`, four calls deep",
}


def told_sps(run_file: Path) -> float:
    """Of the second half of what was counted, as the loop tells its own."""
    out, _ = run([sys.executable, "-m", "rlprof", "report", "--format", "json", str(run_file)])
    series = json.loads(out)["throughput"]["series"]
    rates = [float(point["sps"]) for point in series if point["sps"]]
    return median(rates[len(rates) // 2 :])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8.0, help="CPU time of each run")
    parser.add_argument("--python", default=sys.executable)
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.rlprof"
        for loop, words in LOOPS.items():
            program = [arguments.python, str(PROGRAMS / "cheap_steps.py"), loop]
            command = [*program, str(arguments.seconds)]

            def bare(command: list[str] = command) -> dict[str, float]:
                return last_json(run(command)[0])

            def recorded(command: list[str] = command) -> dict[str, float]:
                told = last_json(run(rlprof_run(file, command=command))[0])
                return {**told, "of_rlprof": told_sps(file)}

            pairs = in_pairs(arguments.rounds, bare, recorded)
            rows.append(
                [
                    words,
                    Spread.of(one["cpu_ns"] / 1000 for one, _ in pairs).text("{:.2f}"),
                    Spread.of(other["cpu_ns"] / one["cpu_ns"] for one, other in pairs).text(),
                    Spread.of(other["of_rlprof"] / other["sps"] for _, other in pairs).text(),
                ]
            )
            say(" | ".join(rows[-1]))
    headers = ["loop", "a step, bare, µs", "CPU time of a step, of bare", "sps told, of true"]
    print_table("Steps of microseconds", headers, rows)


if __name__ == "__main__":
    main()
