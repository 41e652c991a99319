"""Does the gate hold its word on this machine: the same program, a slower one, one that reads a tensor more.

    python benchmarks/gate_runs.py --workers 1 --interleave --keep kept
    python benchmarks/gate_runs.py --only same --from kept kept-before --name 'against itself, in turns'

Real checks of real runs, each by ``rlprof check`` as it is typed; prints a Markdown table. Base and head run one
after the other, or with ``--interleave`` in turns. The full set (30 checks of the bandit with itself, 10 of a planted
slowdown, 10 of a planted read) takes two hours on an idle machine; ``--only`` and ``--checks`` make it shorter, and
``--from`` makes one row of what several calls have kept.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from measuring import ROOT, Spread, print_table, say

CHECK_TIMEOUT_S = 3600

# Before the bandit's last line of a step. The work of a whole step, on a testbed of its own, in
# every ninth step: nine steps in the time of ten, on any machine.
_LAST_LINE = "        rlprof.step()\n"
_EXTRA_STEP = """\
        if step % 9 == 0:
            other_optimal = spare.optimal_arm()
            other_arm = other.act()
            other_reward = spare.step(other_arm)
            other.learn(other_arm, other_reward)
            other_right = other_arm == other_optimal
            if step % (9 * cfg["log"]["every"]) == 0:
                logger.debug(f"step {step}: arm {other_arm}, reward {other_reward:.3f}, values {other.values}")
"""
_LOOP = '    for step in range(cfg["steps"]):\n'
_SPARE = """\
    spare = Bandit(cfg, np.random.default_rng(seed))
    other = Agent(cfg, np.random.default_rng(seed))
"""

READING = """
import sys
import torch
import rlprof

torch.set_num_threads(1)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
total = torch.zeros(())
for step in range(400):
    loss = model(torch.ones(4, 8)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.detach()
    if {read}:
        seen = loss.item()
    rlprof.step()
print(total.item())
"""


class Case(NamedTuple):
    name: str
    checks: int
    options: tuple[str, ...]
    base: tuple[str, ...]
    head: tuple[str, ...]


def cases(folder: Path, runs: int, workers: int, *, interleave: bool) -> dict[str, Case]:
    arguments = ("--stage", "3", "--runs", str(runs), "--workers", str(workers))
    same, slower = folder / "same", folder / "slow"
    for copy in (same, slower):
        shutil.copytree(ROOT / "examples" / "bandit", copy)
    plant_slowdown(slower / "stages" / "stage_3.py")
    reads = []
    for name, read in (("plain.py", "False"), ("reads.py", "True")):
        reads.append(folder / name)
        reads[-1].write_text(READING.format(read=read))
    python = sys.executable
    options = ("--interleave",) if interleave else ()
    return {
        "same": Case(
            "bandit against itself",
            30,
            options,
            (python, str(same), *arguments),
            (str(same), *arguments),
        ),
        "slower": Case(
            "bandit, a ninth more work in each step",
            10,
            options,
            (python, str(same), *arguments),
            (str(slower), *arguments),
        ),
        "read": Case(
            "one `.item()` more in a step",
            10,
            ("--counters-only",),
            (python, str(reads[0])),
            (str(reads[1]),),
        ),
    }


def plant_slowdown(stage: Path) -> None:
    text = stage.read_text()
    assert text.count(_LAST_LINE) == 1
    assert text.count(_LOOP) == 1
    text = text.replace(_LAST_LINE, _EXTRA_STEP + _LAST_LINE).replace(_LOOP, _SPARE + _LOOP)
    stage.write_text(text)


def check(case: Case, result: Path) -> dict[str, Any]:
    """The JSON of one check, which is written to ``result``."""
    # A check that crashes writes none, and another's must not be taken for it.
    result.unlink(missing_ok=True)
    command = [
        *(sys.executable, "-m", "rlprof", "check", "--force", "--json", str(result)),
        *("--base-command", shlex.join(case.base), *case.options),
        *("--python", sys.executable, *case.head),
    ]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=CHECK_TIMEOUT_S,
        check=False,
    )
    if not result.exists():
        raise RuntimeError(done.stderr)
    document: dict[str, Any] = json.loads(result.read_text())
    say(f"{case.name}: {len(document['runs'])} runs: {document['text']}")
    return document


HEADERS = (
    "program",
    "checks",
    "pass",
    "regression",
    "inconclusive",
    "could not measure",
    "head over base",
    "noise of a pair, %",
    "runs used",
)


def row(name: str, found: Sequence[dict[str, Any]]) -> list[str]:
    verdicts = Counter(document["verdict"] for document in found)
    ratios = [
        document["decision"]["ratio"]["median"]
        for document in found
        if document["decision"] is not None
    ]
    noises = [
        100 * document["decision"]["noise"]
        for document in found
        if document["decision"] is not None
    ]
    runs = [len(document["runs"]) for document in found]
    return [
        name,
        str(len(found)),
        *(
            str(verdicts[verdict])
            for verdict in ("pass", "regression", "inconclusive", "could-not-measure")
        ),
        Spread.of(ratios).text() if ratios else "–",
        Spread.of(noises).text("{:.1f}") if noises else "–",
        f"{median(runs):.0f} (at most {max(runs)})",
    ]


def kept(kind: str, folders: Sequence[Path]) -> list[dict[str, Any]]:
    """What earlier calls kept of checks of one kind."""
    found = [
        json.loads(result.read_text())
        for folder in folders
        for result in sorted(folder.glob(f"{kind}-*.json"))
    ]
    if not found:
        raise SystemExit(f"no {kind}-N.json in {', '.join(map(str, folders))}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=("same", "slower", "read"))
    parser.add_argument("--checks", type=int, help="of each kind")
    parser.add_argument(
        "--runs", type=int, default=960, help="of the bandit: 960 take 4 s, with one worker 7 s"
    )
    parser.add_argument("--workers", type=int, default=2, help="of the bandit")
    parser.add_argument(
        "--interleave", action="store_true", help="the two runs of a pair take turns"
    )
    parser.add_argument("--keep", type=Path, help="folder for the JSON of each check")
    parser.add_argument(
        "--from",
        dest="folders",
        type=Path,
        nargs="+",
        metavar="DIR",
        help="run nothing: one row of what --keep left in these, of the kind of --only",
    )
    parser.add_argument("--name", help="of that row")
    arguments = parser.parse_args()
    if arguments.folders is None and arguments.name is None:
        measure(arguments)
    elif arguments.folders and arguments.name and len(arguments.only or ()) == 1:
        (kind,) = arguments.only
        # No table, which would tell this machine: not what was measured here.
        print("| " + " | ".join(row(arguments.name, kept(kind, arguments.folders))) + " |")
    else:
        parser.error("--from goes with --name and one kind of --only")


def measure(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results = folder if arguments.keep is None else arguments.keep
        results.mkdir(parents=True, exist_ok=True)
        rows = []
        all_cases = cases(
            folder, arguments.runs, arguments.workers, interleave=arguments.interleave
        )
        for kind, case in all_cases.items():
            if arguments.only is None or kind in arguments.only:
                count = arguments.checks or case.checks
                found = [check(case, results / f"{kind}-{number}.json") for number in range(count)]
                rows.append(row(case.name, found))
    print_table("Real checks", HEADERS, rows)


if __name__ == "__main__":
    main()
