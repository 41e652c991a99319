"""The bandit example, stage 4, for as long as is wanted: its runs go to a pool of two processes."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path

from omegaconf import OmegaConf

from benchmarks.programs.stopwatch import Stopwatch, tell

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "bandit"
WORKERS = 2
WAITING = 4
"""Runs that are handed out ahead."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=8.0)
    seconds = parser.parse_args().seconds
    sys.path.insert(0, str(EXAMPLE))
    from stages.stage_4 import run

    cfg = OmegaConf.load(EXAMPLE / "conf" / "config.yaml")
    watch = Stopwatch(seconds)
    with ProcessPoolExecutor(WORKERS) as pool:
        seed = 0
        under_way: set[Future[tuple[float, float]]] = set()
        while watch.is_running():
            while len(under_way) < WORKERS + WAITING:
                under_way.add(pool.submit(run, cfg, seed))
                seed += 1
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            watch.count(cfg.steps * len(done))
    tell(watch.sps, cpu_s_per_step=watch.cpu_s_per_step)


if __name__ == "__main__":
    main()
