"""What every benchmark shares: pairs, spreads, programs that report on themselves, one table."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TypeVar

from rlprof.units import size

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(__file__).resolve().parent / "programs"
CACHE = Path.home() / ".cache" / "rlprof-benchmarks"

TIMEOUT_S = 1800
"""Longer than any single run; a benchmark that hangs should say where."""

THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

T = TypeVar("T")


class Spread(NamedTuple):
    """The middle of some repeats, and how far they lie apart."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        sorted_values = sorted(values)
        return cls(median(sorted_values), sorted_values[0], sorted_values[-1])

    def text(self, form: str = "{:.3f}") -> str:
        """``0.993 (0.981 to 1.004)``."""
        low, high = form.format(self.low), form.format(self.high)
        return f"{form.format(self.median)} ({low} to {high})"


def in_pairs(rounds: int, bare: Callable[[], T], treated: Callable[[], T]) -> list[tuple[T, T]]:
    """(bare, treated) of each round; every other round runs the treated one first, so that a
    machine that drifts slows both alike.
    """
    pairs = []
    for number in range(rounds):
        if number % 2:
            second = treated()
            pairs.append((bare(), second))
        else:
            first = bare()
            pairs.append((first, treated()))
    return pairs


def environment(**extra: str) -> dict[str, str]:
    """Ours, with this checkout importable, numeric libraries on one thread (rlprof is compared
    with itself, not the schedulers of thread pools), and compiled modules kept, as they are
    where nobody has switched that off.
    """
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    threads = dict.fromkeys(THREAD_LIMITS, "1")
    return {**inherited, **threads, "PYTHONPATH": os.pathsep.join(paths), **extra}


def training_environment() -> dict[str, str]:
    """What a user has who set nothing: how many threads torch takes is among the faults."""
    return {name: value for name, value in environment().items() if name not in THREAD_LIMITS}


def run(command: Sequence[str], env: Mapping[str, str] | None = None) -> tuple[str, str]:
    """stdout and stderr of a command; ends the benchmark, showing both, when it fails."""
    answer = subprocess.run(
        list(command),
        env=environment() if env is None else dict(env),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if answer.returncode != 0:
        shown = " ".join(command)
        raise SystemExit(
            f"{shown} ended with {answer.returncode}\n{answer.stdout}\n{answer.stderr}"
        )
    return answer.stdout, answer.stderr


def last_json(text: str) -> dict[str, Any]:
    """The JSON object on the last line: how the programs of ``programs/`` report on themselves."""
    result: dict[str, Any] = json.loads(text.strip().splitlines()[-1])
    return result


def rlprof_run(run_file: Path, *options: str, command: Sequence[str]) -> list[str]:
    """The command that records ``command`` into ``run_file`` and shows nothing."""
    start = [sys.executable, "-m", "rlprof", "run", "--no-report", "--force"]
    return [*start, "-o", str(run_file), *options, "--", *command]


def machine() -> str:
    """One line on where and under what load the figures were taken."""
    model = "unknown CPU"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    return (
        f"{len(os.sched_getaffinity(0))} cores of {model}, {size(pages)}, "
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}, "
        f"load average {load}"
    )


def print_table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """One Markdown table and the machine it holds for."""
    print(f"### {title}\n")
    print("| " + " | ".join(headers) + " |")
    print("|" + "---|" * len(headers))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(f"\n{machine()}.")


def say(text: str) -> None:
    """Progress, apart from the table."""
    print(text, file=sys.stderr, flush=True)
