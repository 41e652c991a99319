"""PPO on a grid world, on a GPU where there is one: one program in stages of tuning.

``python examples/ppo --stage 2 --num-envs 256 --updates 40``
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
from importlib import import_module
from typing import TextIO

import torch
from settings import Settings

STAGES = {
    "1": 6,
    "2": 25,
    "3": 70,
    "4": 110,
    "5": 130,
    "6": 150,
    "7": 150,
    "8": 160,
    "regressed": 140,
}
"""Updates by what ``--stage`` says: as many as take about ten seconds on two cores."""


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ppo", description=__doc__.splitlines()[0])
    parser.add_argument("--stage", choices=STAGES, default="1")
    parser.add_argument("--num-envs", type=positive, default=512)
    parser.add_argument("--updates", type=positive, help="at least 3, to measure the speed")
    parser.add_argument(
        "--steps", type=positive, default=16, help="of each environment between two updates"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--log", help="a file to keep the log in; it is thrown away otherwise")
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        parser.error("torch sees no CUDA device; --device cpu trains without one")
    return arguments


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number


def device_named(name: str) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def log_file(path: str | None) -> TextIO:
    """Where the log goes: a file either way, so that a record costs what it does in earnest."""
    return open(path, "w") if path else tempfile.TemporaryFile("w")


def main(started: float) -> None:
    """``started``: when the program was, so that its imports count in the total."""
    arguments = parse_arguments()
    settings = Settings(
        arguments.num_envs,
        arguments.updates or STAGES[arguments.stage],
        arguments.steps,
        arguments.seed,
        device_named(arguments.device),
    )
    # More threads only wait for each other in networks of this size.
    torch.set_num_threads(1)
    train = import_module(f"stages.stage_{arguments.stage}").train
    training_started = time.perf_counter()
    with log_file(arguments.log) as log:
        logging.basicConfig(
            stream=log, level="INFO", format="%(asctime)s %(name)s %(levelname)s %(message)s"
        )
        progress = train(settings)
    ended = time.perf_counter()
    print(
        f"stage {arguments.stage}: {progress.steps} steps of {settings.num_envs} environments "
        f"on {settings.device.type}"
    )
    print(
        f"training {ended - training_started:.2f} s, {progress.sps:.0f} sps; "
        f"total {ended - started:.2f} s"
    )
