"""Are shares as true after the 30th second, when rlprof looks less often, as before?

A program that knows its own split by the clock is recorded for longer than that; prints a table.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from rlprof.model.recording import NO_PARENT, Recording
from rlprof.recording.timeline import SETTLED_US
from rlprof.runfile.reader import read_run

PROGRAM = Path(__file__).with_name("programs") / "known_split.py"
PARTS = ("sleeping", "counting", "multiplying")

FIRST_US = 1_000_000
"""Imports are over by then."""

BETWEEN_US = 6_000_000
"""Samplers at the new rate take over in this time."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=75.0)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder:
        run_file = Path(folder) / "run.rlprof"
        command = [sys.executable, "-m", "rlprof", "run", "--no-report", "-o", run_file]
        told = subprocess.run(
            [*command, PROGRAM, "--seconds", str(seconds)], stdout=subprocess.PIPE, check=True
        )
        recording = read_run(run_file)
    spent = json.loads(told.stdout)
    whole = sum(spent[part] for part in PARTS)
    before = shares(recording, FIRST_US, SETTLED_US)
    after = shares(recording, SETTLED_US + BETWEEN_US, recording.run.wall_us)
    print("| part | by its own clock | before 30 s | after 36 s |")
    print("|---|---|---|---|")
    for part in PARTS:
        print(f"| {part} | {spent[part] / whole:.3f} | {before[part]:.3f} | {after[part]:.3f} |")


def shares(recording: Recording, start_us: int, end_us: int) -> dict[str, float]:
    """The parts of the main thread's wall time in the windows between two times of the run."""
    windows = {
        window.id
        for window in recording.windows
        if window.start_us >= start_us and window.end_us <= end_us
    }
    main_thread = next(thread.id for thread in recording.threads if thread.is_main)
    wall: dict[str, int] = defaultdict(int)
    for window, thread, node, wall_us, _, _ in recording.samples.rows():
        if window in windows and thread == main_thread:
            wall[_part(recording, node)] += wall_us
    return {part: wall[part] / sum(wall.values()) for part in PARTS}


def _part(recording: Recording, node: int) -> str:
    while node != NO_PARENT:
        function = recording.nodes[node].frame.function
        if function in PARTS:
            return function
        node = recording.nodes[node].parent
    return "other"


if __name__ == "__main__":
    main()
