"""Prints the rates that it is told, one list for each run: a check of it comes to the same each time.

told_rates.py 100,101,99 PLACE      # 100 in the first run, 101 in the second; PLACE counts the runs
told_rates.py 100,fails PLACE       # the second run fails
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

LINES = 30


def main() -> None:
    rates, place = sys.argv[1].split(","), Path(sys.argv[2])
    run = len(place.read_text()) if place.exists() else 0
    place.write_text("." * (run + 1))
    rate = rates[run % len(rates)]
    if rate == "fails":
        raise RuntimeError("told to fail")
    for _ in range(LINES):
        print("sps", rate, flush=True)
        time.sleep(0.02)


if __name__ == "__main__":
    main()
