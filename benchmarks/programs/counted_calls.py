"""What counting costs in this very process, which must carry the agent: one JSON object at the end.

Blocks of calls with and without the hook take turns within milliseconds, so that a machine that is
busy with other things slows both alike. Without: the class has its own function back.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
from gymnasium.vector import SyncVectorEnv

import rlprof

Hook = tuple[type, str, Any]


class Still(gymnasium.Env):
    """An environment that costs nothing but its call."""

    def step(self, action):
        return action


class StillVector(gymnasium.vector.VectorEnv):
    num_envs = 8

    def step(self, actions):
        return actions


def hooked(*classes: type, name: str = "step") -> list[Hook]:
    """The counted definitions of ``name`` in ``classes`` and what they inherit from."""
    owners = {each: None for cls in classes for each in cls.__mro__ if name in each.__dict__}
    found = [(each, name, each.__dict__[name]) for each in owners]
    return [it for it in found if "rlprof_agent" in it[2].__code__.co_filename]


@contextmanager
def without(hooks: list[Hook]):
    for owner, name, ours in hooks:
        setattr(owner, name, ours.__wrapped__)
    try:
        yield
    finally:
        for owner, name, ours in hooks:
            setattr(owner, name, ours)


def timed_ns(call: Callable[[], object], calls: int) -> float:
    started = time.perf_counter_ns()
    for _ in range(calls):
        call()
    return (time.perf_counter_ns() - started) / calls


def added_ns(call: Callable[[], object], hooks: list[Hook], *, calls: int, blocks: int) -> float:
    """What the hooks add to one call, between the fast blocks with and those without them."""
    return _apart(call, hooks, calls, blocks).added


class Apart(NamedTuple):
    counted: float
    bare: float

    @property
    def added(self) -> float:
        return self.counted - self.bare


def _apart(call: Callable[[], object], hooks: list[Hook], calls: int, blocks: int) -> Apart:
    if not hooks:
        raise SystemExit("nothing is counted here: is the agent on?")
    counted, bare = [], []
    for _ in range(blocks):
        counted.append(timed_ns(call, calls))
        with without(hooks):
            bare.append(timed_ns(call, calls))
    return Apart(_fast(counted), _fast(bare))


def _fast(values: Sequence[float]) -> float:
    """The tenth percentile: of blocks in which nobody else had the core."""
    return sorted(values)[len(values) // 10]


def cart_pole_slowdown(blocks: int, envs: int) -> float:
    """Part of the time of a vector step that counting takes, CartPole in ``SyncVectorEnv``."""
    vector = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * envs)
    vector.reset(seed=0)
    actions = vector.action_space.sample()
    vector.step(actions)  # From here on its environments are left alone.
    apart = _apart(lambda: vector.step(actions), hooked(SyncVectorEnv), 40, blocks)
    return apart.added / apart.bare


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks", type=int, default=300)
    blocks = parser.parse_args().blocks
    still = Still()
    made = gymnasium.make("CartPole-v1")
    chain = [made]
    while chain[-1] is not made.unwrapped:
        chain.append(chain[-1].env)
    result = {"wrappers": len(chain) - 1}
    result["env"] = added_ns(lambda: still.step(0), hooked(Still), calls=200, blocks=blocks)
    made.reset(seed=0)

    def step_made() -> None:
        if made.step(0)[2]:
            made.reset()

    made_hooks = hooked(*map(type, chain))
    result["made"] = added_ns(step_made, made_hooks, calls=50, blocks=blocks)
    with Path("/dev/null").open("wb") as sink:
        connection = Connection(sink.fileno(), readable=False)
        hooks = hooked(Connection, name="_send_bytes")
        message = b"x" * 100
        result["message"] = added_ns(
            lambda: connection._send_bytes(message), hooks, calls=100, blocks=blocks
        )
        connection._handle = None
    logger = logging.Logger("counted")
    logger.addHandler(logging.NullHandler())
    record = logger.makeRecord("counted", logging.INFO, "", 0, "", (), None)
    hooks = hooked(logging.Logger, name="handle")
    result["record"] = added_ns(lambda: logger.handle(record), hooks, calls=100, blocks=blocks)
    result["phase"] = _fast([_phase_ns() for _ in range(blocks)])
    vector = StillVector()
    hooks = hooked(StillVector)
    result["vector"] = added_ns(lambda: vector.step(0), hooks, calls=200, blocks=blocks)
    for envs in (1, 8):
        result[f"cart_pole_{envs}"] = cart_pole_slowdown(2 * blocks, envs)
    print(json.dumps(result))


def _phase_ns() -> float:
    def in_phase() -> None:
        with rlprof.phase("measured"):
            pass

    return timed_ns(in_phase, 100) - timed_ns(lambda: None, 100)


if __name__ == "__main__":
    main()
