"""How fast a sampler's output is folded, and in how much memory.

    python benchmarks/fold.py --samples 1000000

Records a deep torch program with austin at 1 ms, in text and in MOJO, and feeds that output to
rlprof's readers again and again, in the pieces and with the drains of a real recording. Each
measurement is a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from measuring import PROGRAMS, Spread, environment, last_json, print_table, run, say

from rlprof.recording.samplers.austin import find_austin
from rlprof.recording.samplers.base import StackReader
from rlprof.recording.samplers.mojo import MojoReader
from rlprof.recording.samplers.text import TextReader

PIECE_BYTES = 1 << 16
"""What one read of the recorder takes."""

DRAIN_EVERY = 64
"""Pieces between two drains; a real recording drains every window, which is sooner."""

TARGET_SAMPLES_S = 1_000_000
TARGET_MB = 60


class Format(NamedTuple):
    option: list[str]
    reader: type[StackReader]
    header_bytes: int
    """Bytes at the start that must not come twice."""


FORMATS = {
    "text": Format([], TextReader, 0),
    "MOJO": Format(["-b"], MojoReader, 4),
}


class Folded(NamedTuple):
    samples_s: float
    """Per second of CPU time of the reader's process."""
    peak_mb: float
    base_mb: float
    """Of the same process before it read anything."""
    total_us: int
    stacks: int


def record(format_name: str, folder: Path, seconds: float) -> Path:
    """austin's output on the steady part of the deep program."""
    output = folder / f"deep.{format_name.lower()}"
    austin = find_austin()
    if not austin.writes_text:
        raise SystemExit(f"{austin.path} is austin {austin.version}; this benchmark needs 3.7")
    target = subprocess.Popen(
        [sys.executable, str(PROGRAMS / "deep_stacks.py"), "--seconds", str(seconds + 1)],
        env=environment(),
        stdout=subprocess.PIPE,
    )
    assert target.stdout is not None
    target.stdout.readline()  # "ready"
    with output.open("wb") as file:
        sampler = subprocess.Popen(
            [
                *(str(austin.path), "-P", "-f", "-g", "-i", "1ms"),
                *FORMATS[format_name].option,
                *("-p", str(target.pid)),
            ],
            stdout=file,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "AUSTIN_NO_LOGGING": "1"},
        )
        target.wait()
        sampler.wait()
    return output


def pieces(path: Path, header_bytes: int) -> Iterator[bytes]:
    """The file over and over; its header once."""
    with path.open("rb") as file:
        while True:
            while piece := file.read(PIECE_BYTES):
                yield piece
            file.seek(header_bytes)


def fold(format_name: str, path: Path, samples: int) -> Folded:
    """Fold until ``samples`` were seen. For a process of its own."""
    chosen = FORMATS[format_name]
    reader = chosen.reader()
    base_mb = _peak_mb()
    seen = total_us = 0
    stacks: set[object] = set()
    started = time.process_time()
    for number, piece in enumerate(pieces(path, chosen.header_bytes), 1):
        reader.feed(piece)
        if number % DRAIN_EVERY:
            continue
        for key, spent in reader.drain().items():
            reader.parse(key)
            stacks.add(hash(key))
            seen += spent.ticks
            total_us += spent.busy_us + spent.idle_us
        if seen >= samples:
            break
    seconds = time.process_time() - started
    return Folded(seen / seconds, _peak_mb(), base_mb, total_us, len(stacks))


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def fold_apart(format_name: str, path: Path, samples: int) -> Folded:
    command = [sys.executable, __file__, "--fold", format_name, str(path), str(samples)]
    stdout, _ = run(command)
    return Folded(**last_json(stdout))


def rows(folder: Path, arguments: argparse.Namespace) -> list[list[str]]:
    result = []
    for format_name in FORMATS:
        say(f"{format_name}: recording {arguments.record_seconds:g} s of the deep program")
        path = record(format_name, folder, arguments.record_seconds)
        for samples in (arguments.samples, 10 * arguments.samples):
            if format_name == "MOJO":
                samples //= arguments.mojo_part
            rounds = arguments.rounds if samples <= arguments.samples else 1
            say(f"{format_name}: {samples} samples, {rounds} rounds")
            folded = [fold_apart(format_name, path, samples) for _ in range(rounds)]
            result.append(_row(format_name, samples, folded))
    return result


def _row(format_name: str, samples: int, folded: list[Folded]) -> list[str]:
    speed = Spread.of(one.samples_s / 1e6 for one in folded)
    peak = Spread.of(one.peak_mb for one in folded)
    return [
        format_name,
        f"{samples / 1e6:g} M",
        str(folded[0].stacks),
        speed.text("{:.2f}"),
        f"≥ {TARGET_SAMPLES_S / 1e6:g}",
        f"{peak.median:.0f} (interpreter and imports {folded[0].base_mb:.0f})",
        f"< {TARGET_MB}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument(
        "--mojo-part", type=int, default=10, help="MOJO gets this part of the samples"
    )
    parser.add_argument("--record-seconds", type=float, default=15.0)
    parser.add_argument("--keep", type=Path, help="also copy austin's output into this folder")
    parser.add_argument("--fold", nargs=3, metavar=("FORMAT", "FILE", "SAMPLES"), help="internal")
    arguments = parser.parse_args()
    if arguments.fold:
        format_name, path, samples = arguments.fold
        print(json.dumps(fold(format_name, Path(path), int(samples))._asdict()))
        return
    with tempfile.TemporaryDirectory() as folder:
        table = rows(Path(folder), arguments)
        if arguments.keep:
            shutil.copytree(folder, arguments.keep, dirs_exist_ok=True)
    print_table(
        f"Fold: samples per second of CPU time, {arguments.rounds} rounds",
        ["format", "samples", "stacks", "M samples/s", "target", "peak MB", "target"],
        table,
    )


if __name__ == "__main__":
    main()
