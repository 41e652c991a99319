"""Measure what rlprof's look at torch costs: each counted read, and the windows of its profiler in two trainings.

    python benchmarks/torch_cost.py --rounds 3 --seconds 60 --python /with/stable-baselines3/bin/python

Reads are timed in processes that carry the agent and nothing else. Windows are those of recorded trainings: of
a tiny network, which has more operations per second than any on a GPU, and PPO of Stable-Baselines3. The run
file tells what they took; bare runs in turns with recorded ones tell the whole, reads and samplers included.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from measuring import (
    PROGRAMS,
    Spread,
    environment,
    in_pairs,
    last_json,
    print_table,
    rlprof_run,
    run,
    say,
)
from startup import answering_recorder

from rlprof.model.recording import TorchWindow
from rlprof.runfile.reader import read_run

PER_CALL_NS = 1000
"""Target per counted read."""

OF_RUN = 0.01
"""Target for all windows together."""

AT_ONCE_MS = 500
"""Target for each."""

TRAININGS = {"a tiny network": "updating.py", "PPO of Stable-Baselines3": "sb3_ppo.py"}

READS = {
    "item": "`t.item()`",
    "__float__": "`float(t)`",
    "__bool__": "`if t:`",
    "cpu": "`t.cpu()`",
    "numpy": "`t.numpy()`",
    "tolist": "`t.tolist()`",
    "to": "`t.to(dtype)`",
    "copy_": "`t.copy_(other)`",
}


class Recorded(NamedTuple):
    """A training under rlprof, and the windows in it."""

    sps: float
    windows: Sequence[TorchWindow]
    wall_s: float
    cpu_s: float
    """Of the windows, as rlprof tells it."""

    @property
    def lengths_ms(self) -> list[float]:
        return [(window.ended_us - window.begun_us) / 1000 for window in self.windows]

    @property
    def share(self) -> float:
        return sum(self.lengths_ms) / 1000 / self.wall_s


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=60, help="of each training")
    parser.add_argument("--python", default=sys.executable, help="for the trainings")
    arguments = parser.parse_args()
    counted_reads(arguments.rounds)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, program in TRAININGS.items():
            command = [arguments.python, str(PROGRAMS / program)]
            command += ["--seconds", str(arguments.seconds)]
            rows.append(row(name, command, Path(folder) / "run.rlprof", arguments.rounds))
    print_table(
        f"Windows of torch's profiler in {arguments.seconds} s, {arguments.rounds} rounds",
        ["training", "windows", "updates in them", "% of the run", "CPU, % of a core",
         "longest, ms", "sps of the bare one's"],
        rows,
    )  # fmt: skip
    print(f"Targets: at most {100 * OF_RUN:g} % of the run, and {AT_ONCE_MS} ms at once.")


def row(name: str, command: list[str], run_file: Path, rounds: int) -> list[str]:
    def bare() -> float:
        say(f"{name}, bare")
        return float(last_json(run(command, environment())[0])["sps"])

    def recorded() -> Recorded:
        say(f"{name}, recorded")
        told = last_json(run(rlprof_run(run_file, command=command), environment())[0])
        recording = read_run(run_file)
        wall_s = recording.run.wall_us / 1e6
        cpu_s = recording.overhead["torch_windows_cpu_us"] / 1e6
        return Recorded(float(told["sps"]), recording.torch_windows, wall_s, cpu_s)

    pairs = in_pairs(rounds, bare, recorded)
    runs = [each for _, each in pairs]
    return [
        name,
        ", ".join(str(len(each.windows)) for each in runs),
        ", ".join(str(sum(window.updates for window in each.windows)) for each in runs),
        Spread.of(100 * each.share for each in runs).text("{:.2f}"),
        Spread.of(100 * each.cpu_s / each.wall_s for each in runs).text("{:.2f}"),
        f"{max(max(each.lengths_ms, default=0.0) for each in runs):.0f}",
        Spread.of(each.sps / sps for sps, each in pairs).text(),
    ]


def counted_reads(rounds: int) -> None:
    program = [sys.executable, str(PROGRAMS / "tensor_reads.py")]
    results = []
    for number in range(rounds):
        say(f"reads, round {number + 1} of {rounds}")
        with answering_recorder() as carried:
            wanted = {**carried, "RLPROF_TORCH": "auto"}
            results.append(last_json(run(program, wanted)[0]))
    print_table(
        f"Counted reads of tensors: median of {rounds} processes (lowest to highest)",
        ["what", "added", "target"],
        [
            [
                text,
                f"{Spread.of(result[name] for result in results).text('{:.0f}')} ns",
                f"< {PER_CALL_NS} ns",
            ]
            for name, text in READS.items()
        ],
    )


if __name__ == "__main__":
    main()
