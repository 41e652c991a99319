"""Draw random numbers from seeds, and hash."""

import random

from busy import work

random.seed(7)
for _ in range(10):
    work(0.03)
    print(random.random(), random.getrandbits(64))
print(hash("rlprof"), hash((1, "two")), random.getstate()[1][:4])
