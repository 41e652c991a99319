"""Judge rlprof on programs that nobody has seen, composed by a seed.

    python benchmarks/mutants.py SEED --count 48 --rounds 5 --seconds 8
    python benchmarks/mutants.py SEED --write-only DIR    # the programs, to be read

A healthy program (``mutation/hosts/``) gets one fault, in one of many forms, under names of its own. The
truth is the program against its fixed version, run in turns without rlprof; the prediction is one
recording of the program as a user would make it. Each host is recorded healthy, too.

A seed whose programs or reports somebody has looked at is spent: it may be developed on, and its
figures count no more. Programs whose fault turns out to take less than 5 % are measured, but judged
by nobody. `--python` names an interpreter with torch, gymnasium, Stable-Baselines3 and TorchRL;
otherwise an environment is made below build/. What needs a package that is not there is left out
with the reason. The two take turns of a fraction of a second (``run_ends.py``): one after the other they
were up to 0.2 off, in pairs that agreed.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any

from laboratory import LEAST_TRUTH, Laboratory, share
from measuring import machine, print_table, say
from mutation.compose import Mutant, healthy, mutants_of, written
from overhead import FREE, Workload, interpreter, missing
from run_ends import ProgramFailedError
from verdict import Expectation, Prediction, Verdict, read_prediction

STARTS_PROCESSES = frozenset({"process-startup"})
"""A training in processes of its own imports everything again; in some seconds that is a good part."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One program with what was said of it."""

    mutant: Mutant
    verdict: Verdict
    left_of: str = ""
    """Ids of what was listed before the right finding, or of all where it was not listed."""

    @property
    def truth(self) -> float:
        assert self.verdict.measured is not None
        return self.verdict.measured.median

    @property
    def counts(self) -> bool:
        """Whether the fault is one."""
        assert self.mutant.fault is not None
        return self.mutant.fault.is_free or self.truth >= LEAST_TRUTH


def expected(mutant: Mutant, report: dict[str, Any]) -> Expectation:
    """What may be said of a program; of several right causes the one that is listed first."""
    allowed = mutant.host.allowed
    if mutant.disguise == "process":
        allowed |= STARTS_PROCESSES
    if mutant.fault is None:
        return Expectation("", allowed)
    said = [finding["id"] for finding in [*report["findings"], *report.get("also_seen", [])]]
    right = mutant.fault.right
    told = next((name for name in said if name in right), right[0])
    allowed |= mutant.fault.allowed
    if not mutant.fault.is_free:
        allowed |= frozenset(right)
    return Expectation(told, allowed, mutant.fault.is_free)


def judge(mutant: Mutant, laboratory: Laboratory, folder: Path) -> Judged:
    """Measure and record one program."""
    place = folder / mutant.name
    before, after = (
        written(mutant, fixed=fixed).into(place / name)
        for fixed, name in ((False, "mutant"), (True, "fixed"))
    )
    assert mutant.fault is not None
    measured = laboratory.measured(
        before, after, waits=not mutant.host.is_alone or mutant.fault.waits
    )
    report = laboratory.report(before, place / "mutant.rlprof")
    prediction = read_prediction(report, expected(mutant, report))
    rank = len(prediction.listed) if prediction.rank is None else prediction.rank - 1
    verdict = Verdict(mutant.name, expected(mutant, report), (prediction,), measured)
    return Judged(mutant, verdict, ", ".join(prediction.listed[:rank]))


def judge_host(mutant: Mutant, laboratory: Laboratory, folder: Path) -> Verdict:
    """Record one healthy program."""
    program = written(mutant, fixed=True).into(folder / mutant.name / "host")
    report = laboratory.report(program, program.parent.with_suffix(".rlprof"))
    prediction: Prediction = read_prediction(report, expected(mutant, report))
    return Verdict(mutant.name, expected(mutant, report), (prediction,), None)


def lacks(mutant: Mutant, python: Path) -> str:
    """Packages that a program needs and the interpreter has not."""
    extra = mutant.fault.needs if mutant.fault else ()
    return _missing((*mutant.host.needs, *extra), python)


@lru_cache
def _missing(needs: tuple[str, ...], python: Path) -> str:
    return missing(Workload("", FREE, "", needs=needs), python)


def row(judged: Judged) -> list[str]:
    verdict, measured = judged.verdict, judged.verdict.measured
    assert measured is not None
    rank = "not listed" if verdict.rank is None else str(verdict.rank)
    return [
        judged.mutant.name,
        verdict.expected.finding + (", free" if verdict.expected.worth_nothing else ""),
        f"{measured.median:.2f} ({min(measured.savings):.2f} to {max(measured.savings):.2f})",
        f"[{verdict.low:.2f}, {verdict.high:.2f}]",
        rank if verdict.is_first else f"**{rank}**",
        ("yes" if verdict.is_in_range else "**no**") if judged.counts else "too small",
        f"{verdict.error:+.1f}",
        judged.left_of or "–",
        ", ".join(verdict.false) or "none",
    ]


def grouped(judged: Sequence[Judged], key: Callable[[Mutant], str]) -> list[list[str]]:
    """One row for each fault, form or host: how its programs fared."""
    rows = []
    for name in sorted({key(one.mutant) for one in judged}):
        verdicts = [one.verdict for one in judged if key(one.mutant) == name]
        rows.append(
            [
                name,
                share(verdict.is_first for verdict in verdicts),
                share(verdict.is_within for verdict in verdicts),
                share(verdict.is_in_range for verdict in verdicts),
                f"{median(abs(verdict.error) for verdict in verdicts):.1f}",
            ]
        )
    return rows


