"""Measure an example's stages against each other: rounds interleaved, medians, as Markdown tables.

    python benchmarks/ladder.py [bandit | actor_learner | ppo] [--rounds 5]

One run of each stage after the other makes a round, so that a machine whose speed drifts
slows all stages alike; every other round goes backwards.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
from collections.abc import Sequence
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

Measured = dict[str, list[float]]
"""Sps of each stage by name, a value for each round."""


class Stage(NamedTuple):
    number: int
    finding: str
    """What rlprof must find first; the next stage has its fix."""
    arguments: tuple[str, ...]
    device: str = ""
    """The only one where the finding costs anything; empty where it does on any."""

    @property
    def bottleneck(self) -> str:
        return f"`{self.finding}`" + (f", on {self.device} only" if self.device else "")


class Pair(NamedTuple):
    """Two stages beside the ladder, the second with the fix."""

    before: str
    after: str
    finding: str
    innocent: bool
    """Whether what is found there is worth nothing."""


class Ladder(NamedTuple):
    stages: tuple[Stage, ...]
    pairs: tuple[Pair, ...]

    def arguments(self) -> dict[str, tuple[str, ...]]:
        """How to run each stage, by name."""
        named = {str(stage.number): stage.arguments for stage in self.stages}
        beside = {name for pair in self.pairs for name in (pair.before, pair.after)}
        return named | {name: ("--stage", name) for name in sorted(beside - named.keys())}


def read_ladder(example: Path) -> Ladder:
    with (example / "ladder.toml").open("rb") as file:
        ladder = tomllib.load(file)
    return Ladder(
        tuple(
            Stage(
                row["number"],
                row["finding"],
                tuple(row.get("sps_args", row["args"])),
                row.get("device", ""),
            )
            for row in ladder["stage"]
        ),
        tuple(
            Pair(row["before"], row["after"], row["finding"], row.get("innocent", False))
            for row in ladder.get("pair", ())
        ),
    )


def measure(example: Path, arguments: Sequence[str]) -> float:
    """The sps that one run prints."""
    answer = subprocess.run(
        [sys.executable, str(example), *arguments], capture_output=True, text=True, check=True
    )
    printed = SPS.search(answer.stdout)
    if printed is None:
        raise SystemExit(f"{example} printed no sps: {answer.stdout!r}")
    return float(printed[1])


def measure_rounds(example: Path, ladder: Ladder, rounds: int) -> Measured:
    arguments = ladder.arguments()
    measured: Measured = {name: [] for name in arguments}
    for round_ in range(rounds):
        names = list(arguments)
        for name in reversed(names) if round_ % 2 else names:
            measured[name].append(measure(example, arguments[name]))
            told = f"round {round_ + 1}, stage {name}: {count(round(measured[name][-1]))} sps"
            print(told, file=sys.stderr, flush=True)
    return measured


def stage_table(stages: Sequence[Stage], measured: Measured) -> str:
    lines = [
        "| stage | bottleneck | sps, median | lowest to highest | times the previous |",
        "|---|---|---|---|---|",
    ]
    previous: list[float] = []
    for stage in stages:
        values = measured[str(stage.number)]
        lines.append(
            f"| {stage.number} | {stage.bottleneck} | {count(round(median(values)))} "
            f"| {count(min(values))} to {count(max(values))} | {gain(previous, values)} |"
        )
        previous = values
    first = measured[str(stages[0].number)]
    return "\n".join([*lines, f"| all | | | | {gain(first, previous)} |"])


def pair_table(pairs: Sequence[Pair], measured: Measured) -> str:
    lines = [
        "| stages | bottleneck | sps before | sps after | saved share, % |",
        "|---|---|---|---|---|",
    ]
    for pair in pairs:
        before, after = measured[pair.before], measured[pair.after]
        finding = f"`{pair.finding}`" + (", suspected" if pair.innocent else "")
        lines.append(
            f"| {pair.before} → {pair.after} | {finding} | {count(round(median(before)))} "
            f"| {count(round(median(after)))} | {saved(before, after)} |"
        )
    return "\n".join(lines)


def gain(before: Sequence[float], after: Sequence[float]) -> str:
    """How many times faster: the median over the rounds, whose runs met the same machine."""
    if not before:
        return ""
    return f"{median(new / old for old, new in zip(before, after, strict=True)):.1f}"


def saved(before: Sequence[float], after: Sequence[float]) -> str:
    """The share of the time per step that the fix saves: the median of the rounds and its range."""
    shares = [100 * (1 - old / new) for old, new in zip(before, after, strict=True)]
    return f"{median(shares):.0f} ({min(shares):.0f} to {max(shares):.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "example",
        nargs="?",
        default="bandit",
        choices=sorted(path.parent.name for path in ROOT.glob("examples/*/ladder.toml")),
    )
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    example = ROOT / "examples" / arguments.example
    ladder = read_ladder(example)
    measured = measure_rounds(example, ladder, arguments.rounds)
    print(stage_table(ladder.stages, measured))
    if ladder.pairs:
        print(f"\n{pair_table(ladder.pairs, measured)}")
    print(
        f"\n{arguments.rounds} interleaved rounds; {len(os.sched_getaffinity(0))} cores, "
        f"{platform.system()}, Python {platform.python_version()}."
    )


if __name__ == "__main__":
    main()
