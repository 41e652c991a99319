"""Try the attacks: ``python -m benchmarks.attack --seed 1 --seed 2 --markdown docs/reliability.md``."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from datetime import datetime, timezone
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
    outcomes: list[Outcome] = []
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        # Other users must get through to what they are to try.
        Path(folder).chmod(0o755)
        for seed in options.seed or [1]:
            for row in rows:
                place = Path(folder, f"{seed}-{row.name}")
                outcome = try_row(row, place, seed, patience=options.patience)
                outcomes.append(outcome)
                print(
                    f"{outcome.fate.value:9} {outcome.took_s:5.1f} s  seed {seed}  "
                    f"{row.group}/{row.name}: {outcome.why}",
                    flush=True,
                )
    print("", *summary(outcomes), sep="\n")
    if options.markdown is not None:
        put_into(options.markdown, markdown(outcomes, _heading(time.monotonic() - begun)))
    return int(any(outcome.fate is Fate.FAILED for outcome in outcomes))


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
