"""Use a pool of spawned processes."""

import multiprocessing

from busy import work


def square(number):
    work(0.05)
    return number * number


if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(pool.map(square, range(10)))
