"""How long ``rlprof trace`` takes on a large trace, and HolisticTraceAnalysis on the same.

    python benchmarks/trace_speed.py --rounds 5 [--trace FILE] [--hta PYTHON]

Without ``--trace`` a trace of a PPO-like training with stacks is made, 55 MB of JSON. ``--hta`` is an interpreter with
HolisticTraceAnalysis installed (it pins other versions of what rlprof uses); without it, rlprof is timed alone. Whole commands
are timed, the interpreter's start and its imports included.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from measuring import Spread, environment, print_table, say

from rlprof.units import size

MEGABYTES = 55
TARGET_S = 1.5
TARGET_BYTES = 600 << 20
TIMES_FASTER = 10

HTA = """
import sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir=sys.argv[2])
analysis.get_temporal_breakdown(visualize=False)
analysis.get_idle_time_breakdown(ranks=[0], visualize=False)
analysis.get_gpu_kernel_breakdown(visualize=False)
analysis.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)
"""
"""About what ``rlprof trace`` tells: time by device, idle time, kernels, launches."""


class Took(NamedTuple):
    wall_s: float
    peak_bytes: int


def rows_of_a_training(rng: random.Random) -> Iterator[dict[str, Any]]:
    """One optimizer step after the other: ops with Python frames, launches, kernels, a read of the loss."""
    host, gpu = {"pid": 4711, "tid": 4711}, {"pid": 0, "tid": 7}
    now = device = 1_000.0
    correlation = python = 0
    step = 0
    while True:
        began = now
        for layer in range(40):
            python += 1
            correlation += 1
            length = rng.uniform(12.0, 30.0)
            yield {"ph": "X", "cat": "python_function", "name": f"train.py({100 + layer}): forward", **host,
                   "ts": round(now, 3), "dur": round(length + 4, 3),
                   "args": {"Python id": python, "Python parent id": 0, "Ev Idx": python}}  # fmt: skip
            yield {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", **host, "ts": round(now + 1, 3),
                   "dur": round(length, 3), "args": {"External id": correlation, "Record function id": 0,
                   "Sequence number": correlation, "Fwd thread id": 0, "Ev Idx": python,
                   "Input Dims": [[64], [256, 64], [64, 64], [], []],
                   "Input type": ["float", "float", "float", "Scalar", "Scalar"]}}  # fmt: skip
            yield {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", **host,
                   "ts": round(now + length / 2, 3), "dur": 4.5,
                   "args": {"External id": correlation, "cbid": 211, "correlation": correlation}}  # fmt: skip
            yield {"ph": "s", "id": correlation, "cat": "ac2g", "name": "ac2g", **host,
                   "ts": round(now + length / 2, 3)}  # fmt: skip
            device = max(device, now + length / 2 + 6) + rng.uniform(0.2, 2.0)
            took = rng.uniform(3.0, 12.0)
            yield {"ph": "X", "cat": "kernel", "name": "ampere_sgemm_32x32_sliced1x4_tn", **gpu,
                   "ts": round(device, 3), "dur": round(took, 3),
                   "args": {"External id": correlation, "queued": 0, "device": 0, "context": 1, "stream": 7,
                   "correlation": correlation, "registers per thread": 86, "shared memory": 32768,
                   "blocks per SM": 0.2, "warps per SM": 1.5, "grid": [2, 8, 1], "block": [128, 1, 1],
                   "est. achieved occupancy %": 2}}  # fmt: skip
            device += took
            now += length + 6
        correlation += 1
        waited = max(5.0, device - now)
        yield {"ph": "X", "cat": "cpu_op", "name": "aten::item", **host, "ts": round(now, 3),
               "dur": round(waited + 20, 3), "args": {"External id": correlation}}  # fmt: skip
        yield {"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", **host,
               "ts": round(now + 10, 3), "dur": round(waited, 3),
               "args": {"cbid": 131, "correlation": correlation}}  # fmt: skip
        now += waited + 25
        yield {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", **host,
               "ts": round(began, 3), "dur": round(now - began, 3), "args": {}}  # fmt: skip
        step += 1


def write_trace(path: Path, megabytes: float) -> None:
    header = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100", "numSms": 108}],
              "with_stack": 1, "record_shapes": 1}  # fmt: skip
    with path.open("w") as file:
        file.write(json.dumps(header)[:-1] + ', "traceEvents": [\n')
        for number, row in enumerate(rows_of_a_training(random.Random(0))):
            file.write(",\n" * bool(number) + json.dumps(row))
            if file.tell() > megabytes * 1e6 and row["cat"] == "user_annotation":
                break
        file.write("\n]}\n")


def run_timed(command: Sequence[str]) -> Took:
    """Wall time and peak memory of one command."""
    started = time.perf_counter()
    process = subprocess.Popen(
        list(command),
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}\n{errors}")
    return Took(time.perf_counter() - started, usage.ru_maxrss * 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trace", type=Path, metavar="FILE", help="a trace of your own")
    parser.add_argument("--hta", metavar="PYTHON", help="an interpreter with HolisticTraceAnalysis")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trace = arguments.trace
        if trace is None:
            trace = Path(folder, "trace.json")
            write_trace(trace, MEGABYTES)
        commands = {"rlprof trace": [sys.executable, "-m", "rlprof", "trace", str(trace)]}
        if arguments.hta:
            commands["HTA"] = [arguments.hta, "-c", HTA, str(trace), str(trace.parent)]
        taken: dict[str, list[Took]] = {name: [] for name in commands}
        for number in range(arguments.rounds):
            for name in reversed(commands) if number % 2 else commands:
                say(f"round {number + 1}: {name}")
                taken[name].append(run_timed(commands[name]))
        rows = []
        for name, runs in taken.items():
            wall = Spread.of(run.wall_s for run in runs)
            peak = max(run.peak_bytes for run in runs)
            target = f"< {TARGET_S} s, < {size(TARGET_BYTES)}" if name == "rlprof trace" else "-"
            rows.append([name, wall.text("{:.2f}"), size(peak), target])
        if len(taken) == 2:
            ratio = Spread.of(
                theirs.wall_s / ours.wall_s
                for ours, theirs in zip(taken["rlprof trace"], taken["HTA"], strict=True)
            )
            rows.append(["times faster", ratio.text("{:.1f}"), "-", f">= {TIMES_FASTER}"])
        print_table(
            f"A trace of {size(trace.stat().st_size)}: {arguments.rounds} interleaved rounds, median (lowest to highest)",
            ["command", "wall, s", "peak memory", "target"],
            rows,
        )


if __name__ == "__main__":
    main()
