"""A training in one process, for a machine that other programs use too.

    python -m benchmarks.programs.crowded_training --threads 2 --width 64 --eager

``--threads`` are torch's compute threads, ``--eager`` formats a message that no logger writes at each step.
"""

from __future__ import annotations

import argparse
import logging

import numpy as np
import torch

import rlprof
from benchmarks.programs.costly_lines import NUM_ENVS, ROLLOUT, ActorCritic, nothing
from benchmarks.programs.stopwatch import Stopwatch, tell

log = logging.getLogger(__name__)


def eager(observations: np.ndarray) -> None:
    for environment, observation in enumerate(observations):
        log.debug(f"environment {environment}: {observation}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--eager", action="store_true")
    parser.add_argument("--seconds", type=float, default=8.0)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    training = ActorCritic(options.width)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        training.cycle(eager if options.eager else nothing)
        rlprof.step(NUM_ENVS * ROLLOUT)
        watch.count(NUM_ENVS * ROLLOUT)
    tell(watch.sps)


if __name__ == "__main__":
    main()
