"""Profile itself with cProfile: the functions that it lists, and their calls."""

import cProfile
import os
import pstats
import re

from busy import work


def episode(depth):
    return 0 if depth == 0 else 1 + episode(depth - 1)


def train():
    for _ in range(200):
        episode(20)


work()
profiler = cProfile.Profile()
profiler.enable()
train()
with open("seen", "w") as seen:
    seen.write("x")
os.stat("seen")
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
import json.tool  # noqa: E402, F401 - imports are watched
import uuid  # noqa: E402, F401

profiler.disable()
for (file, line, name), (_, calls, *_rest) in sorted(pstats.Stats(profiler).stats.items()):
    print(file.rpartition("/")[2], line, re.sub("0x[0-9a-f]+", "ADDRESS", name), calls)
