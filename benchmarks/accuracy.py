"""Whether the right cause is found first, and whether its price holds.

    python benchmarks/accuracy.py [--pairs a,b] [--innocents c] [--rounds 5] [--json FILE]
    python benchmarks/accuracy.py --keep DIR    # keeps recordings and measurements
    python benchmarks/accuracy.py --again DIR   # judges those by the model of today

Each program with one fault is recorded under rlprof; then the program and its fixed version run
without rlprof, two at a time in turns of a fraction of a second, and tell their own pace. Each step of the example ladders is
such a pair too. Healthy programs must get no finding. ``programs/expected.toml`` says what should
be found in which program. Takes more than an hour in full.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cases import SPS_OF_A_STAGE, Case, innocents, ladder_steps, pairs
from measuring import machine, print_table, rlprof_run, say
from neighbours import wait_for_quiet
from run_ends import (
    QUIET_CORES,
    Command,
    Ended,
    ProgramFailedError,
    pairs_in_turns,
    run_to_the_end,
)
from verdict import Measured, Prediction, Run, Verdict, read_prediction, totals

MEASUREMENTS = "measurements.json"
"""(steps per second, neighbours' cores) before and after the fix, of each pair of runs."""


def rate_of(case: Case, run: Ended) -> float:
    """Steps per second as the program itself tells, or runs per second by our own clock."""
    if case.by_wall:
        return 1 / run.wall_s
    if not case.prints_words:
        return float(run.told["sps"])
    found = SPS_OF_A_STAGE.search(run.stdout)
    if found is None:
        raise ProgramFailedError(f"{case.name} printed no sps: {run.stdout!r}")
    return float(found[1])


def report_on(run_file: Path) -> dict[str, Any]:
    rlprof = [sys.executable, "-m", "rlprof"]
    report = run_to_the_end([*rlprof, "report", str(run_file), "--format", "json"])
    document: dict[str, Any] = json.loads(report)
    return document


def predicted(case: Case, run_file: Path) -> Prediction:
    """What the report on a recording says."""
    return read_prediction(report_on(run_file), case.expected)


def measure(case: Case, folder: Path, recordings: int, rounds: int, patience_s: float) -> None:
    """Record ``case`` and time its pairs; all that judging needs is then in ``folder``."""
    say(f"{case.name}: {recordings} recordings" + (f", {rounds} pairs" if case.after else ""))
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(recordings):
        wait_for_quiet(QUIET_CORES, patience_s)
        run_file = folder / f"{number}.rlprof"
        run_to_the_end(rlprof_run(run_file, command=[sys.executable, *case.recorded]))
    measure_pairs(case, folder, rounds, patience_s)


def measure_pairs(case: Case, folder: Path, rounds: int, patience_s: float) -> None:
    """Time ``case`` before and after its fix, if it has one."""
    if case.after is not None:
        commands = [
            Command([sys.executable, *arguments]) for arguments in (case.before, case.after)
        ]
        timings = [
            tuple(Run(rate_of(case, run), cores) for run in (before, after))
            for before, after, cores in pairs_in_turns(rounds, *commands, patience_s)
        ]
        (folder / MEASUREMENTS).write_text(json.dumps(timings) + "\n")


def measured_pairs(folder: Path) -> Measured:
    """Return what :func:`measure_pairs` left there."""
    timings = json.loads((folder / MEASUREMENTS).read_text())
    return Measured.of([(Run(*before), Run(*after)) for before, after in timings])


def judge(case: Case, folder: Path) -> Verdict:
    """What the reports say of the recordings in ``folder``, against what was measured."""
    predictions = tuple(predicted(case, run_file) for run_file in sorted(folder.glob("*.rlprof")))
    measured = None if case.after is None else measured_pairs(folder)
    verdict = Verdict(case.name, case.expected, predictions, measured)
    say("  " + " | ".join(pair_row(verdict) if measured else innocent_row(verdict)))
    return verdict


def folder_of(case: Case, kept: Path) -> Path:
    """Where the recordings and measurements of ``case`` lie below ``kept``."""
    return kept / case.name.replace(" ", "_")


def pair_row(verdict: Verdict) -> list[str]:
    measured = verdict.measured
    assert measured is not None
    rank = "not listed" if verdict.rank is None else str(verdict.rank)
    return [
        verdict.name,
        f"`{verdict.expected.finding}`" + (", free" if verdict.expected.worth_nothing else ""),
        f"{len(verdict.predictions)}, {len(measured.savings)}",
        f"[{verdict.low:.2f}, {verdict.high:.2f}]",
        f"{measured.median:.2f} ({min(measured.savings):.2f} to {max(measured.savings):.2f})",
        f"{measured.neighbours:.1f}",
        f"{verdict.error:+.1f}",
        "yes" if verdict.is_in_range else "**no**",
        rank if verdict.is_first else f"**{rank}**",
        ", ".join(verdict.false) or "none",
    ]


def innocent_row(verdict: Verdict) -> list[str]:
    listed = sorted({name for prediction in verdict.predictions for name in prediction.listed})
    return [
        verdict.name,
        str(len(verdict.predictions)),
        ", ".join(verdict.false) or "none",
        ", ".join(listed) or "nothing",
    ]


def show(judged: Sequence[Verdict]) -> None:
    faulty = [verdict for verdict in judged if verdict.measured is not None]
    healthy = [verdict for verdict in judged if verdict.measured is None]
    if faulty:
        print_table(
            "Prices (shares of time per step)",
            [
                "program",
                "right finding",
                "recordings, pairs",
                "predicted",
                "measured saving, median (range)",
                "neighbours, cores",
                "error, points",
                "in range",
                "rank",
                "false findings",
            ],
            [pair_row(verdict) for verdict in faulty],
        )
    if healthy:
        print_table(
            "Innocents",
            ["program", "recordings", "false findings", "all that was listed"],
            [innocent_row(verdict) for verdict in healthy],
        )
    print_table(
        "Targets",
        ["what", "reached", "target", "met"],
        [
            [row.what, row.reached, row.target, "yes" if row.is_met else "**no**"]
            for row in totals(faulty, healthy)
        ],
    )


def as_json(judged: Sequence[Verdict]) -> dict[str, Any]:
    """All figures behind the tables."""
    rows = []
    for verdict in judged:
        row: dict[str, Any] = {
            "name": verdict.name,
            "finding": verdict.expected.finding,
            "worth_nothing": verdict.expected.worth_nothing,
            "predicted": {"low": verdict.low, "high": verdict.high},
            "rank": verdict.rank,
            "false": verdict.false,
            "recordings": [asdict(prediction) for prediction in verdict.predictions],
        }
        if verdict.measured is not None:
            row["measured"] = {
                "median": verdict.measured.median,
                "uncertainty": verdict.measured.uncertainty,
                "savings": verdict.measured.savings,
                "neighbours_cores": verdict.measured.neighbours,
            }
            row["error_points"] = verdict.error
            row["in_range"] = verdict.is_in_range
        rows.append(row)
    return {"machine": machine(), "programs": rows}


def chosen(arguments: argparse.Namespace) -> list[Case]:
    """All programs, or those that are named."""
    # Two in turns take twice as long.
    known = [*pairs(2 * arguments.seconds), *ladder_steps(), *innocents()]
    if arguments.pairs is None and arguments.innocents is None:
        return known
    wanted = [*(arguments.pairs or "").split(","), *(arguments.innocents or "").split(",")]
    by_name = {case.name: case for case in known}
    names = [name.strip() for name in wanted if name.strip()]
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise SystemExit(f"no such program: {', '.join(unknown)}; there are {', '.join(by_name)}")
    return [by_name[name] for name in names]


def main() -> None:
    parser = parser_of_programs(__doc__ or "")
    parser.add_argument("--innocents", metavar="C,D", help="only these innocents")
    parser.add_argument("--recordings", type=int, default=3, help="under rlprof")
    parser.add_argument(
        "--seconds", type=float, default=6.0, help="of its own turns that a run without rlprof has"
    )
    arguments = parser.parse_args()
    if arguments.rounds < 1 or arguments.recordings < 1:
        parser.error("one round and one recording are the least")
    in_a_folder(judge_all, arguments)


def parser_of_programs(description: str) -> argparse.ArgumentParser:
    """The options of a benchmark that measures programs and judges them."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--pairs", metavar="A,B", help="only these programs with a fault")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of runs without rlprof")
    parser.add_argument(
        "--patience",
        type=float,
        default=60.0,
        metavar="S",
        help="how long to wait before each run for others to leave the machine alone",
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave what was measured there")
    parser.add_argument(
        "--again", type=Path, metavar="DIR", help="measure nothing: judge what --keep left there"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures there")
    return parser


def in_a_folder(
    judge: Callable[[argparse.Namespace, Path], None], arguments: argparse.Namespace
) -> None:
    """Judge in the folder of ``--again`` or ``--keep``, else in one that goes at the end."""
    # So that being ended ends the programs, too: they would spoil what is measured next.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory() as scratch:
        judge(arguments, arguments.again or arguments.keep or Path(scratch))


def judge_all(arguments: argparse.Namespace, kept: Path) -> None:
    judged, failed = [], []
    for case in chosen(arguments):
        folder = folder_of(case, kept)
        if arguments.again and not any(folder.glob("*.rlprof")):
            continue
        try:
            if not arguments.again:
                measure(case, folder, arguments.recordings, arguments.rounds, arguments.patience)
            judged.append(judge(case, folder))
        except ProgramFailedError as reason:
            # The others take an hour and are worth knowing.
            say(f"{case.name} could not be judged: {reason}")
            failed.append(case.name)
            continue
        if arguments.json is not None:
            # After each, since the whole takes long.
            arguments.json.write_text(json.dumps(as_json(judged), indent=2) + "\n")
    show(judged)
    if failed:
        raise SystemExit(f"could not be judged: {', '.join(failed)}")


if __name__ == "__main__":
    main()
