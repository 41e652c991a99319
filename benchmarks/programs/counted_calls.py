"""What counting costs in this very process, which must carry the agent: one JSON object at the end.

Blocks of calls with and without the hook take turns within milliseconds, so that a machine that is
busy with other things slows both alike. Without is the function that the hook stands in for.
"""

from __future__ import annotations

import argparse
import json
import logging
import subprocess
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
from gymnasium.vector import SyncVectorEnv
from omegaconf import DictConfig, ListConfig, OmegaConf
from rlprof_agent import stand_ins
from rlprof_agent.counted import call_marks
from rlprof_agent.counted.dressing import is_counting, original_of
from rlprof_agent.counted.pickles import unmarked

import rlprof

CALLS = 50
"""Calls in a block."""


class Still(gymnasium.Env):
    """An environment that costs nothing but its call."""

    def step(self, action):
        return action


class StillVector(gymnasium.vector.VectorEnv):
    num_envs = 8

    def step(self, actions):
        return actions


class Apart(NamedTuple):
    """Time per call (ns)."""

    counted: float
    bare: float

    @property
    def added(self) -> float:
        return self.counted - self.bare


def timed_ns(call: Callable[[], object]) -> float:
    started = time.perf_counter_ns()
    for _ in range(CALLS):
        call()
    return (time.perf_counter_ns() - started) / CALLS


def fastest_ns(call: Callable[[], object]) -> float:
    """Of calls that take long enough to be timed one by one."""
    times = []
    for _ in range(CALLS // 5):
        started = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - started)
    return min(times)


def in_turns(
    counted: Callable[[], object],
    bare: Callable[[], object],
    blocks: int,
    time_of: Callable[[Callable[[], object]], float] = timed_ns,
) -> Apart:
    pairs = [(time_of(counted), time_of(bare)) for _ in range(blocks)]
    return Apart(*(undisturbed(column) for column in zip(*pairs, strict=True)))


def undisturbed(values: Sequence[float]) -> float:
    """The tenth percentile: of blocks in which nobody else had the core."""
    return sorted(values)[len(values) // 10]


def by_call(
    owner: type,
    name: str,
    blocks: int,
    *arguments: Any,
    time_of: Callable[[Callable[[], object]], float] = timed_ns,
) -> Apart:
    """The method ``name`` as ``owner`` defines it, counted and as it was."""
    ours = owner.__dict__[name]
    mark = call_marks.mark_of(ours)
    if mark is not None:
        original: Any = unmarked(ours, mark.own)
    elif is_counting(ours):
        original = original_of(ours)
    else:
        raise SystemExit(f"{owner.__name__}.{name} is not counted: is the agent on?")
    return in_turns(lambda: ours(*arguments), lambda: original(*arguments), blocks, time_of)


def with_marks_and_without(
    call: Callable[[], None],
    blocks: int,
    time_of: Callable[[Callable[[], object]], float] = timed_ns,
) -> Apart:
    """All that ``call`` calls. Marks change seldom: a change of code makes Python forget what it has learned of it."""
    counted: list[float] = []
    bare: list[float] = []
    for _ in range(10):
        counted += [time_of(call) for _ in range(blocks // 10)]
        taken = [
            (mark, function)
            for marks in call_marks._of_codes.values()
            for mark in marks
            for each in mark._functions
            if (function := each()) is not None
        ]
        for mark, function in taken:
            mark.take(function)
        bare += [time_of(call) for _ in range(blocks // 10)]
        for mark, function in taken:
            mark.give(function)
    return Apart(undisturbed(counted), undisturbed(bare))


def made_env(blocks: int) -> Apart:
    """An environment in its wrappers, each of them counted."""
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=0)

    def step() -> None:
        if env.step(0)[2]:
            env.reset()

    return with_marks_and_without(step, blocks)


def message(blocks: int) -> Apart:
    with Path("/dev/null").open("wb", buffering=0) as sink:
        connection = Connection(sink.fileno(), readable=False)
        apart = by_call(Connection, "_send_bytes", blocks, connection, b"x" * 100)
        connection._handle = None  # The file closes itself.
    return apart


def log_record(blocks: int) -> Apart:
    logger = logging.Logger("counted")
    logger.addHandler(logging.NullHandler())
    record = logger.makeRecord("counted", logging.INFO, "", 0, "", (), None)
    # Counted as it is looked up of a logger.
    original = logging.Logger.handle
    return in_turns(lambda: logger.handle(record), lambda: original(logger, record), blocks)


def accesses(blocks: int) -> dict[str, float]:
    config = OmegaConf.create({"lr": 0.1, "layers": [1, 2, 3]})
    apart = {
        "config_attribute": by_call(DictConfig, "__getattr__", blocks, config, "lr"),
        "config_item": by_call(DictConfig, "__getitem__", blocks, config, "lr"),
        "config_get": by_call(DictConfig, "get", blocks, config, "lr"),
        "list_item": by_call(ListConfig, "__getitem__", blocks, config.layers, 1),
    }
    attribute = apart["config_attribute"]
    added = {name: cost.added for name, cost in apart.items()}
    return {**added, "config_share": attribute.added / attribute.bare}


def process_start(blocks: int) -> Apart:
    """With and without the function that stands in for the one that forks."""
    module: Any = subprocess
    ours = module._fork_exec
    original = stand_ins._real(ours)
    counted: list[float] = []
    bare: list[float] = []
    for _ in range(blocks // 10):
        for function, times in ((ours, counted), (original, bare)):
            module._fork_exec = function
            started = time.perf_counter_ns()
            subprocess.run(["true"], check=True)
            times.append(time.perf_counter_ns() - started)
    module._fork_exec = ours
    return Apart(undisturbed(counted), undisturbed(bare))


def phase(blocks: int) -> Apart:
    def in_phase() -> None:
        with rlprof.phase("measured"):
            pass

    return in_turns(in_phase, lambda: None, blocks)


def cart_pole(blocks: int, envs: int) -> Apart:
    vector = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * envs)
    vector.reset(seed=0)
    actions = vector.action_space.sample()
    return with_marks_and_without(lambda: vector.step(actions), 2 * blocks, fastest_ns)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks", type=int, default=300)
    blocks = parser.parse_args().blocks
    result = {
        "env": by_call(Still, "step", blocks, Still(), 0).added,
        "made": made_env(blocks).added,
        "message": message(blocks).added,
        "record": log_record(blocks).added,
        **accesses(blocks),
        "phase": phase(blocks).added,
        "vector": by_call(StillVector, "step", blocks, StillVector(), 0).added,
    }
    start = process_start(blocks)
    result["process_start"] = start.added / start.bare
    for envs in (1, 8, 32):
        apart = cart_pole(blocks, envs)
        result[f"cart_pole_{envs}"] = apart.added / apart.bare
    print(json.dumps(result))


if __name__ == "__main__":
    main()
