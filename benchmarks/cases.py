"""The programs whose prices are checked: single faults, steps of the example ladders, innocents."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from measuring import PROGRAMS, ROOT
from verdict import Expectation

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXPECTED = PROGRAMS / "expected.toml"

LONG = {
    "bandit": ("--runs", "100000"),
    "actor_learner": ("--epochs", "100000"),
    "ppo": ("--updates", "1000000"),
}
"""Arguments with which an example trains for minutes, and does the same otherwise."""

SPS_OF_A_STAGE = re.compile(r"([\d.]+) sps")


@dataclass(frozen=True, slots=True)
class Case:
    """One program, how to run it, and what a report on it should say."""

    name: str
    expected: Expectation
    recorded: tuple[str, ...]
    """Arguments to Python of the run that rlprof looks at."""
    before: tuple[str, ...]
    """Of a run without rlprof; may be longer."""
    after: tuple[str, ...] | None
    """The same with the fault put right; None for an innocent."""
    long: tuple[str, ...] = ()
    """Of a run of some minutes, to be interrupted."""
    by_wall: bool = False
    """Whether the fix saves time of the run as a whole, and not per step."""
    prints_words: bool = False
    """Whether the rate is printed as ``123 sps``, as the examples do, and not as JSON."""


LONG_S = 150
"""Length of long runs of the programs with one fault."""


def pairs(seconds: float) -> list[Case]:
    """The programs with one fault; unrecorded runs take ``seconds`` each."""
    folder = PROGRAMS / "pairs"
    cases = []
    for name, row in _table("pairs").items():
        program = str(folder / f"{name}.py")
        timed = (program, "--seconds", f"{seconds:g}")
        cases.append(
            Case(
                name=name,
                expected=_expectation(row),
                recorded=(program,),
                before=timed,
                after=(*timed, "--fixed"),
                long=(program, "--seconds", f"{LONG_S}"),
                by_wall=row.get("measured_by") == "wall",
            )
        )
    return cases


def innocents() -> list[Case]:
    folder = PROGRAMS / "innocents"
    cases = []
    for name, row in _table("innocents").items():
        command = (str(folder / f"{name}.py"),)
        cases.append(Case(name, _expectation(row), command, command, after=None))
    return cases


def ladder_steps() -> list[Case]:
    """Each stage of the examples against the next, which makes the one change, and the pairs beside
    the ladders.
    """
    return [
        case
        for ladder in sorted(ROOT.glob("examples/*/ladder.toml"))
        for case in _steps_of(ladder.parent, tomllib.loads(ladder.read_text()))
    ]


def _steps_of(example: Path, ladder: Mapping[str, list[dict[str, Any]]]) -> Iterable[Case]:
    stages, aside = ladder["stage"], ladder.get("pair", [])
    by_number = {str(stage["number"]): stage for stage in stages}
    # Faults that are put right later on are there already.
    allowed = frozenset(stage["finding"] for stage in stages)
    fixed_aside = {pair["before"] for pair in aside if not pair.get("innocent")}
    for this, following in pairwise(stages):
        if str(this["number"]) not in fixed_aside:
            is_free = not _costs_here(this)
            finding = Expectation(this["finding"], allowed, is_free)
            yield _step(example, finding, this, following)
    for pair in aside:
        before, after = (
            by_number.get(pair[end], {"number": pair[end], "args": ["--stage", pair[end]]})
            for end in ("before", "after")
        )
        finding = Expectation(pair["finding"], allowed, pair.get("innocent", False))
        # What a stage is recorded by may be short on purpose, for its own finding.
        before = {**before, "args": before.get("sps_args", before["args"])}
        yield _step(example, finding, before, after)


def _costs_here(stage: Mapping[str, Any]) -> bool:
    """Whether the fault of a stage costs anything on this machine: some do on a GPU alone."""
    if stage.get("device") != "cuda":
        return True
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


def _step(
    example: Path, finding: Expectation, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Case:
    return Case(
        name=f"{example.name} {before['number']} → {after['number']}",
        expected=finding,
        recorded=(str(example), *before["args"]),
        before=(str(example), *before.get("sps_args", before["args"])),
        after=(str(example), *after.get("sps_args", after["args"])),
        long=(str(example), *_without_length(before), *LONG[example.name]),
        prints_words=True,
    )


def _without_length(stage: Mapping[str, Any]) -> list[str]:
    """Arguments of a stage but for those that say how long it takes."""
    arguments = [*stage["args"]]
    for option, _ in LONG.values():
        if option in arguments:
            at = arguments.index(option)
            del arguments[at : at + 2]
    return arguments


def _table(name: str) -> Mapping[str, dict[str, Any]]:
    table: Mapping[str, dict[str, Any]] = tomllib.loads(EXPECTED.read_text())[name]
    return table


def _expectation(row: Mapping[str, Any]) -> Expectation:
    return Expectation(
        finding=row.get("finding", ""),
        allowed=frozenset(row.get("allowed", ())),
        worth_nothing=row.get("worth_nothing", False),
    )
