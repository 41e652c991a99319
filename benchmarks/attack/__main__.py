"""Try the attacks: ``python -m benchmarks.attack --seed 1 --seed 2 --markdown docs/reliability.md``."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

from benchmarks.attack.groups import GROUPS, ROWS
from benchmarks.attack.row import Fate, Outcome, try_row
from benchmarks.attack.table import markdown, put_into, summary


def main() -> int:
    options = _options()
    rows = [
        row
        for row in ROWS
        if (not options.only or row.group in options.only or row.name in options.only)
        and (row.is_fast or not options.quick)
    ]
    if not rows:
        print("no row is called so", file=sys.stderr)
        return 2
    begun = time.monotonic()
    seeds = options.seed or [1]
    with ProcessPoolExecutor(min(options.jobs, len(seeds))) as pool:
        names = [row.name for row in rows]
        each = pool.map(partial(_try_all, names, patience=options.patience), seeds)
        # Rows hold functions that no pipe takes.
        outcomes = [
            Outcome(row, *told) for seed in each for row, told in zip(rows, seed, strict=True)
        ]
    print("", *summary(outcomes), sep="\n")
    if options.markdown is not None:
        put_into(options.markdown, markdown(outcomes, _heading(time.monotonic() - begun)))
    return int(any(outcome.fate is Fate.FAILED for outcome in outcomes))


def _try_all(names: list[str], seed: int, *, patience: float) -> list[tuple[int, Fate, str, float]]:
    """Try the rows of these names; seed, fate, reason and seconds of each."""
    outcomes = []
    rows = [row for row in ROWS if row.name in names]
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        # Other users must get through to what they are to try.
        Path(folder).chmod(0o755)
        for row in rows:
            outcome = try_row(row, Path(folder, f"{seed}-{row.name}"), seed, patience=patience)
            outcomes.append((seed, outcome.fate, outcome.why, outcome.took_s))
            print(
                f"{outcome.fate.value:9} {outcome.took_s:5.1f} s  seed {seed}  "
                f"{row.group}/{row.name}: {outcome.why}",
                flush=True,
            )
    return outcomes


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attack", description=__doc__)
    parser.add_argument(
        "--seed", type=int, action="append", help="of all random choices; repeatable (default: 1)"
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="GROUP|ROW",
        help=f"some of: {', '.join(GROUPS)}; or a row by its name; repeatable",
    )
    parser.add_argument("--quick", action="store_true", help="the fast half alone")
    parser.add_argument(
        "--patience", type=float, default=1.0, help="multiplies every bound in time (default: 1)"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="seeds that are tried side by side (default: 1)"
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="page to put the table into")
    return parser.parse_args()


def _heading(took_s: float) -> str:
    day = datetime.now(timezone.utc).date().isoformat()
    user = "root" if os.geteuid() == 0 else "an ordinary user"
    return (
        f"Tried on {day} as {user}, Python {platform.python_version()}, Linux {platform.release()}, "
        f"{os.cpu_count()} cores, in {took_s / 60:.0f} minutes."
    )


if __name__ == "__main__":
    sys.exit(main())
