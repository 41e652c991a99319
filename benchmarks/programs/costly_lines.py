"""A training in which lines come and go from one moment to the next: what they take, and what going saves.

    python -m benchmarks.programs.costly_lines --rest torch --lines omegaconf --times 4 --seconds 12

Cycles of rollout and update are made in turn with the lines, without them, with a clock around them and with a clock
around nothing, all in one process: a machine that is shared slows them alike. Prints JSON: ``share``, the part of the
time that the lines take by the clock, and ``saved``, the part that goes with them; medians over rounds of the four. With ``--always`` the lines stay, with the clock around them: what a
profiler says of ``Clock.__call__`` is to be the share.
"""

from __future__ import annotations

import argparse
import atexit
import copy
import json
import random
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

import gymnasium
import numpy as np
import torch
from omegaconf import OmegaConf
from torch import nn

NUM_ENVS: Final = 4
ROLLOUT: Final = 16
WARM_UP: Final = 3

Lines = Callable[[np.ndarray], Any]
"""Takes the observations of a step."""

CONFIG = OmegaConf.create({"env": {"noise": 0.01}})
MANY = np.random.default_rng(0).normal(size=4_000)
ROWS = list(range(4_000))

# What a researcher's terminal or log file is: somebody reads it meanwhile.
READER = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
LOG = Path(tempfile.mkstemp(suffix=".log")[1])
atexit.register(LOG.unlink)


def print_them(observations: np.ndarray) -> None:
    print("step", observations[0, 0], file=READER.stdin, flush=True)


def open_and_write(observations: np.ndarray) -> None:
    with LOG.open("a") as log:
        log.write(f"step {observations[0, 0]}\n")


def searched(_: np.ndarray) -> bool:
    """Python looks for signals when it has returned."""
    return -1 in ROWS


LINES: Final[dict[str, Lines]] = {
    "f-string": lambda observations: f"observations {observations}",
    "omegaconf": lambda _: CONFIG.env.noise,
    "deepcopy": lambda observations: copy.deepcopy({"observations": observations, "info": {}}),
    "json": lambda observations: json.dumps(observations.tolist()),
    "numpy": lambda _: np.sort(MANY),
    "search": searched,
    "array text": lambda _: str(MANY[:700]),
    "print": print_them,
    "open": open_and_write,
}


class ActorCritic:
    """On CartPoles: the rest of the time is in many functions of Python and torch."""

    def __init__(self, width: int = 64) -> None:
        torch.manual_seed(0)
        self.envs = gymnasium.make_vec("CartPole-v1", num_envs=NUM_ENVS, vectorization_mode="sync")
        self.body = nn.Sequential(nn.Linear(4, width), nn.Tanh())
        self.policy, self.value = nn.Linear(width, 2), nn.Linear(width, 1)
        parameters = [*self.body.parameters(), *self.policy.parameters(), *self.value.parameters()]
        self.optimizer = torch.optim.Adam(parameters, lr=3e-4)
        self.observations, _ = self.envs.reset(seed=0)

    def cycle(self, lines: Lines) -> None:
        log_probs, values, rewards = [], [], []
        for _ in range(ROLLOUT):
            features = self.body(torch.as_tensor(self.observations))
            policy = torch.distributions.Categorical(logits=self.policy(features))
            actions = policy.sample()
            log_probs.append(policy.log_prob(actions))
            values.append(self.value(features).squeeze(-1))
            self.observations, reward, _, _, _ = self.envs.step(actions.numpy())
            rewards.append(reward)
            lines(self.observations)
        returns = torch.as_tensor(np.cumsum(np.array(rewards)[::-1], axis=0)[::-1].copy()).float()
        advantages = returns - torch.stack(values)
        policy_loss = -(torch.stack(log_probs) * advantages.detach()).mean()
        loss = policy_loss + 0.5 * advantages.pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


class Bandit:
    """The rest of the time is in a few short functions, which stay in the caches."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.values = [0.0] * 10
        self.pulls = [0] * 10

    def cycle(self, lines: Lines) -> None:
        for _ in range(20 * ROLLOUT):
            best = max(range(10), key=self.values.__getitem__)
            arm = best if self.rng.random() > 0.1 else int(self.rng.integers(10))
            reward = self.rng.normal(arm / 10)
            self.pulls[arm] += 1
            self.values[arm] += (reward - self.values[arm]) / self.pulls[arm]
            lines(OBSERVATIONS)


OBSERVATIONS = np.zeros((NUM_ENVS, 4), np.float32)
RESTS: Final = {"torch": ActorCritic, "bandit": Bandit}


class Clock:
    """Around the lines."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.took_s = 0.0
        self.calls = 0

    def __call__(self, observations: np.ndarray) -> None:
        start = time.perf_counter()
        self.lines(observations)
        self.took_s += time.perf_counter() - start
        self.calls += 1


def nothing(_: np.ndarray) -> None:
    """In the place of the lines."""


def repeated(lines: Lines, times: int) -> Lines:
    def many(observations: np.ndarray) -> None:
        for _ in range(times):
            lines(observations)

    return many


def measure(rest: ActorCritic | Bandit, lines: Lines, seconds: float) -> dict[str, float]:
    def took(what: Lines) -> float:
        start = time.perf_counter()
        rest.cycle(what)
        return time.perf_counter() - start

    shares, savings = [], []
    order = random.Random(0)
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        clock, idle_clock = Clock(lines), Clock(nothing)
        modes = {"with": lines, "without": nothing, "timed": clock, "idle": idle_clock}
        of = {mode: took(modes[mode]) for mode in order.sample(sorted(modes), len(modes))}
        # Of the time without a clock, which takes its own: a fifth of a bandit's step.
        shares.append((clock.took_s - idle_clock.took_s) / of["with"])
        savings.append(1 - of["without"] / of["with"])
    return {
        "share": median(shares[WARM_UP:]),
        "saved": median(savings[WARM_UP:]),
        "rounds": len(shares) - WARM_UP,
    }


def clocked(rest: ActorCritic | Bandit, lines: Lines, seconds: float) -> dict[str, float]:
    idle_clock, clock = Clock(nothing), Clock(lines)
    for _ in range(10_000):
        idle_clock(OBSERVATIONS)
    begun = time.perf_counter()
    while time.perf_counter() - begun < seconds:
        rest.cycle(clock)
    own_s = idle_clock.took_s / idle_clock.calls * clock.calls
    return {"share": (clock.took_s - own_s) / (time.perf_counter() - begun)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rest", choices=RESTS, default="torch")
    parser.add_argument("--lines", choices=LINES, default="omegaconf")
    parser.add_argument("--times", type=int, default=1, help="a step")
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument(
        "--always", action="store_true", help="with a clock around the lines all the time"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    lines = repeated(LINES[options.lines], options.times)
    told = clocked if options.always else measure
    print(json.dumps(told(RESTS[options.rest](), lines, options.seconds)), flush=True)


if __name__ == "__main__":
    main()
