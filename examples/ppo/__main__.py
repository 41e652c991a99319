"""Start the training: ``python examples/ppo --stage 1``."""

from __future__ import annotations

import time

if __name__ == "__main__":
    started = time.perf_counter()
    from training import main

    main(started)
