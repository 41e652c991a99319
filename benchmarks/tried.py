"""Whether what `rlprof try` measures is what the fix really saves.

    python benchmarks/tried.py [--pairs a,b] [--rounds 5] [--json FILE]
    python benchmarks/tried.py --keep DIR    # keeps run files and measurements
    python benchmarks/tried.py --again DIR   # judges those anew

Each program with one fault of ``benchmarks/accuracy.py``, each step of the example ladders too, trains for a long time under
``rlprof try``, which is told to try that one finding. Where it could, the program and its fixed version run in interleaved pairs
without rlprof, and tell their own pace. Takes some two hours in full.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from accuracy import (
    folder_of,
    in_a_folder,
    measure_pairs,
    measured_pairs,
    parser_of_programs,
    report_on,
)
from cases import LONG_S, Case, ladder_steps, pairs
from measuring import machine, print_table, say
from neighbours import wait_for_quiet
from run_ends import QUIET_CORES, Command, ProgramFailedError, ended
from tried_verdict import Tried, TriedVerdict, read_tried, totals

TIMEOUT_S = 2.0 * LONG_S

RUN_FILE = "try.rlprof"
TOLD = "try.txt"
"""What ``rlprof try`` and the program wrote to stderr."""

REFUSAL = re.compile(
    r"^rlprof: (?:does not try [^:]+(?::\d+\))?|error): (?P<why>.+)$", re.MULTILINE
)


def try_finding(case: Case, folder: Path, patience_s: float) -> None:
    """Have the finding of ``case`` tried; what came of it is then in ``folder``."""
    say(f"{case.name}: tries {case.expected.finding}")
    folder.mkdir(parents=True, exist_ok=True)
    wait_for_quiet(QUIET_CORES, patience_s)
    rlprof = [sys.executable, "-m", "rlprof", "try", "--force", "-o", str(folder / RUN_FILE)]
    options = ["--finding", case.expected.finding, "--budget", f"{LONG_S}s"]
    told = ended(Command([*rlprof, *options, *case.long]), timeout_s=TIMEOUT_S)
    (folder / TOLD).write_text(told.stderr)


def measure(case: Case, folder: Path, rounds: int, patience_s: float) -> None:
    """Try the finding, and where that could be done, time the pairs."""
    try_finding(case, folder, patience_s)
    if read(case, folder).measured is not None:
        say(f"{case.name}: {rounds} pairs")
        measure_pairs(case, folder, rounds, patience_s)


def read(case: Case, folder: Path) -> Tried:
    """What the report on the run in ``folder`` says of the try."""
    refusal = REFUSAL.search((folder / TOLD).read_text())
    why = refusal["why"] if refusal else ""
    if not (folder / RUN_FILE).exists():
        return Tried(why=why or "nothing was recorded")
    return read_tried(report_on(folder / RUN_FILE), case.expected.finding, why)


def judge(case: Case, folder: Path) -> TriedVerdict:
    tried = read(case, folder)
    true = None if tried.measured is None else measured_pairs(folder)
    verdict = TriedVerdict(case.name, case.expected.finding, tried, true)
    say("  " + " | ".join(verdict.row()))
    return verdict


def show(judged: Sequence[TriedVerdict]) -> None:
    print_table(
        "Tried in turns, and true (saved shares of the time per step)",
        [
            "pair",
            "finding",
            "treatment",
            "kind",
            "predicted",
            "tried",
            "true, median (range)",
            "error, points",
            "holds",
            "pairs of slots",
            "seconds",
        ],
        [verdict.row() for verdict in judged],
    )
    print()
    print_table("Together", ["what", "reached"], [[what, text] for what, text in totals(judged)])


def chosen(names: str | None) -> list[Case]:
    """All programs whose fault costs something, or those that are named."""
    known = [case for case in [*pairs(6.0), *ladder_steps()] if not case.expected.worth_nothing]
    if names is None:
        return known
    by_name = {case.name: case for case in known}
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in by_name]
    if unknown:
        raise SystemExit(f"no such program: {', '.join(unknown)}; there are {', '.join(by_name)}")
    return [by_name[name] for name in wanted]


def main() -> None:
    parser = parser_of_programs(__doc__ or "")
    arguments = parser.parse_args()
    if arguments.rounds < 2:
        parser.error("of fewer than two rounds nobody knows how far they lie apart")
    in_a_folder(judge_all, arguments)


def judge_all(arguments: argparse.Namespace, kept: Path) -> None:
    judged: list[TriedVerdict] = []
    failed = []
    for case in chosen(arguments.pairs):
        folder = folder_of(case, kept)
        if arguments.again and not (folder / TOLD).exists():
            continue
        try:
            if not arguments.again:
                measure(case, folder, arguments.rounds, arguments.patience)
            judged.append(judge(case, folder))
        except ProgramFailedError as reason:
            # The others take an hour and are worth knowing.
            say(f"{case.name} could not be judged: {reason}")
            failed.append(case.name)
            continue
        if arguments.json is not None:
            # After each, since the whole takes long.
            figures = {"machine": machine(), "programs": [asdict(verdict) for verdict in judged]}
            arguments.json.write_text(json.dumps(figures, indent=2) + "\n")
    show(judged)
    if failed:
        raise SystemExit(f"could not be judged: {', '.join(failed)}")


if __name__ == "__main__":
    main()
