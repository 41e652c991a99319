"""What taking turns does to the noise of a pair, and to its truth (``rlprof check --interleave``).

    python benchmarks/turns.py --pairs 5

Each pair of runs is made twice, one after the other and in turns, in alternation; prints a Markdown table. The
first case is a program and itself, the others differ by what stands in their row. What waits for longer than
a turn is refused.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from math import exp, log
from pathlib import Path
from statistics import stdev
from typing import NamedTuple

from measuring import Spread, print_table, say

from rlprof.errors import MeasureError
from rlprof.gate.bases import programs_in_turn
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.processes import adopting_orphans
from rlprof.gate.program import Counting, Program, Side
from rlprof.gate.runner import Runner

SCRIPT = """
import sys, time
import rlprof

steps, work, waited_s = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
for _ in range(steps):
    sum(range(work))
    if waited_s:
        time.sleep(waited_s)
    rlprof.step()
"""


class Case(NamedTuple):
    name: str
    steps: int
    base: tuple[int, float]
    """Numbers added up in a step, and seconds that it sleeps."""
    head: tuple[int, float]


CASES = (
    Case("works; against itself", 6000, (50_000, 0.0), (50_000, 0.0)),
    Case("works; a ninth more work", 6000, (45_000, 0.0), (50_000, 0.0)),
    Case("waits 4 ms; a ninth longer", 1500, (0, 0.0036), (0, 0.004)),
    Case("works and waits 2 ms; a ninth more work", 1500, (90_000, 0.002), (100_000, 0.002)),
    Case("works and waits 100 ms; a fifth longer", 60, (2_500_000, 0.1), (2_500_000, 0.12)),
)


def program(side: Side, script: Path, case: Case) -> Program:
    work, waited_s = case.base if side is Side.BASE else case.head
    return Program(
        side=side,
        command=(sys.executable, str(script), str(case.steps), str(work), str(waited_s)),
        script=script.name,
        folder=script.parent,
        environment=dict(os.environ),
        name=side.value,
    )


def log_ratio(runs: tuple[MeasuredRun, MeasuredRun]) -> float:
    rates = {run.side: run.sps.median for run in runs if run.sps is not None}
    return log(rates[Side.HEAD] / rates[Side.BASE])


def told(ratios: list[float]) -> tuple[str, str]:
    return Spread.of(map(exp, ratios)).text(), f"{100 * stdev(ratios):.1f} %"


def row(case: Case, script: Path, pairs: int) -> list[str]:
    base, head = (program(side, script, case) for side in Side)
    after, in_turns, refused = [], [], ""
    alone, sharing = (
        Runner(Path(tempfile.mkdtemp(dir=script.parent)), timeout_s=600, counting=Counting())
        for _ in range(2)
    )
    for pair in range(1, pairs + 1):
        say(f"{case.name}: pair {pair} of {pairs}")
        first, second = programs_in_turn(base, head, pair)
        after.append(log_ratio((alone.measure(first, pair), alone.measure(second, pair))))
        try:
            in_turns.append(log_ratio(sharing.measure_in_turns(first, second, pair)))
        except MeasureError as error:
            refused = error.slug
    beside = told(in_turns) if len(in_turns) > 1 else (f"refused ({refused})", "–")
    return [case.name, *told(after), *beside]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=8, help="of each kind (at least 2)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, adopting_orphans():
        script = Path(name) / "train.py"
        script.write_text(SCRIPT)
        rows = [row(case, script, arguments.pairs) for case in CASES]
    print_table(
        f"What turns are worth, {arguments.pairs} pairs",
        ["program", "one after the other", "noise of a pair", "in turns", "noise of a pair"],
        rows,
    )


if __name__ == "__main__":
    main()
