"""Measure an example's stages against each other: rounds interleaved, medians, as a Markdown table.

    python benchmarks/ladder.py [bandit] [--rounds 5]

One run of each stage after the other makes a round, so that a machine whose speed drifts
slows all stages alike.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import NamedTuple

from rlprof.units import count

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
SPS = re.compile(r"([\d.]+) sps")


class Stage(NamedTuple):
    number: int
    finding: str
    arguments: tuple[str, ...]


def read_ladder(example: Path) -> tuple[Stage, ...]:
    with (example / "ladder.toml").open("rb") as file:
        ladder = tomllib.load(file)
    return tuple(
        Stage(row["number"], row["finding"], tuple(row.get("sps_args", row["args"])))
        for row in ladder["stage"]
    )


def measure(example: Path, stage: Stage) -> float:
    """The sps that one run of ``stage`` prints."""
    answer = subprocess.run(
        [sys.executable, str(example), *stage.arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    printed = SPS.search(answer.stdout)
    if printed is None:
        raise SystemExit(f"{example} printed no sps: {answer.stdout!r}")
    return float(printed[1])


def table(stages: tuple[Stage, ...], measured: dict[int, list[float]]) -> str:
    lines = [
        "| stage | bottleneck | sps, median | lowest to highest | times the previous |",
        "|---|---|---|---|---|",
    ]
    previous: list[float] = []
    for stage in stages:
        values = measured[stage.number]
        lines.append(
            f"| {stage.number} | `{stage.finding}` | {count(round(median(values)))} "
            f"| {count(min(values))} to {count(max(values))} | {gain(previous, values)} |"
        )
        previous = values
    first = measured[stages[0].number]
    return "\n".join([*lines, f"| all | | | | {gain(first, previous)} |"])


def gain(before: list[float], after: list[float]) -> str:
    """How many times faster: the median over the rounds, whose runs met the same machine."""
    if not before:
        return ""
    return f"{median(new / old for old, new in zip(before, after, strict=True)):.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "example",
        nargs="?",
        default="bandit",
        choices=[path.parent.name for path in ROOT.glob("examples/*/ladder.toml")],
    )
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    example = ROOT / "examples" / arguments.example
    stages = read_ladder(example)
    measured: dict[int, list[float]] = {stage.number: [] for stage in stages}
    for _ in range(arguments.rounds):
        for stage in stages:
            measured[stage.number].append(measure(example, stage))
    print(table(stages, measured))
    print(
        f"\n{arguments.rounds} interleaved rounds; {len(os.sched_getaffinity(0))} cores, "
        f"{platform.system()}, Python {platform.python_version()}."
    )


if __name__ == "__main__":
    main()
