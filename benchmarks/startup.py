"""What happens before the training starts: the command line, the agent, and ``rlprof.step()``.

    python benchmarks/startup.py --rounds 20

For every Python from 3.9 to 3.13 that is found: the import of the agent, by ``-X importtime`` and
as the difference between starting a bare interpreter and one with the agent, which announces
itself to a recorder that answers at once; and what a call of ``rlprof.step()`` costs.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import selectors
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from interpreters import VERSIONS, found
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

from rlprof.recording.agents import AgentServer
from rlprof.recording.settings import DEFAULT_INTERVAL_US, RecordingSettings

IMPORT_ROW = re.compile(r"import time:\s*(\d+) \|\s*(\d+) \| (\s*)(\S+)$")
CALL_ROUNDS = 3

HELP = "`rlprof --help`, ms"
AGENT_IMPORT = "agent import, ms"
BARE_START = "start of a bare interpreter, ms"
ADDED_WALL = "added to it by the agent, ms"
ADDED_CPU = "the same in CPU time, ms"
STEP_ALONE = "`rlprof.step()` alone, ns"
STEP_RECORDED = "`rlprof.step()` under rlprof, ns"
TARGETS = {
    AGENT_IMPORT: "< 10",
    BARE_START: "",
    ADDED_WALL: "",
    ADDED_CPU: "",
    STEP_ALONE: "< 1000",
    STEP_RECORDED: "< 1000",
}


@contextmanager
def answering_recorder() -> Iterator[dict[str, str]]:
    """The environment of the agent, and a recorder that lets every process go on at once."""
    server = AgentServer()
    stop_reading, stop_writing = os.pipe()

    def answer() -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(server, selectors.EVENT_READ)
            selector.register(stop_reading, selectors.EVENT_READ)
            while True:
                keys = {key.fileobj for key, _ in selector.select()}
                if stop_reading in keys:
                    return
                announcement = server.accept()
                if announcement is not None:
                    server.release(announcement.pid)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        settings = RecordingSettings(
            (), "", Path(), interval_us=DEFAULT_INTERVAL_US, counts_all=True
        )
        yield {**environment(), **server.environment(settings, {})}
    finally:
        os.write(stop_writing, b"x")
        thread.join()
        server.close()
        os.close(stop_reading)
        os.close(stop_writing)


class Cost(NamedTuple):
    """Of one process, from its start to its end (ms)."""

    wall: float
    cpu: float


def cost(command: list[str], env: Mapping[str, str]) -> Cost:
    cpu, started = _children_cpu_s(), time.perf_counter()
    run(command, env)
    return Cost(1000 * (time.perf_counter() - started), 1000 * (_children_cpu_s() - cpu))


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def agent_import_ms(python: Path, env: Mapping[str, str]) -> float:
    """Everything that ``sitecustomize`` imports and does, the handshake included."""
    _, stderr = run([str(python), "-X", "importtime", "-c", "pass"], env)
    for line in stderr.splitlines():
        row = IMPORT_ROW.match(line)
        if row is not None and row[4] == "sitecustomize":
            return int(row[2]) / 1000
    raise SystemExit(f"{python} imported no sitecustomize:\n{stderr}")


def step_ns(python: Path, *, recorded: bool) -> float:
    command = [str(python), str(PROGRAMS / "step_cost.py")]
    if not recorded:
        return float(last_json(run(command)[0])["ns"])
    with tempfile.TemporaryDirectory() as folder:
        recording = rlprof_run(Path(folder, "step.rlprof"), command=command)
        return float(last_json(run(recording)[0])["ns"])


def measure(python: Path, rounds: int) -> dict[str, Spread]:
    """Everything that differs from Python to Python, by what it is."""
    bare = {key: value for key, value in environment().items() if key != "PYTHONPATH"}
    start = [str(python), "-c", "pass"]
    with answering_recorder() as carried:
        imports = Spread.of(agent_import_ms(python, carried) for _ in range(rounds))
        pairs = in_pairs(rounds, lambda: cost(start, bare), lambda: cost(start, carried))
    return {
        AGENT_IMPORT: imports,
        BARE_START: Spread.of(without.wall for without, _ in pairs),
        ADDED_WALL: Spread.of(with_agent.wall - without.wall for without, with_agent in pairs),
        ADDED_CPU: Spread.of(with_agent.cpu - without.cpu for without, with_agent in pairs),
        STEP_ALONE: Spread.of(step_ns(python, recorded=False) for _ in range(CALL_ROUNDS)),
        STEP_RECORDED: Spread.of(step_ns(python, recorded=True) for _ in range(CALL_ROUNDS)),
    }


def rows(measured: Mapping[str, Mapping[str, Spread]], help_ms: Spread) -> list[list[str]]:
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    table = [[HELP, "< 200", *(help_ms.text("{:.0f}") if v == own else "" for v in measured)]]
    for name, target in TARGETS.items():
        form = "{:.1f}" if name.endswith("ms") else "{:.0f}"
        table.append([name, target, *(one[name].text(form) for one in measured.values())])
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--versions", nargs="+", default=VERSIONS, metavar="3.X")
    arguments = parser.parse_args()
    say("rlprof --help")
    help_command = [sys.executable, "-m", "rlprof", "--help"]
    help_ms = Spread.of(cost(help_command, environment()).wall for _ in range(arguments.rounds))
    measured = {}
    for version, python in found(tuple(arguments.versions)).items():
        say(f"Python {version}: {python}")
        measured[version] = measure(python, arguments.rounds)
    print_table(
        f"Start-up: median of {arguments.rounds} (lowest to highest)",
        ["what", "target", *(f"Python {version}" for version in measured)],
        rows(measured, help_ms),
    )


if __name__ == "__main__":
    main()
