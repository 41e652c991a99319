"""Measure what each part of rlprof costs a training, within one run: the parts are switched off in turns of a moment.

    python benchmarks/switched_parts.py --only policy updates --seconds 120
    python benchmarks/switched_parts.py --program train.py --seconds 120

Two runs of one program differ by 5 % and more on a shared machine; two moments that follow each other, by much less. A
part's figure is the median, over its turns, of the rate while it was off to the mean of the rates just before and after,
with the standard error of a median (1.25 standard deviations over the root of the turns). ``nothing`` switches nothing
off, and should be zero.

Without ``--program`` the programs are those of ``overhead.py``, and its stopwatch tells their steps; those of a program
of your own are the steps of its optimizers.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median, stdev
from typing import Any, NamedTuple

from measuring import PROGRAMS, print_table, rlprof_run, run, say, training_environment
from overhead import WORKLOADS, interpreter, missing

PARTS = ("nothing", "inside", "probe", "steps", "reads", "optimizers", "beside")
"""Of ``programs/switching.py``: ``inside`` is all of the agent, ``beside`` the recorder and the samplers."""

BEGIN_S = 45.0
"""Before the first turn: imports, the finer sampling of the first 30 s, and windows of torch's profiler, which are over then."""

_OF_A_MEDIAN = 1.25
"""Standard error of a median over that of a mean, for many values of a normal distribution (the root of half of pi)."""


class Cost(NamedTuple):
    """How much faster the program is without a part, as a part of its rate, with its standard error."""

    gain: float
    error: float
    turns: int

    def text(self) -> str:
        return f"{100 * self.gain:.1f} ± {100 * self.error:.1f} %"


def costs(turns: Sequence[Mapping[str, Any]], time: str) -> dict[str, Cost]:
    """By part, by the ``time`` (``wall_s`` or ``cpu_s``) of its turns."""
    gains: dict[str, list[float]] = {}
    for part, gain in _gains(turns, time):
        gains.setdefault(part, []).append(gain)
    return {
        part: Cost(median(each), _OF_A_MEDIAN * stdev(each) / len(each) ** 0.5, len(each))
        for part, each in gains.items()
        if len(each) > 2
    }


def _gains(turns: Sequence[Mapping[str, Any]], time: str) -> Iterator[tuple[str, float]]:
    for before, off, after in zip(turns, turns[1:], turns[2:], strict=False):
        if off["off"] is None or not all(each[time] for each in (before, off, after)):
            continue
        rates = [each["units"] / each[time] for each in (before, off, after)]
        if rates[0] + rates[2]:
            yield off["off"], rates[1] / ((rates[0] + rates[2]) / 2) - 1


def turns_of(
    python: Path, program: Path, arguments: Sequence[str], wanted: argparse.Namespace
) -> list[dict[str, Any]]:
    """Run ``program`` under rlprof, and return what its turns came to."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "turns.json"
        switched = [str(python), str(PROGRAMS / "switching.py"), "--tell", str(told)]
        switched += ["--begin", f"{wanted.begin:g}", "--turn", f"{wanted.turn:g}"]
        switched += [*(["--optimizer"] if wanted.program else []), "--parts", *wanted.parts, "--"]
        command = [*switched, str(program), *arguments]
        run(rlprof_run(Path(folder) / "run.rlprof", command=command), training_environment())
        turns: list[dict[str, Any]] = json.loads(told.read_text())
        return turns


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=list(WORKLOADS), help="some programs")
    parser.add_argument("--program", type=Path, help="one of your own, with a torch optimizer")
    parser.add_argument("--arguments", default="", help="of that program, in one string")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seconds", type=float, default=150.0, help="of each run")
    parser.add_argument(
        "--begin", type=float, default=BEGIN_S, help="seconds before the first turn"
    )
    parser.add_argument("--turn", type=float, default=0.1, help="seconds of a turn")
    parser.add_argument("--python", type=Path, help="interpreter of the programs; has psutil")
    wanted = parser.parse_args()
    python = interpreter(wanted.python)
    programs = {}
    if wanted.program is not None:
        programs[wanted.program.name] = (wanted.program, wanted.arguments.split())
    else:
        for key in wanted.only or WORKLOADS:
            workload = WORKLOADS[key]
            lacks = missing(workload, python)
            if lacks:
                say(f"left out: {workload.name}, for {python} lacks {lacks}")
            else:
                _, program, *options = workload.command(python, wanted.seconds)
                programs[workload.name] = (Path(program), options)
    rows = []
    for name, (program, options) in programs.items():
        say(name)
        turns = turns_of(python, program, options, wanted)
        by_wall, by_cpu = costs(turns, "wall_s"), costs(turns, "cpu_s")
        for part in wanted.parts:
            if part in by_wall:
                cpu = by_cpu[part].text() if part in by_cpu else "–"
                rows.append([name, part, by_wall[part].text(), cpu, str(by_wall[part].turns)])
    print_table(
        f"Parts of rlprof, in turns of {wanted.turn:g} s",
        ["program", "without", "faster, by wall time", "by CPU time of its main thread", "turns"],
        rows,
    )


if __name__ == "__main__":
    main()
