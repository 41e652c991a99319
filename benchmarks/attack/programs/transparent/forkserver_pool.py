"""Use a pool of the fork server."""

import multiprocessing

from busy import work


def square(number):
    work(0.05)
    return number * number


if __name__ == "__main__":
    context = multiprocessing.get_context("forkserver")
    with context.Pool(2) as pool:
        print(pool.map(square, range(10)))
