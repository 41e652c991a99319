"""Trains for a moment and ends as it is told: whole, with an error, in a worker, by a signal, or before its first step."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time

import rlprof


def train(seconds: float, *, counts: bool = True) -> int:
    end = time.monotonic() + seconds
    total = 0
    while time.monotonic() < end:
        total += sum(number * number for number in range(2000))
        if counts:
            rlprof.step()
    return total


def fail_in_a_worker() -> None:
    train(2)
    raise ValueError("a worker found something wrong")


def main(how: str) -> None:
    if how == "before-a-step":
        raise RuntimeError("nothing to train")
    train(4, counts=how != "without-steps")
    if how == "error":
        raise RuntimeError("the training broke")
    if how == "worker":
        worker = multiprocessing.get_context("spawn").Process(target=fail_in_a_worker)
        worker.start()
        worker.join()
        train(4)
    if how == "signal":
        os.kill(os.getpid(), signal.SIGSEGV)


if __name__ == "__main__":
    main(sys.argv[1])
