"""What rlprof's look at torch costs: each counted read, and the windows of a run of five minutes.

    python benchmarks/torch_cost.py --rounds 5 --seconds 300

Reads are timed in processes that carry the agent and nothing else. Windows are those of one recorded training
of tiny networks, which has more operations per second than any on a GPU: what they cost is in its run file. In
interleaved pairs of shorter runs the whole rate with windows and reads is set against that with ``--torch off``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

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

from rlprof.runfile.reader import read_run

PER_CALL_NS = 1000
"""Target per counted read."""

OF_RUN = 0.02
"""Target for all windows of a run of five minutes."""

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


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=300, help="of the run with windows")
    parser.add_argument("--pair-seconds", type=int, default=30, help="of each run of a pair")
    arguments = parser.parse_args()
    counted_reads(arguments.rounds)
    with tempfile.TemporaryDirectory() as folder:
        windows(Path(folder) / "run.rlprof", arguments.seconds)
        pairs(Path(folder) / "run.rlprof", arguments.rounds, arguments.pair_seconds)


def counted_reads(rounds: int) -> None:
    program = [sys.executable, str(PROGRAMS / "tensor_reads.py")]
    results = []
    for number in range(rounds):
        say(f"reads, round {number + 1} of {rounds}")
        with answering_recorder() as carried:
            wanted = {**carried, "RLPROF_TORCH": "auto", "RLPROF_TORCH_DIR": "/nonexistent"}
            results.append(last_json(run(program, wanted)[0]))
    print_table(
        f"Counted reads of tensors: median of {rounds} processes (lowest to highest)",
        ["what", "added", "target"],
        [
            [
                text,
                f"{Spread.of(it[name] for it in results).text('{:.0f}')} ns",
                f"< {PER_CALL_NS} ns",
            ]
            for name, text in READS.items()
        ],
    )


def training(seconds: int) -> list[str]:
    return [sys.executable, str(PROGRAMS / "updating.py"), "--seconds", str(seconds)]


def windows(run_file: Path, seconds: int) -> None:
    say(f"windows: a run of {seconds} s")
    run(rlprof_run(run_file, command=training(seconds)), environment())
    taken = read_run(run_file).torch_windows
    cost_s = sum(it.ended_us - it.begun_us for it in taken) / 1e6
    kept = sum(len(it.trace) for it in taken) / 1024
    print_table(
        f"Windows of torch's profiler in {seconds} s",
        ["windows", "updates in them", "time in them", "of the run", "target", "kept"],
        [
            [
                str(len(taken)),
                str(sum(it.updates for it in taken)),
                f"{1000 * cost_s:.0f} ms",
                f"{100 * cost_s / seconds:.3f} %",
                f"< {100 * OF_RUN:g} %",
                f"{kept:.0f} KiB",
            ]
        ],
    )


def pairs(run_file: Path, rounds: int, seconds: int) -> None:
    def rate(mode: str) -> float:
        say(f"--torch {mode}, {seconds} s")
        command = rlprof_run(run_file, "--torch", mode, command=training(seconds))
        return float(last_json(run(command, environment())[0])["sps"])

    ratios = [
        auto / off for off, auto in in_pairs(rounds, lambda: rate("off"), lambda: rate("auto"))
    ]
    print_table(
        f"Updates per second with windows and reads, of those with --torch off: {rounds} pairs",
        ["ratio"],
        [[Spread.of(ratios).text()]],
    )


if __name__ == "__main__":
    main()
