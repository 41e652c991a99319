"""Prices on a machine that other programs use too: are they true there?

    python benchmarks/crowded.py --rounds 3

A training whose torch has two compute threads is recorded beside programs that keep a core busy each. Then it runs beside
them in turn with two others: one with a single compute thread, and one without its eager log messages.
Needs torch, and two cores to be crowded: with more, ``taskset --cpu-list 0,1`` in front.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from measuring import (
    Spread,
    last_json,
    print_table,
    rlprof_run,
    run,
    say,
    training_environment,
)

PROGRAM = "benchmarks.programs.crowded_training"
FIXES = {"thread-oversubscription": "one compute thread", "eager-log-format": "lazy messages"}


class Case(NamedTuple):
    others: int
    """Programs that keep a core busy each."""
    width: int
    """Of the network."""


def command(case: Case, seconds: float, *, threads: int = 2, eager: bool = True) -> list[str]:
    return [
        *(sys.executable, "-m", PROGRAM, "--threads", str(threads), "--width", str(case.width)),
        *("--seconds", str(seconds), *(["--eager"] if eager else [])),
    ]


@contextmanager
def others_at_work(number: int) -> Iterator[None]:
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def told(case: Case, seconds: float) -> dict[str, str]:
    """What the report promises for each fix: saved share, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        run_file = Path(folder, "crowded.rlprof")
        run(rlprof_run(run_file, command=command(case, seconds)), training_environment())
        report, _ = run(
            [sys.executable, "-m", "rlprof", "report", str(run_file), "--format", "json"]
        )
    shares = {load["id"]: load["saved_share"] for load in json.loads(report)["findings"]}
    return {
        fix: f"{shares[fix]['low']:.2f} to {shares[fix]['high']:.2f}" if fix in shares else "-"
        for fix in FIXES
    }


def measured(case: Case, seconds: float, rounds: int) -> dict[str, Spread]:
    """The part of the time that each fix saves."""
    saved: dict[str, list[float]] = {fix: [] for fix in FIXES}
    for _ in range(rounds):
        now, one_thread, lazy = (
            float(last_json(run(arguments, training_environment())[0])["sps"])
            for arguments in (
                command(case, seconds),
                command(case, seconds, threads=1),
                command(case, seconds, eager=False),
            )
        )
        saved["thread-oversubscription"].append(1 - now / one_thread)
        saved["eager-log-format"].append(1 - now / lazy)
    return {fix: Spread.of(values) for fix, values in saved.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=8.0, help="of each run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--recordings", type=int, default=2)
    options = parser.parse_args()
    rows = []
    for case in [Case(others, width) for width in (64, 512) for others in (0, 1, 2)]:
        say(f"width {case.width} beside {case.others}")
        with others_at_work(case.others):
            promises = [told(case, options.seconds) for _ in range(options.recordings)]
            found = measured(case, options.seconds, options.rounds)
        for fix, name in FIXES.items():
            rows.append(
                [
                    *(str(case.width), str(case.others), name),
                    ", ".join(promise[fix] for promise in promises),
                    found[fix].text("{:.2f}"),
                ]
            )
            say("  " + " | ".join(rows[-1]))
    print_table(
        "Prices beside other programs: the part of the time saved",
        ("width of the network", "busy programs beside it", "fix", "told", "measured"),
        rows,
    )


if __name__ == "__main__":
    main()
