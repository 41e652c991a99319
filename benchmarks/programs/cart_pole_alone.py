"""CartPole of gymnasium, stepped in a loop; prints its CPU time per step in µs. ``--dict`` asks the environments for their ``__dict__`` before."""

import sys
import time
from statistics import median

import gymnasium

env = gymnasium.make("CartPole-v1")
env.reset(seed=0)
if "--dict" in sys.argv:
    inner = env
    while inner is not inner.unwrapped:
        inner.__dict__  # noqa: B018 - it is the asking that is measured
        inner = inner.env
    inner.__dict__  # noqa: B018 - as above
costs = []
end = time.monotonic() + 8
while time.monotonic() < end:
    begun = time.process_time()
    for _ in range(20_000):
        _, _, terminated, truncated, _ = env.step(1)
        if terminated or truncated:
            env.reset()
    costs.append((time.process_time() - begun) / 20_000 * 1e6)
print(median(costs[len(costs) // 3 :]))