def show(judged: Sequence[Judged], hosts: Sequence[Verdict], left_out: Sequence[str]) -> None:
    counted = [one for one in judged if one.counts]
    heads = ["right", "saved", "promised", "rank", "in range", "error", "before it", "false"]
    print_table("Programs", ["program", *heads], [row(one) for one in judged])
    if counted:
        figures = ["first", "in the first three", "in range", "median error, points"]
        whole = grouped(counted, lambda _: "all")
        print_table("All", ["programs", *figures], whole)
        print_table("By fault", ["fault", *figures], grouped(counted, _fault))
        print_table("By disguise", ["disguise", *figures], grouped(counted, _disguise))
        print_table("By host", ["host", *figures], grouped(counted, _host))
    clean = share(not verdict.false for verdict in hosts)
    print_table(
        f"Healthy hosts without a false finding: {clean}",
        ["host", "false findings"],
        [[verdict.name, ", ".join(verdict.false) or "none"] for verdict in hosts],
    )
    taken = [one.verdict.measured.neighbours for one in judged if one.verdict.measured]
    if taken:
        print(f"\nOther programs took {median(taken):.1f} cores in the median program.")
    small = len(judged) - len(counted)
    print(f"\nFaults that took less than {100 * LEAST_TRUTH:.0f} %, and are not counted: {small}.")
    for line in left_out:
        print(line)


def _fault(mutant: Mutant) -> str:
    return mutant.fault.name if mutant.fault else ""


def _disguise(mutant: Mutant) -> str:
    return mutant.disguise


def _host(mutant: Mutant) -> str:
    return mutant.host.name


def as_json(judged: Sequence[Judged], hosts: Sequence[Verdict]) -> str:
    """All figures behind the tables."""
    programs = []
    for one in judged:
        verdict, measured = one.verdict, one.verdict.measured
        assert measured is not None
        assert one.mutant.fault is not None
        programs.append(
            {
                "name": one.mutant.name,
                "host": one.mutant.host.name,
                "fault": one.mutant.fault.name,
                "disguise": one.mutant.disguise,
                "right": verdict.expected.finding,
                "is_free": verdict.expected.worth_nothing,
                "counts": one.counts,
                "meant": one.mutant.share,
                "savings": measured.savings,
                "neighbours_cores": measured.neighbours,
                "rank": verdict.rank,
                "in_range": verdict.is_in_range,
                "error_points": verdict.error,
                "prediction": asdict(verdict.predictions[0]),
            }
        )
    healthy_ones = [{"name": verdict.name, "false": verdict.false} for verdict in hosts]
    whole = {"machine": machine(), "programs": programs, "hosts": healthy_ones}
    return json.dumps(whole, indent=2) + "\n"


def chosen(arguments: argparse.Namespace) -> list[Mutant]:
    """The seed's programs, or those of some faults and hosts."""
    found = mutants_of(arguments.seed, arguments.count)
    for wanted, key in ((arguments.faults, _fault), (arguments.hosts, _host)):
        if wanted:
            found = [mutant for mutant in found if key(mutant) in wanted]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("seed", type=int)
    parser.add_argument("--count", type=int, default=48, help="programs with a fault")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of runs without rlprof")
    parser.add_argument("--seconds", type=float, default=8.0, help="that each trains")
    parser.add_argument("--faults", nargs="+", metavar="F", help="only these of the seed's")
    parser.add_argument("--hosts", nargs="+", metavar="H", help="only these of the seed's")
    parser.add_argument("--python", type=Path, help="interpreter of the programs")
    parser.add_argument(
        "--patience", type=float, default=30.0, metavar="S", help="to wait for a quiet machine"
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave programs and recordings")
    parser.add_argument("--write-only", type=Path, metavar="DIR", help="write programs, run none")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures there")
    arguments = parser.parse_args()
    if arguments.rounds < 1 or arguments.count < 1:
        parser.error("one round and one program are the least")
    if arguments.write_only is not None:
        for mutant in chosen(arguments):
            for fixed, name in ((False, "mutant"), (True, "fixed")):
                written(mutant, fixed=fixed).into(arguments.write_only / mutant.name / name)
        return
    # So that being ended ends the programs, too: they would spoil what is measured next.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory() as scratch:
        judge_all(arguments, arguments.keep or Path(scratch))


def judge_all(arguments: argparse.Namespace, folder: Path) -> None:
    laboratory = Laboratory(
        interpreter(arguments.python).absolute(),
        arguments.seconds,
        arguments.rounds,
        arguments.patience,
    )
    drawn = chosen(arguments)
    used = {mutant.host.name: mutant.host for mutant in drawn}
    judged: list[Judged] = []
    hosts: list[Verdict] = []
    left_out: list[str] = []
    for mutant in [*drawn, *healthy(arguments.seed, used.values())]:
        absent = lacks(mutant, laboratory.python)
        if absent:
            left_out.append(f"Left out: {mutant.name}, for {laboratory.python} lacks {absent}.")
            continue
        say(mutant.name)
        try:
            if mutant.fault is None:
                hosts.append(judge_host(mutant, laboratory, folder.absolute()))
            else:
                judged.append(judge(mutant, laboratory, folder.absolute()))
                say("  " + " | ".join(row(judged[-1])[1:]))
        except ProgramFailedError as reason:
            # The others take an hour and are worth knowing.
            say(f"  could not be judged: {reason}")
            left_out.append(f"Could not be judged: {mutant.name}.")
        if arguments.json is not None:
            # After each, since the whole takes long.
            arguments.json.write_text(as_json(judged, hosts))
    show(judged, hosts, left_out)


if __name__ == "__main__":
    main()
