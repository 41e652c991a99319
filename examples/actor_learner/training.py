"""DQN on CartPole with actors and a learner: one program in stages of tuning.

``python examples/actor_learner --stage 2 --agents 2 --epochs 6``
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from importlib import import_module
from typing import NamedTuple

from processes import ChildDied
from settings import Settings


class Stage(NamedTuple):
    module: str
    """In ``stages``."""
    epochs: int
    """As many as take about ten seconds on two cores."""
    steps: int = 10_000
    """In an epoch."""


STAGES = {
    "1": Stage("stage_1", 10),
    "batched": Stage("batched", 30),
    "2": Stage("stage_2", 12, steps=100),
    "3": Stage("stage_3", 6),
    "4": Stage("stage_4", 8),
    "5": Stage("stage_5", 12),
    "6": Stage("stage_6", 18),
    "7": Stage("stage_7", 25),
    "8": Stage("stage_8", 40),
    "waiting": Stage("waiting", 40),
    "collector-polling": Stage("collector_polling", 45),
    "collector-waiting": Stage("collector_waiting", 60),
}
"""By what ``--stage`` says."""

DIED = 1
INTERRUPTED = 128 + signal.SIGINT


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="actor_learner", description=__doc__.splitlines()[0])
    parser.add_argument("--stage", choices=STAGES, default="1")
    parser.add_argument("--agents", type=positive, default=2)
    parser.add_argument("--epochs", type=positive, help="at least 2, to measure the speed")
    parser.add_argument("--steps", type=positive, help="environment steps in an epoch")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number


def end_by_signal(signum: int, _frame: object) -> None:
    """Leave through every ``finally``, so that processes and shared memory are cleaned up."""
    sys.exit(128 + signum)


def main(started: float) -> None:
    """``started``: when the program was, so that its imports count in the total."""
    arguments = parse_arguments()
    stage = STAGES[arguments.stage]
    settings = Settings(
        arguments.agents,
        arguments.epochs or stage.epochs,
        arguments.steps or stage.steps,
        arguments.seed,
    )
    signal.signal(signal.SIGTERM, end_by_signal)
    train = import_module(f"stages.{stage.module}").train
    training_started = time.perf_counter()
    try:
        progress = train(settings)
    except ChildDied as error:
        print(f"the training stopped: {error}", file=sys.stderr)
        sys.exit(DIED)
    except KeyboardInterrupt:
        print("the training was interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    ended = time.perf_counter()
    print(f"stage {arguments.stage}: {progress.steps} steps with {settings.agents} agents")
    print(
        f"training {ended - training_started:.2f} s, {progress.sps:.0f} sps; "
        f"total {ended - started:.2f} s"
    )
