"""The cost of rlprof to a training on a GPU, with and without windows of torch's profiler.

    python benchmarks/on_a_gpu.py [--stages 2,7,8] [--rounds 3] [--keep DIR]

Each stage of the ppo example runs bare, under rlprof, and under rlprof with ``--torch always``, in rounds of which every other one goes
backwards, and tells its own steps per second. Takes about half a minute a run on an H200. ``--keep`` leaves the recordings, for their reports.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from ladder import SPS
from measuring import ROOT, Spread, print_table, rlprof_run, run, say, training_environment

EXAMPLE = ROOT / "examples" / "ppo"
WAYS = {"bare": None, "rlprof": (), "with windows": ("--torch", "always")}
"""Options of ``rlprof run`` by what a run is called; None without rlprof."""


def rate(stage: str, options: Sequence[str] | None, run_file: Path) -> float:
    """Steps per second that the stage prints."""
    program = [sys.executable, str(EXAMPLE), "--stage", stage]
    command = program if options is None else rlprof_run(run_file, *options, command=program)
    printed, _ = run(command, training_environment())
    found = SPS.search(printed)
    if found is None:
        raise SystemExit(f"stage {stage} printed no sps: {printed!r}")
    return float(found[1])


def measured(stage: str, rounds: int, kept: Path) -> list[str]:
    rates: dict[str, list[float]] = defaultdict(list)
    for number in range(rounds):
        names = list(WAYS)
        for name in reversed(names) if number % 2 else names:
            run_file = kept / f"{stage}-{name.replace(' ', '-')}-{number}.rlprof"
            rates[name].append(rate(stage, WAYS[name], run_file))
            say(f"stage {stage}, {name}: {rates[name][-1]:.0f} sps")
    bare = rates.pop("bare")
    parts = [
        Spread.of(own / of for own, of in zip(own_rates, bare, strict=True))
        for own_rates in rates.values()
    ]
    return [stage, Spread.of(bare).text("{:.0f}"), *(part.text() for part in parts)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--stages", default="2,7,8", help="of the ppo example")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the recordings here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        kept = (arguments.keep or Path(scratch)).absolute()
        kept.mkdir(parents=True, exist_ok=True)
        rows = [measured(stage, arguments.rounds, kept) for stage in arguments.stages.split(",")]
    heads = ["stage", "sps bare", *(f"{name}, part of it" for name in WAYS if name != "bare")]
    print_table("Steps per second on a GPU", heads, rows)


if __name__ == "__main__":
    main()
