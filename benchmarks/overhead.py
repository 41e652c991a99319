"""Measure what rlprof costs nine trainings: steps per second under it, under py-spy and under bare austin over those without.

    python benchmarks/overhead.py --rounds 5 --seconds 60

Each round runs a program once bare and once under each profiler, in an order that rotates from round to round; each
figure is the median of the rounds, with the lowest and the highest. A program tells the steps per second of its second
half, and the CPU time of a step, itself. Profilers run as a user would start them: `rlprof run`, `py-spy record -r 100 --subprocesses`, and
`austin -i 10ms -C`. CPU is what the kernel charged to all that was started, less the program's own tree.
rlprof settles after 30 s: runs that are to show its price have to be longer.

The programs need torch, gymnasium, Stable-Baselines3 and TorchRL: `--python` names an interpreter that has them,
otherwise an environment is made below build/. A program whose packages are not there is left out with the reason.
`--rlprof PATH` takes another rlprof (an executable, or a checkout) into the same rounds, `--without PART` this one
without a part of it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import profiled
from interpreters import environment_of
from measuring import PROGRAMS, ROOT, Spread, machine, say
from neighbours import Neighbours
from profiled import BARE, Ran, RunFailed, Variant

OURS = "rlprof"

PACKAGES = ("numpy", "omegaconf>=2.3", "gymnasium", "stable-baselines3", "torchrl")

FREE, CROWDED = 0.99, 0.97
"""Least ratio of sps that will do with free cores, and where the program keeps all of them busy."""


@dataclass(frozen=True, slots=True)
class Workload:
    name: str
    target: float
    program: str
    """In ``programs/``."""
    options: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    """Packages, by the names that they are imported by."""
    cores: int | None = None
    """On how many it runs with its profiler; all of them without."""

    def command(self, python: Path, seconds: float) -> list[str]:
        program = str(PROGRAMS / self.program)
        return [str(python), program, *self.options, "--seconds", f"{seconds:g}"]


WORKLOADS = {
    "bandit": Workload(
        "bandit, a pool of two", CROWDED, "bandits.py", needs=("numpy", "omegaconf")
    ),
    "one": Workload("one busy process", FREE, "grid_worlds.py"),
    "eight": Workload(
        "eight busy workers on two cores", CROWDED, "grid_worlds.py", ("--workers", "8"), cores=2
    ),
    "sb3": Workload("PPO of Stable-Baselines3", FREE, "sb3_ppo.py", needs=("stable_baselines3",)),
    "async": Workload(
        "gymnasium's AsyncVectorEnv of four",
        CROWDED,
        "pairs/gymnasium_async.py",
        needs=("gymnasium",),
    ),
    "torchrl": Workload("a TorchRL collector", FREE, "torchrl_collector.py", needs=("torchrl",)),
    "actors": Workload(
        "two actors and a learner", CROWDED, "actors_and_learner.py", needs=("torch",)
    ),
    "updates": Workload("a torch learner of small updates", FREE, "updating.py", needs=("torch",)),
    "policy": Workload(
        "a small policy that samples", FREE, "categorical_policy.py", needs=("torch",)
    ),
}


@dataclass(slots=True)
class Measured:
    """All rounds of one workload."""

    workload: Workload
    rounds: list[dict[str, Ran]] = field(default_factory=list)
    """By variant; a run that failed is not in it."""
    neighbours: list[float] = field(default_factory=list)
    """Cores that other programs took, round by round."""
    failures: dict[str, str] = field(default_factory=dict)
    """The last of each variant."""

    def settled_percent(self, name: str) -> float:
        """The same after the first seconds, in which rlprof starts and looks more often."""
        return 100 * median(ran[name].settled_cores for ran in self.rounds if name in ran)

    def ratios(self, name: str) -> list[float]:
        """Ratios of sps, round by round."""
        return [with_.sps / bare.sps for bare, with_ in self._rounds_with(name)]

    def cpu_ratios(self, name: str) -> list[float]:
        """Ratios of the program's CPU time per step."""
        return [
            with_.cpu_s_per_step / bare.cpu_s_per_step for bare, with_ in self._rounds_with(name)
        ]

    def _rounds_with(self, name: str) -> list[tuple[Ran, Ran]]:
        return [(ran[BARE], ran[name]) for ran in self.rounds if name in ran and BARE in ran]

    def cpu_percent(self, name: str) -> float:
        """CPU time of the profiler in % of one core. The program's own end, which it cannot tell, is that of bare runs."""
        own_end_s = median(ran[BARE].besides_cpu_s for ran in self.rounds if BARE in ran)
        shares = [
            (ran[name].besides_cpu_s - own_end_s) / ran[name].wall_s
            for ran in self.rounds
            if name in ran
        ]
        return 100 * median(shares)


def interpreter(given: Path | None) -> Path:
    """One that has the packages of the programs, made where it is not there."""
    if given is not None:
        return given
    pins = (ROOT / "constraints-dev.txt").read_text().splitlines()
    torch = next(pin for pin in pins if pin.startswith("torch=="))
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    try:
        return environment_of(
            version, Path(sys.executable), (torch, *PACKAGES), ROOT / "build" / "overhead"
        )
    except subprocess.CalledProcessError as error:
        say(f"no environment for the programs: {error}")
        return Path(sys.executable)


def missing(workload: Workload, python: Path) -> str:
    """Packages that it needs and ``python`` lacks; empty where it has all."""
    look = (
        "import sys, importlib.util as u; print(*[n for n in sys.argv[1:] if not u.find_spec(n)])"
    )
    command = [str(python), "-c", look, *workload.needs]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return answer.stdout.strip()


