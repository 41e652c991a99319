"""What the stacks of the clock, those of the eye, and the choice between them say of lines whose share is known.

    python benchmarks/whose_stacks.py --seconds 10 --rounds 3

The programs of ``knock_on.py`` keep a clock of their own around the costly lines. Each is recorded with the stacks of the sampler
outside alone, with those of the probe inside alone, and as rlprof chooses, in turns.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from knock_on import CASES, PROGRAM, Case
from measuring import Spread, last_json, print_table, run, say
from overhead import interpreter

from rlprof.profile.build import build_profile
from rlprof.runfile.reader import read_run

CHOICES = {"clock": "True", "eye": "False", "choice": None}
"""What ``ClockTrust.holds`` is made to say."""

CLOCKED = "Clock.__call__"
"""The function of the programs that their own clock is in."""

BELOW = {"search": "searched"}
"""Lines whose time is to be told in a function that the clock calls."""

SHOWN = {
    ("torch", "f-string", 8),
    ("torch", "omegaconf", 8),
    ("torch", "numpy", 2),
    ("torch", "print", 8),
} | {("bandit", lines, 1) for lines in ("f-string", "omegaconf", "json", "numpy", "print")}


def shares(case: Case, choice: str, python: Path, seconds: float) -> tuple[float, float]:
    """By the program's clock, and by rlprof."""
    says = CHOICES[choice]
    chosen = "" if says is None else f"ClockTrust.holds = property(lambda self: {says}); "
    rlprof = (
        "from rlprof.recording.clock_trust import ClockTrust; "
        + chosen
        + "from rlprof.cli.commands import main; main()"
    )
    with tempfile.TemporaryDirectory() as folder:
        run_file = Path(folder, "lines.rlprof")
        recording = ["run", "--no-report", "-o", str(run_file), "--", str(python)]
        program = ["-m", PROGRAM, "--always", "--rest", case.rest, "--lines", case.lines]
        length = ["--times", str(case.times), "--seconds", str(seconds)]
        told = last_json(run([sys.executable, "-c", rlprof, *recording, *program, *length])[0])
        tree = build_profile(read_run(run_file)).steady
    inside = whole = 0
    for node in tree.hot_nodes():
        us = tree.self_cost(node).wall_us
        whole += us
        inside += us * any(
            tree.frame(place).function == BELOW.get(case.lines, CLOCKED)
            for place in (node, *tree.ancestors(node))
        )
    return told["share"], inside / whole


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="of each recording")
    parser.add_argument("--rounds", type=int, default=3, help="recordings of each choice")
    parser.add_argument("--python", type=Path, help="interpreter of the programs")
    options = parser.parse_args()
    python = interpreter(options.python).absolute()
    cases = [
        case
        for case in (*CASES, Case("torch", "array text", 4), Case("torch", "search", 4))
        if case in SHOWN or case not in CASES
    ]
    off: dict[tuple[Case, str], list[float]] = {}
    true: dict[Case, list[float]] = {}
    for number in range(options.rounds):
        for case in cases:
            for choice in CHOICES:
                say(f"round {number + 1}: {case.lines} x {case.times} in {case.rest}, by {choice}")
                clock, told = shares(case, choice, python, options.seconds)
                true.setdefault(case, []).append(clock)
                off.setdefault((case, choice), []).append(told - clock)
    print_table(
        "Told less true share",
        ("training", "lines", "a step", "true", *CHOICES),
        [
            [
                *(case.rest, case.lines, str(case.times), Spread.of(true[case]).text("{:.2f}")),
                *(Spread.of(off[case, choice]).text("{:+.3f}") for choice in CHOICES),
            ]
            for case in cases
        ],
    )


if __name__ == "__main__":
    main()
