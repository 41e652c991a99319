"""What goes besides the lines themselves when they are taken out of a training.

    python benchmarks/knock_on.py --seconds 12 --rounds 3

Lines of several kinds are put into two trainings, a few times a step or often. A clock around them tells their share
s of the time; the same training without them, in turns of one process, tells what is saved. The rest runs faster
without them by k · s; the constant ``KNOCK_ON`` of ``rlprof/pricing/samples.py`` stands for a high k. Needs torch.
"""

from __future__ import annotations

import argparse
import sys
from typing import NamedTuple

from measuring import Spread, last_json, print_table, run, say

PROGRAM = "benchmarks.programs.costly_lines"


class Case(NamedTuple):
    rest: str
    lines: str
    times: int
    """A step."""


CASES = (
    Case("torch", "f-string", 1),
    Case("torch", "f-string", 8),
    Case("torch", "omegaconf", 2),
    Case("torch", "omegaconf", 8),
    Case("torch", "omegaconf", 32),
    Case("torch", "deepcopy", 4),
    Case("torch", "json", 4),
    Case("torch", "numpy", 2),
    Case("torch", "numpy", 8),
    Case("torch", "print", 1),
    Case("torch", "print", 8),
    Case("torch", "open", 1),
    Case("bandit", "f-string", 1),
    Case("bandit", "omegaconf", 1),
    Case("bandit", "deepcopy", 1),
    Case("bandit", "json", 1),
    Case("bandit", "numpy", 1),
    Case("bandit", "print", 1),
    Case("bandit", "open", 1),
)


class Found(NamedTuple):
    share: float
    """Of the time in the lines, by a clock around them."""
    saved: float
    """Of the time that goes with them."""

    @property
    def knock_on(self) -> float:
        """k of what is left: (1 - saved) = (1 - share) (1 - k share)."""
        return (1 - (1 - self.saved) / (1 - self.share)) / self.share


def measured(case: Case, seconds: float) -> Found:
    command = [
        *(sys.executable, "-m", PROGRAM, "--rest", case.rest, "--lines", case.lines),
        *("--times", str(case.times), "--seconds", str(seconds)),
    ]
    told = last_json(run(command)[0])
    return Found(told["share"], told["saved"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=12.0, help="of each process")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each case")
    parser.add_argument("--lines", nargs="+", metavar="L", help="only these")
    options = parser.parse_args()
    cases = [case for case in CASES if not options.lines or case.lines in options.lines]
    found: dict[Case, list[Found]] = {case: [] for case in cases}
    for number in range(options.rounds):
        for case in cases:
            say(f"round {number + 1}: {case.lines} x {case.times} in {case.rest}")
            found[case].append(measured(case, options.seconds))
    print_table(
        "What goes besides the lines",
        ("training", "lines", "a step", "share s, by a clock", "saved", "k"),
        [
            [
                case.rest,
                case.lines,
                str(case.times),
                Spread.of(measurement.share for measurement in of).text("{:.2f}"),
                Spread.of(measurement.saved for measurement in of).text("{:.2f}"),
                Spread.of(measurement.knock_on for measurement in of).text("{:.2f}"),
            ]
            for case, of in found.items()
        ],
    )


if __name__ == "__main__":
    main()