def variants(others: Sequence[Path], without: Sequence[str], *, alone: bool) -> list[Variant]:
    found = [profiled.bare(), profiled.rlprof(OURS)]
    found += [
        profiled.rlprof(f"{OURS} without {part}", options=[f"--no-{part}"]) for part in without
    ]
    found += [profiled.rlprof(f"{OURS} of {place}", place) for place in others]
    if alone:
        return found
    for name, make in ((profiled.PY_SPY, profiled.py_spy), (profiled.AUSTIN, profiled.austin)):
        beside = Path(sys.executable).with_name(name)
        executable = str(beside) if beside.exists() else shutil.which(name)
        if executable is None:
            say(f"{name} was not found beside {sys.executable} or on PATH: left out")
        else:
            found.append(make(Path(executable)))
    return found


def measure(
    measured: Measured, command: Sequence[str], chosen: Sequence[Variant], number: int
) -> None:
    """One round: each variant once, begun with another one each time."""
    first = number % len(chosen)
    ran: dict[str, Ran] = {}
    for variant in (*chosen[first:], *chosen[:first]):
        others = Neighbours()
        try:
            ran[variant.name] = variant.run(command, cores=measured.workload.cores)
        except RunFailed as failure:
            measured.failures[variant.name] = str(failure)
            say(f"  {variant.name}: {failure}")
            continue
        measured.neighbours.append(others.cores)
        say(f"  {variant.name}: {ran[variant.name].sps:.0f} sps")
    measured.rounds.append(ran)


def row(measured: Measured, names: Sequence[str]) -> list[str]:
    bare_sps = [ran[BARE].sps for ran in measured.rounds if BARE in ran]
    cells = [
        measured.workload.name,
        f"{median(bare_sps):.0f}" if bare_sps else f"failed: {measured.failures.get(BARE, '')}",
        f"≥ {measured.workload.target}",
    ]
    for name in names:
        ratios = measured.ratios(name)
        failed = len(measured.rounds) - len(ratios)
        told = [Spread.of(ratios).text()] if ratios else []
        if failed:
            told.append(f"{failed} failed ({measured.failures.get(name, 'without a bare run')})")
        cells.append(", ".join(told))
    return cells


def cpu_row(measured: Measured, names: Sequence[str]) -> list[str]:
    cells = [measured.workload.name]
    for name in names:
        ratios = measured.cpu_ratios(name)
        if ratios:
            inside = Spread.of(ratios).text()
            settled = measured.settled_percent(name)
            cells.append(f"{inside}, {measured.cpu_percent(name):.1f} %, {settled:.1f} %")
        else:
            cells.append("–")
    return cells


def tables(results: Sequence[Measured], names: Sequence[str], skipped: Sequence[str]) -> str:
    measured = [result for result in results if result.rounds]
    taken = [cores for result in measured for cores in result.neighbours]
    busy = f", other programs took {median(taken):.2f} cores in the median run" if taken else ""
    return "\n".join(
        [
            "Steps per second, of those without:\n",
            *_table(
                ["program", "sps without", "target", *names],
                [row(result, names) for result in measured],
            ),
            "\nCPU time per step inside of the program, of that without; CPU time beside it, in % of a core: over "
            f"the whole run, and after {profiled.SETTLED_S:.0f} s (or in the second half of a shorter one):\n",
            *_table(["program", *names], [cpu_row(result, names) for result in measured]),
            f"\n{machine()}{busy}.",
            *skipped,
        ]
    )


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    head, *body = [f"| {' | '.join(cells)} |" for cells in (headers, *rows)]
    return [head, "|" + "---|" * len(headers), *body]


def as_json(results: Sequence[Measured], seconds: float) -> str:
    return json.dumps(
        {
            "machine": machine(),
            "seconds": seconds,
            "workloads": {
                result.workload.name: {
                    "rounds": [
                        {name: ran._asdict() for name, ran in one.items()} for one in result.rounds
                    ],
                    "neighbours": result.neighbours,
                    "failures": result.failures,
                }
                for result in results
            },
        },
        indent=1,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each run")
    parser.add_argument("--only", nargs="+", choices=list(WORKLOADS), help="some programs")
    parser.add_argument("--python", type=Path, help="interpreter of the programs")
    parser.add_argument(
        "--rlprof", type=Path, action="append", default=[], metavar="PATH", help="beside this one"
    )
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        choices=["agent", "probe", "values"],
        help="rlprof without a part, in the same rounds: what the part costs",
    )
    parser.add_argument("--alone", action="store_true", help="without py-spy and austin")
    parser.add_argument("--json", type=Path, help="every run, written as they end")
    parser.add_argument("--markdown", type=Path, help="the tables, written as runs end")
    arguments = parser.parse_args()
    python = interpreter(arguments.python)
    chosen = variants(arguments.rlprof, arguments.without, alone=arguments.alone)
    names = [variant.name for variant in chosen if variant.name != BARE]
    results, skipped = [], []
    for key in arguments.only or WORKLOADS:
        lacks = missing(WORKLOADS[key], python)
        if lacks:
            skipped.append(f"Left out: {WORKLOADS[key].name}, for {python} lacks {lacks}.")
        else:
            results.append(Measured(WORKLOADS[key]))
    # Round by round: what was measured when somebody stops it is about as much of each.
    for number in range(arguments.rounds):
        for measured in results:
            say(f"{measured.workload.name}, round {number + 1} of {arguments.rounds}")
            command = measured.workload.command(python, arguments.seconds)
            measure(measured, command, chosen, number)
            if arguments.json:
                arguments.json.write_text(as_json(results, arguments.seconds))
            if arguments.markdown:
                arguments.markdown.write_text(tables(results, names, skipped) + "\n")
    print(f"### Overhead: {arguments.rounds} rounds of runs of {arguments.seconds:g} s\n")
    print(tables(results, names, skipped))


if __name__ == "__main__":
    main()
