"""Does the gate hold its word on this machine: the same program, a slower one, one that reads a tensor more.

Real checks of real runs, each by ``rlprof check`` as it is typed; prints a Markdown table. Base and head run one
after the other, or with ``--interleave`` in turns. The full
set (30 checks of the bandit with itself, 10 of a planted slowdown, 10 of a planted read) takes two hours on
an idle machine; ``--only`` and ``--checks`` make it shorter.
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

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.measuring import ROOT

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
    print(
        f"{case.name}: {len(document['runs'])} runs: {document['text']}",
        file=sys.stderr,
        flush=True,
    )
    return document


def row(case: Case, found: Sequence[dict[str, Any]]) -> str:
    verdicts = Counter(it["verdict"] for it in found)
    ratios = [it["decision"]["ratio"]["median"] for it in found if it["decision"] is not None]
    noises = [it["decision"]["noise"] for it in found if it["decision"] is not None]
    runs = [len(it["runs"]) for it in found]
    cells = (
        case.name,
        str(len(found)),
        *(str(verdicts[it]) for it in ("pass", "regression", "inconclusive", "could-not-measure")),
        f"{median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})" if ratios else "–",
        f"{100 * median(noises):.1f} %" if noises else "–",
        f"{median(runs):.0f} (at most {max(runs)})",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
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
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kept = folder if arguments.keep is None else arguments.keep
        kept.mkdir(parents=True, exist_ok=True)
        print(
            "| program | checks | pass | regression | inconclusive | could not measure "
            "| head over base | noise of a pair | runs used |"
        )
        print("|---|---:|---:|---:|---:|---:|---|---:|---|", flush=True)
        all_cases = cases(
            folder, arguments.runs, arguments.workers, interleave=arguments.interleave
        )
        for kind, case in all_cases.items():
            if arguments.only is None or kind in arguments.only:
                count = arguments.checks or case.checks
                found = [check(case, kept / f"{kind}-{number}.json") for number in range(count)]
                print(row(case, found), flush=True)


if __name__ == "__main__":
    main()
