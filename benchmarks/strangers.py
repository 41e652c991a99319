"""Judge rlprof on programs that were written by people who had not seen it.

    python benchmarks/strangers.py DIR... [--rounds 3] [--seconds 8] [--keep RUNS]

Each folder has a ``slow.py`` with one fault, a ``fast.py`` without it, and a ``truth.json`` with what is wrong (``cause``), the ids
of the findings that say so (``right``; empty where rlprof knows no such cause), and ``waits`` where the fault waits rather than works,
or works in a thread beside: the truth is by wall time then, else by CPU time; with ``--until-stopped`` also ``steps``, a pattern of
the lines in which the programs print their steps so far, the number as its group (else the rates that they print are taken). It is the one against the other, run in turns without
rlprof; the prediction is one recording. The fixed program is recorded, too: it is healthy, and what it is told is listed to be read by
hand. A program that somebody has looked at to mend rlprof is spent: its figures count no more.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from laboratory import LEAST_TRUTH, Laboratory, share
from measuring import machine, print_table, say
from overhead import interpreter
from run_ends import ProgramFailedError
from verdict import FALSE_FROM, Expectation, Verdict, read_prediction


@dataclass(frozen=True, slots=True)
class Judged:
    cause: str
    verdict: Verdict
    listed: tuple[str, ...]
    of_fixed: tuple[str, ...]
    """Findings of the fixed program that promise something, with their places and shares, in words."""

    @property
    def counts(self) -> bool:
        return self.truth >= LEAST_TRUTH

    @property
    def truth(self) -> float:
        assert self.verdict.measured is not None
        return self.verdict.measured.median


def judge(folder: Path, laboratory: Laboratory, runs: Path) -> Judged:
    told: dict[str, Any] = json.loads((folder / "truth.json").read_text())
    slow, fast = folder / "slow.py", folder / "fast.py"
    steps = told.get("steps")
    measured = laboratory.measured(slow, fast, waits=told.get("waits", False), steps=steps)
    report = laboratory.report(slow, runs / f"{folder.name}.rlprof", steps)
    listed = tuple(finding["id"] for finding in report["findings"])
    right = next((name for name in listed if name in told["right"]), (told["right"] or [""])[0])
    # What else such a program has nobody knows: findings beside the right one are read by hand.
    expected = Expectation(right, frozenset(listed))
    verdict = Verdict(folder.name, expected, (read_prediction(report, expected),), measured)
    fixed = laboratory.report(fast, runs / f"{folder.name}.fixed.rlprof", steps)
    of_fixed = tuple(
        _promise(finding)
        for finding in fixed["findings"]
        if finding["saved_share"]["high"] >= FALSE_FROM
    )
    return Judged(told["cause"], verdict, listed, of_fixed)


def _promise(finding: Mapping[str, Any]) -> str:
    share_saved = finding["saved_share"]
    return f"{finding['title']} [{share_saved['low']:.2f}, {share_saved['high']:.2f}]"


def row(one: Judged) -> list[str]:
    verdict, measured = one.verdict, one.verdict.measured
    assert measured is not None
    return [
        verdict.name,
        one.cause,
        f"{measured.median:.2f} ({min(measured.savings):.2f} to {max(measured.savings):.2f})",
        f"[{verdict.low:.2f}, {verdict.high:.2f}]",
        "not listed" if verdict.rank is None else str(verdict.rank),
        ("yes" if verdict.is_in_range else "**no**") if one.counts else "too small",
        ", ".join(one.listed) or "none",
    ]


def show(judged: list[Judged]) -> None:
    counted = [one.verdict for one in judged if one.counts]
    heads = ["program", "what is slow", "saved", "promised", "rank", "in range", "listed"]
    print_table("Programs by strangers", heads, [row(one) for one in judged])
    fixed = [[one.verdict.name, "; ".join(one.of_fixed) or "nothing"] for one in judged]
    print_table("Told of the fixed programs", ["program", "findings"], fixed)
    if not counted:
        return
    print(f"\nFirst: {share(verdict.is_first for verdict in counted)}.")
    print(f"In range: {share(verdict.is_in_range for verdict in counted)}.")
    print(f"Median error: {median(abs(verdict.error) for verdict in counted):.1f} points.")
    print(f"Faults that took less than {100 * LEAST_TRUTH:.0f} %: {len(judged) - len(counted)}.")
    print(machine())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--rounds", type=int, default=3, help="pairs of runs without rlprof")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each run")
    parser.add_argument("--python", type=Path, help="interpreter of the programs")
    parser.add_argument(
        "--patience", type=float, default=30.0, metavar="S", help="to wait for a quiet machine"
    )
    parser.add_argument(
        "--until-stopped",
        action="store_true",
        help="they take no --seconds and train until they are stopped; take the steps or rates that they print",
    )
    parser.add_argument("--keep", type=Path, metavar="RUNS", help="leave the recordings here")
    arguments = parser.parse_args()
    laboratory = Laboratory(
        interpreter(arguments.python).absolute(),
        arguments.seconds,
        arguments.rounds,
        arguments.patience,
        arguments.until_stopped,
    )
    judged: list[Judged] = []
    with tempfile.TemporaryDirectory() as scratch:
        runs = (arguments.keep or Path(scratch)).absolute()
        runs.mkdir(parents=True, exist_ok=True)
        for folder in arguments.folders:
            say(folder.name)
            try:
                judged.append(judge(folder.absolute(), laboratory, runs))
            except ProgramFailedError as reason:
                # The others take long, and are worth knowing.
                say(f"  could not be judged: {reason}")
                continue
            say("  " + " | ".join(row(judged[-1])[2:]))
    show(judged)


if __name__ == "__main__":
    main()
