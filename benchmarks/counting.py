"""What counting costs: each hook per call, and CartPole through a vector environment.

    python benchmarks/counting.py --rounds 7

Each round starts a process that carries the agent and makes the same calls with and without its
hooks, in turns of some milliseconds. The recorder answers and does not sample, so that the hooks are all there is.
"""

from __future__ import annotations

import argparse
import sys
from typing import NamedTuple

from measuring import PROGRAMS, Spread, last_json, print_table, run, say
from startup import answering_recorder

PER_CALL_NS = 1000
"""Target per call of any hook."""
PER_MARK_NS = 30
"""The same of a method of Python's, which has a mark in its code."""
PER_PHASE_NS = 2000
OF_SPS = 0.005
"""Target on CartPole: part of its steps per second."""
PER_ACCESS_NS = 200
"""Target of configuration accesses: 2 % of ten microseconds."""
OF_ACCESS = 0.03
"""The same of an access as short as they are, 7 µs."""
OF_START = 0.02
"""Target of process starts: part of what they take."""


class Row(NamedTuple):
    key: str
    what: str
    target: float
    share_of: str = ""
    """What the figure is a part of; empty for one in ns."""


ROWS = (
    Row("env", "`Env.step`, no wrapper", PER_MARK_NS),
    Row("made", "`Env.step` in the three wrappers of `gymnasium.make`", 4 * PER_MARK_NS),
    Row("vector", "`VectorEnv.step`", PER_MARK_NS),
    Row("message", "a message of `multiprocessing`", PER_CALL_NS),
    Row("record", "a log record", PER_CALL_NS),
    Row("config_attribute", "`config.lr` of OmegaConf", PER_ACCESS_NS),
    Row("config_item", "`config['lr']`", PER_ACCESS_NS),
    Row("config_get", "`config.get('lr')`", PER_ACCESS_NS),
    Row("list_item", "`layers[1]` of a list of it", PER_ACCESS_NS),
    Row("config_share", "`config.lr`", OF_ACCESS, "the access"),
    Row("process_start", "`subprocess.run(['true'])`", OF_START, "the start"),
    Row("phase", "`with rlprof.phase(name)`, whole", PER_PHASE_NS),
    Row("cart_pole_1", "CartPole, `SyncVectorEnv` of 1", OF_SPS, "sps"),
    Row("cart_pole_8", "CartPole, `SyncVectorEnv` of 8", OF_SPS, "sps"),
    Row("cart_pole_32", "CartPole, `SyncVectorEnv` of 32", OF_SPS, "sps"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--python", default=sys.executable, help="one that has gymnasium and omegaconf"
    )
    arguments = parser.parse_args()
    program = [arguments.python, str(PROGRAMS / "counted_calls.py")]
    results = []
    for number in range(arguments.rounds):
        say(f"round {number + 1} of {arguments.rounds}")
        with answering_recorder() as carried:
            results.append(last_json(run(program, carried)[0]))
    print_table(
        f"Counting: median of {arguments.rounds} processes (lowest to highest)",
        ["what", "added", "target"],
        [row_text(row, [result[row.key] for result in results]) for row in ROWS],
    )


def row_text(row: Row, values: list[float]) -> list[str]:
    if row.share_of:
        spread = Spread.of(100 * value for value in values)
        return [
            row.what,
            f"{spread.text('{:.2f}')} % of {row.share_of}",
            f"< {100 * row.target:g} %",
        ]
    return [row.what, f"{Spread.of(values).text('{:.0f}')} ns", f"< {row.target:g} ns"]


if __name__ == "__main__":
    main()
