"""Both readers against austin-python, the reference, on what a real austin wrote."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

from rlprof.model.recording import Frame
from rlprof.recording.samplers.austin import find_austin
from rlprof.recording.samplers.base import StackReader
from rlprof.recording.samplers.mojo import MojoReader
from rlprof.recording.samplers.text import TextReader

pytest.importorskip("austin", reason="austin-python is missing (the extra `austin`)")

from austin.events import AustinSample
from austin.format.collapsed_stack import AustinFileReader
from austin.format.mojo import MojoStreamReader

TARGET = """
import gc, sys, threading, time

def sleeps():
    while True:
        time.sleep(0.01)

def fact(n):
    return 1 if n < 2 else n * fact(n - 1)

threading.Thread(target=sleeps, daemon=True).start()
print("ready", flush=True)
end = time.monotonic() + 1.5
while time.monotonic() < end:
    for _ in range(50):
        fact(50)
    gc.collect()
"""

Totals = dict[tuple[int, tuple[Frame, ...]], list[int]]
"""By thread and stack, without austin's marks: [busy µs, idle µs, samples]."""


def recorded(folder: Path, *options: str) -> bytes:
    """What austin writes of the target in its last second."""
    austin = find_austin()
    if not austin.writes_text:
        pytest.skip("austin 4 cannot write both formats")
    output = folder / "recorded"
    with subprocess.Popen([sys.executable, "-c", TARGET], stdout=subprocess.PIPE) as target:
        assert target.stdout is not None
        target.stdout.readline()
        command = [str(austin.path), "-P", "-f", "-g", "-i", "1ms", "-t", "1s", *options]
        subprocess.run(
            [*command, "-o", str(output), "-p", str(target.pid)],
            env={"AUSTIN_NO_LOGGING": "1"},
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=60,
        )
    return output.read_bytes()


def ours(reader: StackReader, data: bytes) -> Totals:
    reader.feed(data)
    reader.finish()
    totals: Totals = defaultdict(lambda: [0, 0, 0])
    for key, time in reader.drain().items():
        stack = reader.parse(key)
        total = totals[stack.tid, stack.frames]
        for position, value in enumerate((time.busy_us, time.idle_us, time.ticks)):
            total[position] += value
    return dict(totals)


def theirs(events: Iterable[object], *, base: int) -> Totals:
    """``base``: austin writes thread ids in decimal as text and in hexadecimal as MOJO."""
    totals: Totals = defaultdict(lambda: [0, 0, 0])
    for event in events:
        if not isinstance(event, AustinSample):
            continue
        frames = tuple(
            Frame(frame.filename, frame.function, frame.line)
            for frame in event.frames or ()
            if frame.filename  # Its marks for the collector and torn frames have none.
        )
        total = totals[int(event.thread, base), frames]
        total[1 if event.idle else 0] += event.metrics.time or 0
        total[2] += 1
    return dict(totals)


def assert_plausible(totals: Totals) -> None:
    busy, idle, samples = map(sum, zip(*totals.values(), strict=True))
    assert samples > 200
    assert busy > 500_000
    assert idle > 500_000
    assert any(frames and frames[-1].function == "fact" for _, frames in totals)


def test_text(tmp_path):
    data = recorded(tmp_path)
    (tmp_path / "copy").write_bytes(data)

    with (tmp_path / "copy").open() as file:
        reference = theirs(AustinFileReader(file), base=10)

    assert ours(TextReader(), data) == reference
    assert_plausible(reference)


def test_mojo(tmp_path):
    data = recorded(tmp_path, "-b")
    (tmp_path / "copy").write_bytes(data)

    with (tmp_path / "copy").open("rb") as file:
        reference = theirs(MojoStreamReader(file), base=16)

    assert ours(MojoReader(), data) == reference
    assert_plausible(reference)
