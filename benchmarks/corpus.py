"""Does a change of rlprof's code change what it says? Record a corpus once, then compare two versions on it.

    python benchmarks/corpus.py record build/corpus                    # some 80 run files, 15 minutes
    python benchmarks/corpus.py tell build/corpus build/before         # what this checkout says of them
    python benchmarks/corpus.py tell build/corpus build/after --rlprof ../other-checkout
    python benchmarks/corpus.py compare build/before build/after       # ends with 1 where a byte differs

The corpus: each program of the accuracy set, the steps of the ladders, full hosts, windows of torch's profiler, runs without
steps, crashes, and all traces of ``../shared/traces``. ``tell`` writes of each run file the report as JSON and as text,
of runs that follow each other the diff as JSON, of each trace its facts as JSON and text, and the JSON of
checks whose programs print rates that are given. What depends on the moment (how long a run of a check took, the
machine) is left out.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from shutil import rmtree
from typing import NamedTuple

from cases import innocents, ladder_steps, pairs
from crowded import Case, command, others_at_work
from measuring import PROGRAMS, ROOT, rlprof_run, say, training_environment

TRACES = ROOT.parent / "shared" / "traces"

TIMEOUT_S = 300

_START = (
    "import runpy, sys; sys.path.pop(0); "
    "runpy.run_module('rlprof', run_name='__main__', alter_sys=True)"
)
"""rlprof from PYTHONPATH: ``python -m`` would take the checkout in which it is started."""

WIDTH = "120"

UPDATING = (str(PROGRAMS / "updating.py"), "--seconds", "8")

ENDS = ("whole", "without-steps", "before-a-step", "error", "worker", "signal")

SHOWN_LINES = 12
"""Of each difference."""


class Recorded(NamedTuple):
    """A program to record."""

    name: str
    command: Sequence[str]
    options: Sequence[str] = ()
    others: int = 0
    """Programs beside it that keep a core busy each."""


class Checked(NamedTuple):
    """A check of rates that are given."""

    name: str
    base: str
    """Rates of base, one for each run; see ``programs/told_rates.py``."""
    head: str
    options: Sequence[str] = ()
    saved: str | None = None
    """The rates of a baseline that is saved first; then ``base`` is not used."""


CHECKS = (
    Checked("pass", "100,101,99", "100,99,101"),
    Checked("faster", "100,101,99", "120,121,119"),
    Checked("regression", "100,101,99", "88,90,89,87"),
    Checked("inconclusive", "100,60,140,90", "80,130,70,95", ("--max-pairs", "6")),
    Checked("fails", "100,101,99", "fails"),
    Checked("no-rate", "nothing", "nothing"),
    Checked("baseline-pass", "", "100,99,101", saved="100,101,99"),
    Checked("baseline-regression", "", "80,79,81", saved="100,101,99"),
)

PATTERN = r"sps (?P<sps>[\d.]+)"

_OF_THE_MOMENT = re.compile(
    r'"(wall_s|created|created_unix_s|machine|fingerprint|seconds)": ("[^"]*"|[-\d.e]+|null)'
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    subparsers = parser.add_subparsers(dest="what", required=True)
    recording = subparsers.add_parser("record", help="make the corpus")
    recording.add_argument("corpus", type=Path)
    telling = subparsers.add_parser("tell", help="write what rlprof says of it")
    telling.add_argument("corpus", type=Path)
    telling.add_argument("told", type=Path)
    telling.add_argument(
        "--rlprof", type=Path, default=ROOT, help="the checkout that is asked (this one)"
    )
    telling.add_argument("--jobs", type=int, default=os.cpu_count())
    comparing = subparsers.add_parser("compare", help="show where two answers differ")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    arguments = parser.parse_args()
    if arguments.what == "record":
        record(arguments.corpus)
    elif arguments.what == "tell":
        tell(arguments.corpus, arguments.told, arguments.rlprof.resolve(), arguments.jobs)
    else:
        sys.exit(compare(arguments.before, arguments.after))


def programs() -> Iterator[Recorded]:
    for case in (*pairs(4), *innocents(), *ladder_steps()):
        yield Recorded(re.sub(r"\W+", "-", case.name), (sys.executable, *case.recorded))
    for others in (1, 2):
        crowded = command(Case(others, width=64), seconds=10)
        yield Recorded(f"crowded-{others}", crowded, others=others)
    yield Recorded("windows", (sys.executable, *UPDATING), ("--torch", "always"))
    yield Recorded("windows-off", (sys.executable, *UPDATING), ("--torch", "off"))
    yield Recorded("no-probe", (sys.executable, *UPDATING), ("--no-probe",))
    for how in ENDS:
        yield Recorded(f"ends-{how}", (sys.executable, str(PROGRAMS / "ends.py"), how))


def record(corpus: Path) -> None:
    """Record what is not there yet: what a call leaves out the next one makes."""
    corpus.mkdir(parents=True, exist_ok=True)
    todo = [each for each in programs() if not (corpus / f"{each.name}.rlprof").exists()]
    for number, each in enumerate(todo, start=1):
        say(f"{each.name} ({number} of {len(todo)})")
        run_file = corpus / f"{each.name}.rlprof"
        unfinished = run_file.with_suffix(".part")
        with others_at_work(each.others):
            # A program that crashes has its own exit code.
            subprocess.run(
                rlprof_run(unfinished, *each.options, command=each.command),
                cwd=ROOT,
                env=training_environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=TIMEOUT_S,
                check=False,
            )
        unfinished.rename(run_file)


def tell(corpus: Path, told: Path, checkout: Path, jobs: int) -> None:
    run_files = sorted(corpus.glob("*.rlprof"))
    traces = sorted(TRACES.glob("*.json*"))
    if not run_files:
        raise SystemExit(f"no run files in {corpus}: make them with `corpus.py record {corpus}`")
    if not traces:
        say(f"no traces in {TRACES}: none are compared")
    told.mkdir(parents=True)
    ask = Asking(checkout, told)
    work: list[Callable[[], None]] = []
    for path in run_files:
        work.append(lambda path=path: ask(f"{path.stem}.json", "report", path, "-f", "json"))
        work.append(lambda path=path: ask(f"{path.stem}.txt", "report", path, "-f", "terminal"))
    for base, new in pairwise(run_files):
        name = f"{base.stem}..{new.stem}.diff.json"
        work.append(lambda b=base, n=new, name=name: ask(name, "diff", b, n, "-f", "json"))
    for path in traces:
        name = path.name.partition(".")[0]
        if name != "ground_truth":
            for form, ending in (("json", "trace.json"), ("terminal", "trace.txt")):
                file = f"{name}.{ending}"
                work.append(lambda p=path, f=form, file=file: ask(file, "trace", p, "-f", f))
    work += [lambda each=each: ask.check(each, corpus) for each in CHECKS]
    with ThreadPoolExecutor(jobs) as pool:
        for number, _ in enumerate(pool.map(lambda each: each(), work), start=1):
            if number % 20 == 0:
                say(f"{number} of {len(work)}")


class Asking:
    """Asks the rlprof of one checkout, and writes each answer into a folder."""

    def __init__(self, checkout: Path, told: Path) -> None:
        self._told = told
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(checkout),
            "COLUMNS": WIDTH,
            "NO_COLOR": "1",
        }

    def __call__(self, name: str, *arguments: str | Path) -> None:
        """One command's stdout, stderr and exit code."""
        answer = self._run(arguments, ROOT)
        text = f"{answer.stdout}\n--- stderr\n{answer.stderr}\n--- exit code {answer.returncode}\n"
        (self._told / name).write_text(text)

    def check(self, check: Checked, corpus: Path) -> None:
        """In a folder that is the same for every version, as its path is told, too."""
        folder = (corpus / "checks" / check.name).resolve()
        rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        program = str(PROGRAMS / "told_rates.py")
        against: tuple[str, ...]
        if check.saved is None:
            against = ("--base-command", f"{sys.executable} {program} {check.base} base")
        else:
            saving = ("check", "--sps-pattern", PATTERN, "--save-baseline", "saved.json")
            self._run((*saving, program, check.saved, "saved"), folder)
            against = ("--baseline", "saved.json")
        options = ("--sps-pattern", PATTERN, "--json", "check.json", "--markdown", "check.md")
        answer = self._run(
            ("check", *against, *options, *check.options, program, check.head, "head"), folder
        )
        parts = [answer.stdout, f"exit code {answer.returncode}"]
        for file in ("check.json", "check.md"):
            made = folder / file
            parts.append(made.read_text() if made.exists() else f"no {file}")
        text = _OF_THE_MOMENT.sub(r'"\1": "of the moment"', "\n---\n".join(parts))
        (self._told / f"{check.name}.check.txt").write_text(text)

    def _run(
        self, arguments: Sequence[str | Path], folder: Path
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", _START, *map(str, arguments)],
            cwd=folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )


def compare(before: Path, after: Path) -> int:
    """Print what differs; 1 where anything does."""
    names = sorted({path.name for folder in (before, after) for path in folder.iterdir()})
    different = 0
    for name in names:
        old, new = (
            (folder / name).read_text().splitlines() if (folder / name).exists() else []
            for folder in (before, after)
        )
        if old != new:
            different += 1
            lines = list(
                difflib.unified_diff(old, new, f"before/{name}", f"after/{name}", "", "", 1, "")
            )
            print("\n".join(lines[: SHOWN_LINES + 2]))
            if len(lines) > SHOWN_LINES + 2:
                print(f"… {len(lines) - SHOWN_LINES - 2} lines more")
    print(json.dumps({"compared": len(names), "different": different}))
    return int(different > 0)


if __name__ == "__main__":
    main()
