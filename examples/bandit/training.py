"""Epsilon-greedy bandits, many runs in a process pool: one program in four stages of tuning.

``python examples/bandit --stage 2 --runs 600 agent.epsilon=0.05``
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import fmean

from omegaconf import DictConfig, OmegaConf

CONFIG = Path(__file__).parent / "conf" / "config.yaml"
STAGES = (1, 2, 3, 4)

Run = Callable[[DictConfig, int], "tuple[float, float]"]
"""Trains one agent on a seed; returns its mean reward and how often it chose the best arm."""


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bandit", description=__doc__.splitlines()[0])
    parser.add_argument("--stage", type=int, choices=STAGES, default=1)
    for name in ("runs", "steps", "workers", "seed"):
        parser.add_argument(f"--{name}", type=int, help="overrides the configuration")
    parser.add_argument("overrides", nargs="*", metavar="key=value")
    return parser.parse_args()


def load_config(arguments: argparse.Namespace) -> DictConfig:
    named = {name: getattr(arguments, name) for name in ("runs", "steps", "workers", "seed")}
    given = {name: value for name, value in named.items() if value is not None}
    return OmegaConf.merge(
        OmegaConf.load(CONFIG), given, OmegaConf.from_dotlist(arguments.overrides)
    )


def set_up_logging(level: str) -> None:
    logging.basicConfig(level=level, format="%(asctime)s %(name)s %(levelname)s %(message)s")


def train(run: Run, cfg: DictConfig) -> list[tuple[float, float]]:
    """What each run returned, in the order of their seeds."""
    seeds = range(cfg.seed, cfg.seed + cfg.runs)
    # A few chunks for each worker: enough to share the load, few enough to send.
    chunk = max(1, cfg.runs // (cfg.workers * 8))
    with ProcessPoolExecutor(
        cfg.workers, initializer=set_up_logging, initargs=(cfg.log.level,)
    ) as pool:
        return list(pool.map(partial(run, cfg), seeds, chunksize=chunk))


def main(started: float) -> None:
    """``started``: when the program was, so that its imports count in the total."""
    arguments = parse_arguments()
    cfg = load_config(arguments)
    set_up_logging(cfg.log.level)
    run = import_module(f"stages.stage_{arguments.stage}").run
    training_started = time.perf_counter()
    results = train(run, cfg)
    ended = time.perf_counter()
    steps = cfg.runs * cfg.steps
    training_s = ended - training_started
    print(f"stage {arguments.stage}: {steps} steps in {cfg.runs} runs on {cfg.workers} workers")
    print(
        f"training {training_s:.2f} s, {steps / training_s:.0f} sps; total {ended - started:.2f} s"
    )
    print(
        f"mean reward {fmean(reward for reward, _ in results):.4f}, "
        f"best arm {fmean(optimal for _, optimal in results):.1%}"
    )
