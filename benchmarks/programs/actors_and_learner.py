"""The actor_learner example, stage 8, for as long as is wanted: two actors, and a learner in the main process."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.programs.stopwatch import Stopwatch, tell

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "actor_learner"
EPOCH = 10_000
"""Steps between two lines on the progress."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=8.0)
    watch = Stopwatch(parser.parse_args().seconds)
    sys.path.insert(0, str(EXAMPLE))
    import progress
    from settings import Settings
    from stages.stage_8 import train

    def is_over(its: progress.Progress) -> bool:
        watch.count(its.replay.steps - watch.steps)
        return not watch.is_running()

    # The example ends after so many epochs.
    progress.Progress.is_over = property(is_over)
    train(Settings(agents=2, epochs=sys.maxsize, steps=EPOCH, seed=0))
    tell(watch.sps, cpu_s_per_step=watch.cpu_s_per_step)


if __name__ == "__main__":
    main()
