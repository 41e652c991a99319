"""Work for programs under attack: long enough to be sampled, the same result every time."""

import time


def work(seconds=0.25):
    """Keep a CPU busy; a fraction of a second holds dozens of samples at the finest rate."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))
