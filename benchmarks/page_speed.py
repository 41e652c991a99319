"""How long `rlprof report --html` takes, and how large its page is, for runs of minutes and of hours.

    python benchmarks/page_speed.py

Records a deep torch program for a while and replays it on a fake clock (replaying.py) as runs of
eight processes, one of ten minutes and one of ten hours. A third run is as wide as a run file can
get: as many rows as it holds, on as many stacks that are all alike. Their pages are made in this
process, and by whole commands, the interpreter's start included. Sizes are in millions of bytes.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from measuring import Spread, print_table, say
from replaying import replay
from report_speed import record, wall_s

from rlprof.model.recording import NO_PARENT, Frame, Node, Recording, Samples
from rlprof.model.report import Report
from rlprof.recording.timeline import MAX_SAMPLE_ROWS
from rlprof.renderers.html import RENDERER
from rlprof.report.build import build_report
from rlprof.runfile.reader import read_run

NODES_PER_THREAD = 4_000
PATHS = 300
"""Files that the widest run's functions are in."""


class Row(NamedTuple):
    name: str
    report: Report
    most_megabytes: float
    run_file: Path | None
    """None where there is no file for a whole command."""


def timed_s(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def widest(recorded: Recording, seed: int = 7) -> Recording:
    """``recorded`` with a tree of its own for each thread, and its time spread over all of it."""
    chance = random.Random(seed)
    nodes: list[Node] = []
    of_thread = []
    for _ in recorded.threads:
        own: list[int] = []
        for number in range(NODES_PER_THREAD):
            parent = chance.choice(own[-40:]) if number else NO_PARENT
            own.append(len(nodes))
            nodes.append(Node(own[-1], parent, a_frame(chance)))
        of_thread.append(own)
    each = MAX_SAMPLE_ROWS // (len(recorded.windows) * len(recorded.threads))
    samples = Samples()
    for window in recorded.windows:
        for thread, own in enumerate(of_thread):
            for node in sorted(chance.sample(own, each)):
                wall = round(window.length_us * chance.expovariate(each))
                idle = wall if chance.random() < 0.2 else 0
                cpu = round((wall - idle) * chance.uniform(0.7, 1.0))
                samples.add(window.id, thread, node, wall, idle, cpu)
    return replace(recorded, nodes=tuple(nodes), samples=samples, sources={}, memory=())


def a_frame(chance: random.Random) -> Frame:
    path = chance.randrange(PATHS)
    file = (
        f"/home/researcher/.venv/lib/python3.11/site-packages/package_{path % 23}/module_{path}.py"
    )
    return Frame(file, f"Class{path}.method_{chance.randrange(20)}", chance.randrange(1, 900))


def runs(folder: Path, arguments: argparse.Namespace) -> Iterator[Row]:
    recorded = folder / "recorded.rlprof"
    say(f"recording deep_stacks.py for {arguments.record_seconds:g} s")
    record(recorded, program="deep_stacks.py", workers=2, seconds=arguments.record_seconds)
    for name, hours, most in (
        ("10 minutes", 1 / 6, 2.0),
        (f"{arguments.hours:g} hours", arguments.hours, 3.0),
    ):
        made = folder / f"{name.replace(' ', '-')}.rlprof"
        say(f"replaying it for {name} with {arguments.processes} processes")
        replay(read_run(recorded), made, hours=hours, processes=arguments.processes)
        yield Row(name, build_report(read_run(made), detailed=True), most, made)
        if hours < 1:
            wide = build_report(widest(read_run(made)), detailed=True)
            yield Row(f"{name}, as wide as it gets", wide, most, None)


def measured(row: Row, rounds: int) -> list[str]:
    detail = row.report.detail
    assert detail is not None, "asked for"
    say(f"{row.name}: its page")
    page = RENDERER.render(row.report, {})
    alone = Spread.of(timed_s(lambda: RENDERER.render(row.report, {})) for _ in range(rounds))
    whole = ""
    if row.run_file is not None:
        say(f"{row.name}: rlprof report --html")
        output = str(row.run_file.with_suffix(".html"))
        command = ["report", str(row.run_file), "--html", "--force", "-o", output]
        whole = Spread.of(wall_s(command) for _ in range(rounds)).text("{:.2f}")
    return [
        row.name,
        f"{len(detail.samples)}",
        f"{len(detail.nodes)}",
        f"{len(page.encode()) / 1e6:.2f} (under {row.most_megabytes:g})",
        f"{alone.text('{:.2f}')} (under 1)",
        whole,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--hours", type=float, default=10.0, help="of the long run")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--record-seconds", type=float, default=20.0)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave runs and pages here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        rows = [measured(row, arguments.rounds) for row in runs(folder, arguments)]
    print_table(
        f"Pages of runs of {arguments.processes} processes, Python {sys.version_info[0]}."
        f"{sys.version_info[1]}: median of {arguments.rounds} (lowest to highest)",
        [
            "run",
            "times kept",
            "nodes",
            "size, MB",
            "the page alone, s",
            "`rlprof report --html`, s",
        ],
        rows,
    )


if __name__ == "__main__":
    main()
