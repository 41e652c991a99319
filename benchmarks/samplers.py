"""What rlprof, bare austin and py-spy say of one set of lines: their share, callees included."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from measuring import TIMEOUT_S, environment, rlprof_run, run

from rlprof.profile.build import build_profile
from rlprof.recording.samplers.austin import find_austin
from rlprof.recording.samplers.text import TextReader
from rlprof.runfile.reader import read_run

INTERVAL_MS = 10
"""rlprof's default, for austin too; py-spy takes its rate: 100 Hz."""


class LineShare(NamedTuple):
    """Time with one of the lines on the stack, in % of the steady time of the main thread."""

    percent: float
    valid_percent: float
    """Time whose stack was whole."""
    percent_of_valid: float
    samples: int


def rlprof_share(command: Sequence[str], program: Path, lines: frozenset[int]) -> LineShare:
    """As a report would have it: the steady phase, the critical thread."""
    with tempfile.TemporaryDirectory() as folder:
        run_file = Path(folder, "lines.rlprof")
        run(rlprof_run(run_file, command=command))
        recording = read_run(run_file)
    tree = build_profile(recording).steady
    guilty = whole = torn = 0
    for node in tree.hot_nodes():
        wall = tree.self_cost(node).wall_us
        whole += wall
        path = [tree.frame(node), *map(tree.frame, tree.ancestors(node))]
        if any(frame.line in lines and frame.file == str(program) for frame in path):
            guilty += wall
        elif not path[-1].file:
            torn += wall
    samples = sum(max(p.probe_samples, p.clock_samples) for p in recording.processes)
    valid = whole - torn
    return LineShare(
        100 * guilty / whole, 100 * valid / whole, 100 * guilty / max(1, valid), samples
    )


def austin_share(command: Sequence[str], program: Path, lines: frozenset[int]) -> LineShare:
    """Bare austin, attached when the steady part begins."""
    austin = find_austin()
    if not austin.writes_text:
        raise SystemExit(f"{austin.path} is austin {austin.version}; this benchmark needs 3.7")

    def attach(pid: int, output: Path) -> subprocess.Popen[bytes]:
        with output.open("wb") as file:
            return subprocess.Popen(
                [str(austin.path), "-P", "-f", "-i", f"{INTERVAL_MS}ms", "-p", str(pid)],
                stdout=file,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "AUSTIN_NO_LOGGING": "1"},
            )

    pid, output = _attached(command, attach)
    reader = TextReader()
    reader.feed(output)
    reader.finish()
    guilty = whole = torn = ticks = 0
    for key, spent in reader.drain().items():
        stack = reader.parse(key)
        if stack.tid != pid:
            continue
        wall = spent.busy_us + spent.idle_us
        whole += wall
        ticks += spent.ticks
        if stack.is_torn:
            torn += wall
        elif any(frame.line in lines and frame.file == str(program) for frame in stack.frames):
            guilty += wall
    return _share(guilty, whole, torn, ticks)


def py_spy_share(command: Sequence[str], program: Path, lines: frozenset[int]) -> LineShare:
    """``py-spy record`` at 100 Hz, attached when the steady part begins; it pauses its target."""
    rate = 1000 // INTERVAL_MS
    py_spy = Path(sys.executable).with_name("py-spy")

    def attach(pid: int, output: Path) -> subprocess.Popen[bytes]:
        options = ["-r", str(rate), "-f", "raw", "-o", str(output), "-d", "unlimited"]
        return subprocess.Popen(
            [str(py_spy), "record", *options, "--full-filenames", "-p", str(pid)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    _, output = _attached(command, attach)
    places = re.compile(
        rf"\({re.escape(str(program))}:({'|'.join(map(str, sorted(lines)))})\)(;|$)"
    )
    guilty = whole = 0
    for line in output.decode("utf-8", "replace").splitlines():
        stack, _, count = line.rpartition(" ")
        whole += int(count)
        if places.search(stack):
            guilty += int(count)
    return _share(guilty, whole, 0, whole)


def _share(guilty: int, whole: int, torn: int, samples: int) -> LineShare:
    if not whole:
        raise SystemExit("a sampler saw nothing of its target")
    valid = whole - torn
    return LineShare(
        100 * guilty / whole, 100 * valid / whole, 100 * guilty / max(1, valid), samples
    )


def _attached(
    command: Sequence[str], attach: Callable[[int, Path], subprocess.Popen[bytes]]
) -> tuple[int, bytes]:
    """Start ``command``, attach a sampler at its word, and wait for both: (pid, output)."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "samples")
        target = subprocess.Popen(
            list(command), env=environment(), stdout=subprocess.PIPE, text=True
        )
        assert target.stdout is not None
        ready = target.stdout.readline().split()
        if ready != ["ready", str(target.pid)]:
            raise SystemExit(f"{' '.join(command)} did not get ready")
        sampler = attach(target.pid, output)
        target.communicate(timeout=TIMEOUT_S)
        try:
            sampler.wait(timeout=10)
        except subprocess.TimeoutExpired:
            sampler.send_signal(signal.SIGINT)
            sampler.wait(timeout=10)
        return target.pid, output.read_bytes()
