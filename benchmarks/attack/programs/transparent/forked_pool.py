"""Use a pool of forked processes, one of which dies."""

import os
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

from busy import work


def step(number):
    work(0.05)
    if number == 5:
        os._exit(1)
    return number


with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
    futures = [pool.submit(step, number) for number in range(6)]
    print([future.result() for future in futures[:3]])
    try:
        futures[5].result()
    except BrokenProcessPool as error:
        print(type(error).__name__)
